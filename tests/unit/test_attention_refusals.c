/* SPDX-License-Identifier: MIT */
/* Attention that is refused: what the caller is told, to the letter, of options, tensors, biases, choices of weights
 * and kinds; and calls just inside of the same limits, which are taken. */
#include "kind_of.h"
#include "unit/told.h"

#include <stdio.h>

/* ---- attention ---- */

enum { Q, K, V, O, LSE, GO, GQ, GK, GV, GLSE, BIAS, GBIAS, WEIGHTS, TENSORS, ROOM = 4096 };

/* Two sequences of 4 and 2 queries, 5 and 3 keys; 4 heads of queries, 2 of keys; queries of 4, values of 6. */
typedef struct world {
    rig r;
    locus_attention_options options;
    locus_tensor t[TENSORS];
    locus_attention_weights_call weights;
    size_t parameter_count;
    bool no_lse, sums;
    locus_workspace workspace;
    float *memory;
} world;

static world open_world(const char *spec) {
    static const size_t query_offsets[] = {0, 4, 6}, key_offsets[] = {0, 5, 8};
    const locus_packing queries = told_packing(2, query_offsets, NULL), keys = told_packing(2, key_offsets, NULL);
    static const int64_t shapes[TENSORS][4] = {{6, 4, 4},    {8, 2, 4},    {8, 2, 6}, {6, 4, 6}, {6, 4},
                                               {6, 4, 6},    {6, 4, 4},    {8, 2, 4}, {8, 2, 6}, {6, 4},
                                               {2, 4, 4, 5}, {2, 4, 4, 5}, {2, 1, 3}};
    static const size_t ranks[TENSORS] = {3, 3, 3, 3, 2, 3, 3, 3, 3, 2, 4, 4, 3};
    static const size_t chosen[] = {3, 1}, last[] = {1};
    locus_shape shape = rig_shape(4, 4, 6, 0);
    world w = {.options = locus_attention_default()};
    shape.kv_heads = 2;
    rig_bind(&w.r, spec, shape, 3);
    TAKES(locus_positions_create(&w.r.queries, NULL, &queries, NULL, &told));
    TAKES(locus_positions_create(&w.r.keys, NULL, &keys, NULL, &told));
    TAKES(locus_plan_create(&w.r.plan, w.r.binding, w.r.queries, w.r.keys, &told));
    w.memory = calloc(ROOM * TENSORS, sizeof *w.memory);
    assert_non_null(w.memory);
    for (size_t i = 0; i < TENSORS; i++)
        w.t[i] = locus_tensor_view(w.memory + ROOM * i, LOCUS_FLOAT32, ranks[i], shapes[i]);
    w.weights = (locus_attention_weights_call){
        .size = sizeof w.weights, .sequence = 1, .heads = chosen, .head_count = 2, .queries = last, .query_count = 1};
    w.workspace = (locus_workspace){locus_allocate(1 << 20), 1 << 20};
    assert_non_null(w.workspace.data);
    return w;
}

static void close_world(world *w) {
    locus_release(w->workspace.data, 1 << 20);
    free(w->memory);
    rig_close(&w->r);
}

static locus_status forward(const world *w) {
    const locus_execution execution = locus_execution_in(w->workspace);
    const locus_attention_tensors tensors = {sizeof tensors, &w->t[Q], &w->t[K],
                                             &w->t[V],       &w->t[O], w->no_lse ? NULL : &w->t[LSE]};
    return locus_attention_forward(w->r.plan, &w->options, &tensors, &execution, &told);
}

static locus_status backward(const world *w) {
    const locus_execution execution = locus_execution_in(w->workspace);
    const locus_attention_tensors tensors = {sizeof tensors, &w->t[Q], &w->t[K],
                                             &w->t[V],       &w->t[O], w->no_lse ? NULL : &w->t[LSE]};
    const locus_attention_gradients gradients = {.size = sizeof gradients,
                                                 .output = &w->t[GO],
                                                 .query = &w->t[GQ],
                                                 .key = &w->t[GK],
                                                 .value = &w->t[GV],
                                                 .bias = w->t[GBIAS].rank > 0 ? &w->t[GBIAS] : NULL,
                                                 .parameters = w->parameter_count ? w->r.gradients : NULL,
                                                 .parameter_count = w->parameter_count,
                                                 .log_sum_exp = w->sums ? &w->t[GLSE] : NULL};
    return locus_attention_backward(w->r.plan, &w->options, &tensors, &gradients, &execution, &told);
}

static locus_status weigh(const world *w) {
    const locus_execution execution = locus_execution_in(w->workspace);
    locus_attention_weights_call call = w->weights;
    call.query = &w->t[Q];
    call.key = &w->t[K];
    call.weights = &w->t[WEIGHTS];
    return locus_attention_weights(w->r.plan, &w->options, &call, &execution, &told);
}

/* One thing is other than in `base`. */
#define OTHER(STATUS, argument, message, run, ...) \
    do { \
        world w = base; \
        __VA_ARGS__; \
        TELLS(STATUS, argument, message, run(&w)); \
    } while (0)
#define SAME(run, ...) \
    do { \
        world w = base; \
        __VA_ARGS__; \
        TAKES(run(&w)); \
    } while (0)

static void options_of_attention(void **state) {
    static const size_t just[] = {5, 3}, beyond[] = {5, 4};
    static const int32_t falling[] = {9, 9, 5, 5, -3, -3}, torn[] = {4, 4, 7, 4, 1, 1}, third[] = {5, 3, 4, 3, 1, 1},
                         key_falling[] = {7, 6, 5, 5, 5, 0, -1, -1}, key_torn[] = {1, 1, 2, 2, 2, 1, 0, 1};
    world base = open_world("none");
    base.t[GBIAS].rank = 0;
    (void)state;
    OTHER(ARGUMENT, "mask", "mask 3 is not a locus_mask", forward, w.options.mask = (locus_mask)3);
    OTHER(ARGUMENT, "dropout_on", "dropout_on 7 is not a locus_dropout", forward,
          w.options.dropout_on = (locus_dropout)7);
    OTHER(ARGUMENT, "scale", "scale is -inf; give a finite number, or 0 for 1/sqrt(4)", forward,
          w.options.scale = -INFINITY);
    SAME(forward, w.options.scale = -2);
    OTHER(ARGUMENT, "dropout", "dropout is 1; give a probability in [0, 1)", forward, w.options.dropout = 1);
    OTHER(ARGUMENT, "dropout", "dropout is -0.25; give a probability in [0, 1)", backward, w.options.dropout = -0.25);
    SAME(forward, w.options.dropout = 0.75);
    OTHER(ARGUMENT, "cap", "cap is -1; give a positive number, or 0 for scores without a cap", forward,
          w.options.cap = -1);
    OTHER(ARGUMENT, "cap", "cap is inf; give a positive number, or 0 for scores without a cap", forward,
          w.options.cap = INFINITY);
    OTHER(ARGUMENT, "keep",
          "keep is 3, but there is no window outside of which keys could be kept; give one, or leave keep 0", forward,
          w.options.keep = 3);
    SAME(forward, w.options.keep = 3, w.options.window = 1);
    OTHER(ARGUMENT, "prefix", "the prefix mask needs a prefix length for each of the 2 sequences; prefix is NULL",
          forward, w.options.mask = LOCUS_MASK_PREFIX);
    OTHER(ARGUMENT, "prefix", "prefix of sequence 1 is 4, but it has only 3 keys; give at most that", forward,
          w.options.mask = LOCUS_MASK_PREFIX, w.options.prefix = beyond);
    SAME(forward, w.options.mask = LOCUS_MASK_PREFIX, w.options.prefix = just);
#define DOCUMENTS(queries, keys) w.options.query_documents = queries, w.options.key_documents = keys
    OTHER(ARGUMENT, "query_documents",
          "query_documents is NULL, but key_documents is not; give the documents of both, or of neither", forward,
          DOCUMENTS(NULL, key_falling));
    OTHER(ARGUMENT, "key_documents",
          "key_documents is NULL, but query_documents is not; give the documents of both, or of neither", forward,
          DOCUMENTS(falling, NULL));
    SAME(forward, DOCUMENTS(falling, key_falling));
    OTHER(ARGUMENT, "query_documents",
          "document 4 comes again at token 3 of sequence 0, after others; tokens of one document must lie side by side",
          forward, DOCUMENTS(torn, key_falling));
    OTHER(ARGUMENT, "query_documents",
          "document 3 comes again at token 3 of sequence 0, after others; tokens of one document must lie side by side",
          forward, DOCUMENTS(third, key_falling));
    OTHER(ARGUMENT, "key_documents",
          "document 1 comes again at token 2 of sequence 1, after others; tokens of one document must lie side by side",
          forward, DOCUMENTS(falling, key_torn));
    const locus_execution execution = locus_execution_in(base.workspace);
    TELLS(ARGUMENT, "tensors", "tensors is NULL; give query, key, value and output",
          locus_attention_forward(base.r.plan, &base.options, NULL, &execution, &told));
    TELLS(ARGUMENT, "gradients", "gradients is NULL; give dL/do, and room for what is wanted",
          locus_attention_backward(base.r.plan, &base.options, NULL, NULL, &execution, &told));
    TELLS(ARGUMENT, "call", "call is NULL; give a query, a key, and room for weights",
          locus_attention_weights(base.r.plan, &base.options, NULL, &execution, &told));
    const locus_attention_tensors tensors = {sizeof tensors, &base.t[Q], &base.t[K], &base.t[V], &base.t[O], NULL};
    TELLS(ARGUMENT, "options", "options is NULL; start from locus_attention_default()",
          locus_attention_forward(base.r.plan, NULL, &tensors, &execution, &told));
    TELLS(ARGUMENT, "plan", "plan is NULL; make one with locus_plan_create",
          locus_attention_forward(NULL, &base.options, &tensors, &execution, &told));
    close_world(&base);
}

static void tensors_of_attention(void **state) {
    world base = open_world("rope(learned=on)");
    base.t[GBIAS].rank = 0;
    (void)state;
    SAME(forward, (void)w);
    SAME(backward, w.sums = true);
    OTHER(DTYPE, "value", "value is float64, but the query is float32; use one type for all", forward,
          w.t[V].dtype = LOCUS_FLOAT64);
    OTHER(DTYPE, "key", "key is float16, but the query is bfloat16; use one type for all", forward,
          w.t[Q].dtype = LOCUS_BFLOAT16, w.t[K].dtype = LOCUS_FLOAT16);
    OTHER(DTYPE, "log_sum_exp", "log_sum_exp is float64, but the query is float32; use one type for all", forward,
          w.t[LSE].dtype = LOCUS_FLOAT64);
    for (int narrow = LOCUS_FLOAT16; narrow <= LOCUS_BFLOAT16; narrow++) {
        char says[120];
        const char *name = narrow == LOCUS_FLOAT16 ? "float16" : "bfloat16";
        (void)snprintf(says, sizeof says, "log_sum_exp is %s; beside tensors of %s it must be float32", name, name);
#define NARROW w.t[Q].dtype = w.t[K].dtype = w.t[V].dtype = w.t[O].dtype = w.t[LSE].dtype = (locus_dtype)narrow
        OTHER(DTYPE, "log_sum_exp", says, forward, NARROW);
        SAME(forward, NARROW, w.t[LSE].dtype = LOCUS_FLOAT32);
    }
    OTHER(ARGUMENT, "log_sum_exp", "log_sum_exp is NULL; this call needs it", backward, w.no_lse = true);
    OTHER(ARGUMENT, "output", "output overlaps key; what is written needs memory of its own", forward,
          w.t[O].data = w.t[K].data);
    OTHER(ARGUMENT, "output", "output overlaps log_sum_exp; what is written needs memory of its own", forward,
          w.t[LSE].data = w.t[O].data);
    OTHER(ARGUMENT, "gradients.query",
          "gradients.query overlaps gradients.key; what is written needs memory of its own", backward,
          w.t[GK].data = w.t[GQ].data);
    OTHER(ARGUMENT, "gradients.value", "gradients.value overlaps value; what is written needs memory of its own",
          backward, w.t[GV].data = w.t[V].data);
    OTHER(ARGUMENT, "gradients.query",
          "gradients.query overlaps gradients.log_sum_exp; what is written needs memory of its own", backward,
          w.sums = true, w.t[GLSE].data = w.t[GQ].data);
    SAME(backward, w.t[GO].data = w.t[O].data);
    OTHER(SHAPE, "gradients.key", "gradients.key has size 7 in dimension 0: expected 8, the tokens", backward,
          w.t[GK].shape[0] = 7);
    OTHER(SHAPE, "gradients.value", "gradients.value has size 4 in dimension 1: expected 2", backward,
          w.t[GV].shape[1] = 4);
    OTHER(SHAPE, "gradients.log_sum_exp", "gradients.log_sum_exp has size 5 in dimension 0: expected 6, the tokens",
          backward, w.sums = true, w.t[GLSE].shape[0] = 5);
    OTHER(SHAPE, "parameters", "3 parameter gradients were given, but the encoding has 1 parameters", backward,
          w.parameter_count = 3);
    SAME(backward, w.parameter_count = 1);
    OTHER(SHAPE, "frequencies",
          "the tensor 'frequencies' of gradients.parameters has size 3 in dimension 0: expected 2", backward,
          w.parameter_count = 1, w.r.gradients[0].shape[0] = 3);
    char says[200];
    assert_int_equal(locus_threads_set(1), LOCUS_OK);
    for (int back = 0; back < 2; back++) {
        const size_t least = locus_attention_workspace(base.r.plan, &base.options, LOCUS_FLOAT32,
                                                       back ? LOCUS_PASS_BACKWARD : LOCUS_PASS_FORWARD, NULL);
        (void)snprintf(says, sizeof says,
                       "the workspace has %zu bytes, but at least %zu are needed, for one thread; ask "
                       "locus_attention_workspace",
                       least - 1, least);
        OTHER(MEMORY, "workspace", says, (back ? backward : forward), w.workspace.bytes = least - 1);
        SAME((back ? backward : forward), w.workspace.bytes = least);
    }
    const size_t least = locus_attention_weights_workspace(base.r.plan, &base.options, LOCUS_FLOAT32, NULL);
    (void)snprintf(says, sizeof says,
                   "the workspace has 0 bytes, but at least %zu are needed, for one thread; ask "
                   "locus_attention_weights_workspace",
                   least);
    OTHER(MEMORY, "workspace", says, weigh, w.workspace.data = NULL);
    SAME(weigh, w.workspace.bytes = least);
    OTHER(ARGUMENT, "workspace", "the workspace is not aligned to 64 bytes; get it from locus_allocate", forward,
          w.workspace.data = (char *)w.workspace.data + 32, w.workspace.bytes -= 32);
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
    close_world(&base);
}

static void biases_of_attention(void **state) {
    static const char *const names[] = {"query",           "key",
                                        "value",           "output",
                                        "log_sum_exp",     "gradients.output",
                                        "gradients.query", "gradients.key",
                                        "gradients.value", "gradients.log_sum_exp"};
    world base = open_world("none");
    (void)state;
    OTHER(ARGUMENT, "gradients.bias", "gradients.bias is given, but the options have no bias; leave it NULL", backward,
          (void)w);
#define BIASED(...) w.options.bias = &w.t[BIAS], __VA_ARGS__
    SAME(forward, BIASED(w.t[BIAS].shape[2] = 6, w.t[BIAS].shape[3] = 7));
    SAME(forward, BIASED(w.t[BIAS].shape[0] = w.t[BIAS].shape[1] = w.t[BIAS].shape[2] = w.t[BIAS].shape[3] = 1));
    SAME(backward, BIASED(w.sums = true));
    OTHER(SHAPE, "bias", "bias has 1 dimensions; it must have 2 to 4: [sequences, heads, queries, keys]", forward,
          BIASED(w.t[BIAS].rank = 1));
    OTHER(SHAPE, "bias", "bias has 5 dimensions; it must have 2 to 4: [sequences, heads, queries, keys]", forward,
          BIASED(w.t[BIAS].rank = 5));
    OTHER(SHAPE, "bias", "the bias has 3 sequences; it needs 2 of them, or 1 for all", forward,
          BIASED(w.t[BIAS].shape[0] = 3));
    OTHER(SHAPE, "bias", "the bias has 2 heads; it needs 4 of them, or 1 for all", forward,
          BIASED(w.t[BIAS].shape[1] = 2));
    OTHER(SHAPE, "bias",
          "the bias has 3 queries, but the longest sequence has 4; it needs at least as many, or 1 for all", forward,
          BIASED(w.t[BIAS].shape[2] = 3));
    OTHER(SHAPE, "bias", "the bias has 4 keys, but the longest sequence has 5; it needs at least as many, or 1 for all",
          forward, BIASED(w.t[BIAS].shape[3] = 4));
    OTHER(SHAPE, "bias",
          "the bias has -1 keys, but the longest sequence has 5; it needs at least as many, or 1 for all", forward,
          BIASED(w.t[BIAS].shape[3] = -1));
    OTHER(SHAPE, "bias", "the bias has -4 heads; it needs 4 of them, or 1 for all", forward,
          BIASED(w.t[BIAS].shape[1] = -4));
    for (int i = O; i <= LSE; i++) {
        char says[120];
        const char *name = i == O ? "output" : "log_sum_exp";
        (void)snprintf(says, sizeof says, "%s overlaps the bias; what is written needs memory of its own", name);
        OTHER(ARGUMENT, name, says, forward, BIASED(w.t[i].data = w.t[BIAS].data));
    }
    for (int i = 0; i < 3; i++) {
        char says[120];
        (void)snprintf(says, sizeof says, "%s overlaps the bias; what is written needs memory of its own",
                       names[6 + i]);
        OTHER(ARGUMENT, names[6 + i], says, backward, BIASED(w.t[GQ + i].data = w.t[BIAS].data));
    }
    for (int i = Q; i <= GLSE; i++) {
        char says[120];
        (void)snprintf(says, sizeof says, "gradients.bias overlaps %s; what is written needs memory of its own",
                       names[i]);
        OTHER(ARGUMENT, "gradients.bias", says, backward,
              BIASED(w.sums = true, w.t[GBIAS].data = (float *)w.t[i].data + 3));
    }
    OTHER(ARGUMENT, "gradients.bias", "gradients.bias overlaps the bias; what is written needs memory of its own",
          backward, BIASED(w.t[GBIAS].data = w.t[BIAS].data));
    OTHER(SHAPE, "gradients.bias", "gradients.bias has 3 dimensions, the bias has 4; it must be of the bias's shape",
          backward, BIASED(w.t[GBIAS].rank = 3));
    OTHER(SHAPE, "gradients.bias", "dimension 2 of gradients.bias is 6, of the bias 4; it must be of the bias's shape",
          backward, BIASED(w.t[GBIAS].shape[2] = 6));
    OTHER(SHAPE, "gradients.bias",
          "stride 1 of gradients.bias is 0; a tensor that is written must not repeat its elements", backward,
          BIASED(w.t[GBIAS].stride[1] = 0));
    OTHER(UNSUPPORTED, "bias",
          "linear attention has no scores of its own to add a bias to; leave bias NULL, or use softmax attention",
          forward, BIASED(w.options.kind = kind_of("linear")));
    close_world(&base);
}

static void choices_of_weights(void **state) {
    static const size_t beyond[] = {0, 4}, no_query[] = {2};
    world base = open_world("none");
    (void)state;
    SAME(weigh, (void)w);
    OTHER(ARGUMENT, "sequence", "sequence is 2; the plan has 2, from 0 on", weigh, w.weights.sequence = 2);
    OTHER(ARGUMENT, "heads", "number 1 of heads is 4; there are 4, from 0 on", weigh, w.weights.heads = beyond);
    OTHER(ARGUMENT, "queries", "number 0 of queries is 2; there are 2, from 0 on", weigh, w.weights.queries = no_query);
    OTHER(SHAPE, "weights", "weights has 2 dimensions; it must have 3: [heads, queries, keys]", weigh,
          w.t[WEIGHTS].rank = 2);
    OTHER(SHAPE, "weights", "dimension 0 of weights is 3; there are 2 chosen heads", weigh, w.t[WEIGHTS].shape[0] = 3);
    OTHER(SHAPE, "weights", "dimension 1 of weights is -1; there are 1 chosen queries", weigh,
          w.t[WEIGHTS].shape[1] = -1);
    OTHER(SHAPE, "weights", "dimension 2 of weights is 5; there are 3 keys of the sequence", weigh,
          w.t[WEIGHTS].shape[2] = 5);
    OTHER(ARGUMENT, "weights", "weights overlaps query; what is written needs memory of its own", weigh,
          w.t[WEIGHTS].data = w.t[Q].data);
    OTHER(ARGUMENT, "weights", "weights overlaps key; what is written needs memory of its own", weigh,
          w.t[WEIGHTS].data = w.t[K].data);
    OTHER(ARGUMENT, "weights", "weights overlaps the bias; what is written needs memory of its own", weigh,
          w.options.bias = &w.t[BIAS], w.t[WEIGHTS].data = w.t[BIAS].data);
    OTHER(UNSUPPORTED, "kind", "clustered attention makes no weight for each query and key; softmax attention does",
          weigh, w.options.kind = kind_of("clustered"));
    close_world(&base);
}

static void kinds_of_attention(void **state) {
    static const int32_t documents[8] = {0};
    static const struct {
        const char *spec, *what;
    } cases[] = {{"scores(cap=5)", "scores(cap=…)"},
                 {"scores(window=4)", "scores(window=…)"},
                 {"scores(chunk=4)", "scores(chunk=…)"},
                 {"scores(sinks=on)", "scores(sinks=…)"},
                 {"relative(window=3)", "the term 'relative'"},
                 {"cope", "the term 'cope'"},
                 {"decay", "a term that multiplies scores (decay …)"},
                 {"alibi", "a term that adds to scores (alibi, t5 …)"}};
    static const char *const names[] = {"linear", "soft", "clustered"};
    char says[300];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world base = open_world(cases[i].spec);
        for (size_t kind = 0; kind < 3; kind++) {
            (void)snprintf(says, sizeof says,
                           "%s attention has no scores of its queries, so %s cannot act; leave it out, or use softmax "
                           "attention",
                           names[kind], cases[i].what);
            if (i == 5) /* keys are counted back */
                base.options.mask = LOCUS_MASK_CAUSAL;
            OTHER(UNSUPPORTED, "plan", says, forward, w.options.kind = kind_of(names[kind]));
        }
        close_world(&base);
    }
    world base = open_world("none");
    base.t[GBIAS].rank = 0;
#define OF(name, ...) w.options.kind = kind_of(name), __VA_ARGS__
#define SCORELESS(what) \
    "linear attention has no scores of its queries, so " what " cannot act; leave it out, or use softmax attention"
    OTHER(UNSUPPORTED, "options", SCORELESS("the option cap"), forward, OF("linear", w.options.cap = 3));
    OTHER(UNSUPPORTED, "options", SCORELESS("the option window"), forward, OF("linear", w.options.window = 3));
    OTHER(UNSUPPORTED, "options", SCORELESS("the option query_documents (pack documents as sequences instead)"),
          forward, OF("linear", w.options.query_documents = w.options.key_documents = documents));
    OTHER(UNSUPPORTED, "mask",
          "soft attention lets all queries see all keys; the mask must be full, or use softmax or linear attention",
          forward, OF("soft", w.options.mask = LOCUS_MASK_CAUSAL));
    OTHER(UNSUPPORTED, "dropout", "soft attention never makes its weights, so none can be dropped; dropout must be 0",
          forward, OF("soft", w.options.dropout = 0.1));
    OTHER(UNSUPPORTED, "dropout", "linear attention never makes its weights, so none can be dropped; dropout must be 0",
          forward, OF("linear", w.options.dropout = 0.1));
    OTHER(UNSUPPORTED, "dropout_on",
          "clustered attention drops weights, not logits; set dropout_on to LOCUS_DROPOUT_WEIGHTS", forward,
          OF("clustered", w.options.dropout = 0.1, w.options.dropout_on = LOCUS_DROPOUT_LOGITS));
    SAME(forward, OF("clustered", w.options.dropout = 0.1));
    SAME(forward, OF("clustered", w.options.dropout_on = LOCUS_DROPOUT_LOGITS));
    SAME(forward, OF("linear", w.options.mask = LOCUS_MASK_CAUSAL));
    OTHER(ARGUMENT, "scale",
          "scale is -1; the Gaussian kernel of soft attention needs a positive one, or 0 for 1/sqrt(4)", forward,
          OF("soft", w.options.scale = -1));
    SAME(forward, OF("clustered", w.options.scale = -1));
    OTHER(UNSUPPORTED, "gradients.log_sum_exp",
          "only softmax attention sums scores of its queries up, so only it has a gradient of their log-sum-exp; leave "
          "gradients.log_sum_exp NULL",
          backward, OF("linear", w.sums = true));
    close_world(&base);
}

static void sizes_of_options(void **state) {
    locus_attention_options options = locus_attention_default();
    char says[100];
    world base = open_world("none");
    (void)state;
    (void)snprintf(says, sizeof says, "options.size is %zu: set it to the size of the struct, at least %zu bytes",
                   sizeof options - 1, sizeof options);
    OTHER(ARGUMENT, "options", says, forward, w.options.size = sizeof options - 1);
    struct {
        locus_attention_options known;
        char more[3];
    } newer = {.known = locus_attention_default(), .more = {0, 1, 0}};
    newer.known.size = sizeof options + 2;
    const locus_execution execution = locus_execution_in(base.workspace);
    const locus_attention_tensors tensors = {sizeof tensors, &base.t[Q], &base.t[K], &base.t[V], &base.t[O], NULL};
    (void)snprintf(says, sizeof says,
                   "options is of a newer version: byte %zu of its %zu is set, and this library "
                   "knows %zu",
                   sizeof options + 1, sizeof options + 2, sizeof options);
    TELLS(UNSUPPORTED, "options", says,
          locus_attention_forward(base.r.plan, &newer.known, &tensors, &execution, &told));
    newer.more[1] = 0;
    TAKES(locus_attention_forward(base.r.plan, &newer.known, &tensors, &execution, &told));
    close_world(&base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_attention), cmocka_unit_test(tensors_of_attention),
        cmocka_unit_test(biases_of_attention),  cmocka_unit_test(choices_of_weights),
        cmocka_unit_test(kinds_of_attention),   cmocka_unit_test(sizes_of_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
