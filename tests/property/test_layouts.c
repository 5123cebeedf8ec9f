/* SPDX-License-Identifier: MIT */
/* One call on packed tensors, and the same on tensors whose sequences stand apart ([sequences, heads, length, dim] in
 * any order of memory, each tensor another one): the same bits, of results, of gradients and of parameters' gradients,
 * for every encoding, role, type and kind of attention; and not a byte is written between the sequences' tokens.
 * LOCUS_SEED and LOCUS_CASES as in test_differential.c. */
#include "kind_of.h"
#include "reference/drawn_bias.h"
#include "reference/drawn_tensor.h"
#include "reference/trial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CASES = 120 };
#else
enum { CASES = 1000 };
#endif
enum { NAMES = 64, ALL_NAMES = 600, TENSORS = 10 };

/* ---- tensors of one call, in one layout ---- */

/* What a tensor is: of queries or of keys, its shape, its numbers if it is read. */
typedef struct wanted {
    bool keys, reads;
    locus_dtype dtype;
    size_t heads, dim;
} wanted;

typedef struct tensors {
    size_t count;
    wanted wants[TENSORS];
    drawn_tensor of[TENSORS];
    double *gradients[REFERENCE_TENSORS];
    locus_tensor parameters[REFERENCE_TENSORS];
} tensors;

static const reference_tokens *tokens_of(const drawn_world *world, const wanted *want) {
    return want->keys ? &world->keys.tokens : &world->queries.tokens;
}

/* The same numbers for the same seed, whatever the layouts. */
static void make(tensors *all, const drawn_world *world, chooser *choices, bool apart, uint64_t seed) {
    for (size_t i = 0; i < all->count; i++) {
        const wanted *want = &all->wants[i];
        const reference_tokens *tokens = tokens_of(world, want);
        drawn_tensor *tensor = &all->of[i];
        chooser stream = chooser_of_seed(seed + i);
        const bool alone = apart && choose_chance(choices, 75);
        *tensor =
            (alone ? drawn_tensor_apart : drawn_tensor_packed)(choices, want->dtype, tokens, want->heads, want->dim);
        const size_t count = drawn_tensor_count(tensor);
        double *values = reference_zeros(count, sizeof *values);
        for (size_t e = 0; e < count; e++)
            values[e] = choose_normal(&stream);
        if (want->reads)
            drawn_tensor_put(tensor, values);
        drawn_tensor_watch(tensor);
        free(values);
    }
    for (size_t i = 0; i < world->tensor_count; i++) {
        all->gradients[i] = reference_zeros(world->elements[i], sizeof **all->gradients);
        all->parameters[i] =
            locus_tensor_view(all->gradients[i], LOCUS_FLOAT64, world->info[i].rank, world->info[i].shape);
    }
}

static void drop(tensors *all, const drawn_world *world) {
    for (size_t i = 0; i < all->count; i++)
        drawn_tensor_free(&all->of[i]);
    for (size_t i = 0; i < world->tensor_count; i++)
        free(all->gradients[i]);
}

static void assert_same_numbers(const double *a, const double *b, size_t count, const char *what, const char *text) {
    for (size_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0 && (a[i] == a[i] || b[i] == b[i]))
            fail_msg("%s: %s[%zu] is %.17g packed and %.17g apart", text, what, i, a[i], b[i]);
}

static void assert_same(const tensors *packed, const tensors *apart, const drawn_world *world, const char *text) {
    char what[32];
    for (size_t i = 0; i < packed->count; i++) {
        const reference_tokens *tokens = tokens_of(world, &packed->wants[i]);
        const size_t count = drawn_tensor_count(&packed->of[i]), row = tokens->tokens ? count / tokens->tokens : 0;
        double *a = reference_zeros(count, sizeof *a), *b = reference_zeros(count, sizeof *b);
        (void)snprintf(what, sizeof what, "tensor %zu", i);
        drawn_tensor_get(&packed->of[i], a);
        drawn_tensor_get(&apart->of[i], b);
        for (size_t s = 0; s < tokens->sequences; s++)
            assert_same_numbers(a + tokens->first[s] * row, b + tokens->first[s] * row, tokens->count[s] * row, what,
                                text);
        if (!drawn_tensor_untouched(&apart->of[i], packed->wants[i].reads ? NULL : tokens))
            fail_msg("%s: %s was written outside of its tokens", text, what);
        free(a);
        free(b);
    }
    for (size_t i = 0; i < world->tensor_count; i++) {
        (void)snprintf(what, sizeof what, "gradient %zu", i);
        assert_same_numbers(packed->gradients[i], apart->gradients[i], world->elements[i], what, text);
    }
}

/* ---- locus_apply ---- */

typedef struct apply_case {
    locus_role role;
    locus_direction direction;
    locus_dtype dtype;
    bool learns;
} apply_case;

enum { X, GY, Y, GX, APPLY_TENSORS };

static locus_status run_apply(const drawn_world *world, const apply_case *c, tensors *all, locus_error *error) {
    const size_t bytes = locus_apply_workspace(world->plan, c->role, c->dtype, NULL);
    trial_workspace workspace = trial_workspace_make(bytes);
    const locus_execution execution = locus_execution_in(workspace.lent);
    const locus_apply_gradients gradients = {.size = sizeof gradients,
                                             .x = &all->of[X].view,
                                             .gy = &all->of[GY].view,
                                             .gx = &all->of[GX].view,
                                             .parameters = c->learns ? all->parameters : NULL,
                                             .parameter_count = c->learns ? world->tensor_count : 0};
    locus_status status =
        locus_apply(world->plan, c->role, c->direction, &all->of[X].view, &all->of[Y].view, &execution, error);
    if (status == LOCUS_OK)
        status = locus_apply_backward(world->plan, c->role, c->direction, &gradients, &execution, error);
    assert_true(trial_workspace_free(&workspace));
    return status;
}

static bool try_apply(drawn_world *world, chooser *choices, const char *text) {
    const locus_shape *shape = &world->shape;
    const apply_case c = {.role = (locus_role)(1 + choose(choices, 6)),
                          .direction = choose_chance(choices, 35) ? LOCUS_INVERSE : LOCUS_FORWARD,
                          .dtype = trial_dtype(choices),
                          .learns = choose_chance(choices, 80)};
    const bool model = c.role == LOCUS_ROLE_TOKEN || c.role == LOCUS_ROLE_ENCODED;
    const bool keys = c.role == LOCUS_ROLE_KEY || c.role == LOCUS_ROLE_VALUE;
    const bool values = c.role == LOCUS_ROLE_VALUE || c.role == LOCUS_ROLE_OUTPUT;
    const wanted read = {keys, true, c.dtype,
                         model  ? 0
                         : keys ? shape->kv_heads
                                : shape->heads,
                         model    ? shape->model_dim
                         : values ? shape->value_dim
                                  : shape->head_dim};
    wanted written = read;
    written.reads = false;
    tensors both[2] = {{.count = APPLY_TENSORS, .wants = {read, read, written, written}}};
    locus_error error = {.status = LOCUS_OK};
    const uint64_t seed = choose(choices, 1u << 20);
    locus_status status[2];
    both[1] = both[0];
    for (int apart = 0; apart < 2; apart++) {
        make(&both[apart], world, choices, apart, seed);
        status[apart] = run_apply(world, &c, &both[apart], &error);
    }
    if (status[0] != status[1])
        fail_msg("%s: packed %d, apart %d: %s", text, (int)status[0], (int)status[1], error.message);
    if (status[0] == LOCUS_OK)
        assert_same(&both[0], &both[1], world, text);
    drop(&both[0], world);
    drop(&both[1], world);
    return status[0] == LOCUS_OK;
}

/* ---- attention ---- */

enum { Q, K, V, GO, GL, O, LSE, GQ, GK, GV, ATTENTION_TENSORS };

static locus_attention_options draw_options(chooser *choices) {
    static const char *const kinds[] = {NULL, NULL, NULL, "linear", "soft(landmarks=5)", "clustered(clusters=4)"};
    const size_t kind = choose(choices, sizeof kinds / sizeof kinds[0]);
    locus_attention_options options = locus_attention_default();
    options.mask = kind < 4 && choose_chance(choices, 60) ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
    options.window = kind < 3 && choose_chance(choices, 25) ? 1 + choose(choices, 40) : 0;
    options.dropout = kind < 3 && choose_chance(choices, 25) ? 0.3 : 0;
    options.dropout_key = (locus_random){choose(choices, 1000), LOCUS_RANDOM_USER, 1};
    options.turned = choose_chance(choices, 8);
    options.kind = kinds[kind] ? kind_of(kinds[kind]) : NULL;
    return options;
}

/* The weights of one sequence, [heads, queries, keys]; none where the kind has none, or there is no sequence. */
static double *weights_of(const drawn_world *world, const locus_attention_options *options, const tensors *all,
                          size_t sequence, locus_error *error) {
    if (options->kind || world->queries.tokens.sequences == 0)
        return NULL;
    const int64_t shape[] = {(int64_t)world->shape.heads, (int64_t)world->queries.count[sequence],
                             (int64_t)world->keys.count[sequence]};
    double *numbers = reference_zeros((size_t)(shape[0] * shape[1] * shape[2]), sizeof *numbers);
    const locus_tensor weights = locus_tensor_view(numbers, LOCUS_FLOAT64, 3, shape);
    const locus_attention_weights_call call = {.size = sizeof call,
                                               .query = &all->of[Q].view,
                                               .key = &all->of[K].view,
                                               .weights = &weights,
                                               .sequence = sequence};
    trial_workspace workspace =
        trial_workspace_make(locus_attention_weights_workspace(world->plan, options, all->wants[Q].dtype, NULL));
    const locus_execution execution = locus_execution_in(workspace.lent);
    const locus_status status = locus_attention_weights(world->plan, options, &call, &execution, error);
    assert_true(trial_workspace_free(&workspace));
    if (status != LOCUS_OK)
        fail_msg("weights are refused: %s", error->message);
    return numbers;
}

static locus_status run_attention(const drawn_world *world, const locus_attention_options *options, tensors *all,
                                  const drawn_bias *bias, bool learns, locus_error *error) {
    const locus_dtype dtype = all->wants[Q].dtype;
    const drawn_tensor *of = all->of;
    const locus_attention_tensors told = {sizeof told, &of[Q].view, &of[K].view,
                                          &of[V].view, &of[O].view, &of[LSE].view};
    const locus_attention_gradients gradients = {.size = sizeof gradients,
                                                 .output = &of[GO].view,
                                                 .query = &of[GQ].view,
                                                 .key = &of[GK].view,
                                                 .value = &of[GV].view,
                                                 .parameters = learns ? all->parameters : NULL,
                                                 .parameter_count = learns ? world->tensor_count : 0,
                                                 .log_sum_exp = options->kind ? NULL : &of[GL].view,
                                                 .bias = options->bias ? &bias->view : NULL};
    locus_status status = LOCUS_OK;
    for (int pass = 0; pass < 2 && status == LOCUS_OK; pass++) {
        trial_workspace workspace =
            trial_workspace_make(locus_attention_workspace(world->plan, options, dtype, (locus_pass)pass, NULL));
        const locus_execution execution = locus_execution_in(workspace.lent);
        status = pass == 0 ? locus_attention_forward(world->plan, options, &told, &execution, error)
                           : locus_attention_backward(world->plan, options, &told, &gradients, &execution, error);
        assert_true(trial_workspace_free(&workspace));
    }
    return status;
}

static bool try_attention(drawn_world *world, chooser *choices, const char *text) {
    const locus_shape *s = &world->shape;
    locus_attention_options options = draw_options(choices);
    const locus_dtype dtype = trial_dtype(choices), sums = dtype == LOCUS_FLOAT64 ? LOCUS_FLOAT64 : LOCUS_FLOAT32;
    const bool learns = choose_chance(choices, 80);
    tensors both[2] = {{.count = ATTENTION_TENSORS}};
    both[0].wants[Q] = (wanted){false, true, dtype, s->heads, s->head_dim};
    both[0].wants[K] = (wanted){true, true, dtype, s->kv_heads, s->head_dim};
    both[0].wants[V] = (wanted){true, true, dtype, s->kv_heads, s->value_dim};
    both[0].wants[GO] = (wanted){false, true, dtype, s->heads, s->value_dim};
    both[0].wants[GL] = (wanted){false, true, sums, s->heads, 0};
    both[0].wants[O] = (wanted){false, false, dtype, s->heads, s->value_dim};
    both[0].wants[LSE] = (wanted){false, false, sums, s->heads, 0};
    both[0].wants[GQ] = (wanted){false, false, dtype, s->heads, s->head_dim};
    both[0].wants[GK] = (wanted){true, false, dtype, s->kv_heads, s->head_dim};
    both[0].wants[GV] = (wanted){true, false, dtype, s->kv_heads, s->value_dim};
    locus_error error = {.status = LOCUS_OK};
    const uint64_t seed = choose(choices, 1u << 20);
    locus_status status[2];
    both[1] = both[0];
    drawn_bias bias = drawn_bias_make(choices, LOCUS_FLOAT64, world), g_bias[2];
    const size_t sequence = choose(choices, world->queries.tokens.sequences);
    double *weights[2] = {NULL, NULL};
    options.bias = !options.kind && choose_chance(choices, 40) ? &bias.view : NULL;
    for (int apart = 0; apart < 2; apart++) {
        make(&both[apart], world, choices, apart, seed);
        g_bias[apart] = drawn_bias_like(choices, LOCUS_FLOAT64, &bias);
        status[apart] = run_attention(world, &options, &both[apart], &g_bias[apart], learns, &error);
        if (status[apart] == LOCUS_OK)
            weights[apart] = weights_of(world, &options, &both[apart], sequence, &error);
    }
    if (status[0] != status[1])
        fail_msg("%s: packed %d, apart %d: %s", text, (int)status[0], (int)status[1], error.message);
    if (status[0] == LOCUS_OK)
        assert_same(&both[0], &both[1], world, text);
    if (weights[0])
        assert_same_numbers(weights[0], weights[1],
                            s->heads * world->queries.count[sequence] * world->keys.count[sequence], "weights", text);
    for (int apart = 0; apart < 2; apart++) {
        drawn_bias_get(&g_bias[apart]);
        drop(&both[apart], world);
        free(weights[apart]);
    }
    if (status[0] == LOCUS_OK && options.bias)
        assert_same_numbers(g_bias[0].dense.values, g_bias[1].dense.values, drawn_bias_count(&bias), "dbias", text);
    drawn_bias_free(&bias);
    drawn_bias_free(&g_bias[0]);
    drawn_bias_free(&g_bias[1]);
    return status[0] == LOCUS_OK;
}

/* ---- all ---- */

static unsigned long long setting(const char *name, unsigned long long otherwise) {
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void run_case(uint64_t seed, uint64_t number, size_t *compared, size_t *names) {
    const drawn_limits limits = {.longest = number % 8 == 0 ? 900 : 100, .threads = true};
    chooser choices = chooser_of_seed(seed * 0x2545f4914f6cdd1du + number);
    drawn_world world;
    char about[1200], text[1300];
    if (drawn_world_make(&world, &choices, &limits)) {
        drawn_world_text(&world, about, sizeof about);
        (void)snprintf(text, sizeof text, "case %llu: %s", (unsigned long long)number, about);
        const bool done =
            choose_chance(&choices, 50) ? try_apply(&world, &choices, text) : try_attention(&world, &choices, text);
        *compared += done;
        for (size_t i = 0; done && i < locus_encoding_registry_size() && i < NAMES; i++)
            for (size_t t = 0; t < locus_encoding_term_count(world.spec.encoding); t++)
                names[i] += locus_encoding_term(world.spec.encoding, t) == locus_encoding_registry_at(i);
    }
    drawn_world_free(&world);
}

static void test_both_layouts_have_the_same_bits(void **state) {
    (void)state;
    const uint64_t seed = setting("LOCUS_SEED", 1), cases = setting("LOCUS_CASES", CASES);
    size_t compared = 0, names[NAMES] = {0};
    for (uint64_t number = 0; number < cases; number++)
        run_case(seed, number, &compared, names);
    print_message("%zu of %llu cases compared\n", compared, (unsigned long long)cases);
    assert_true(compared > cases / 2);
    for (size_t i = 0; i < locus_encoding_registry_size() && cases >= ALL_NAMES; i++)
        if (names[i] == 0)
            fail_msg("no case of '%s' was compared", locus_encoding_registry_at(i)->name);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_layouts_have_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
