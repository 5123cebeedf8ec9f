/* SPDX-License-Identifier: MIT */
/* What follows from a configuration, what is refused, the texts of encodings. */
#include "train/configuration/config.h"

#include "io/fail.h"
#include "model/architecture.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what follows ---- */

void lab_config_fill(lab_train_config *config) {
    const lab_task_class *class = config->task->class;
    const bool pieces = config->pretrained_digest != 0;
    config->model.vocabulary = pieces ? config->data.pieces : lab_task_vocabulary(config->task, &config->data);
    config->model.tree_arity = class->arity != NULL && !pieces ? class->arity(&config->data) : 0;
    config->model.classes = lab_task_classes(config->task, &config->data);
}

const char *lab_config_variant(const lab_train_config *config) {
    const lab_task_class *class = config->task->class;
    return class->variant != NULL ? class->variant(&config->data) : "";
}

lab_order lab_config_order(const lab_train_config *config) {
    return lab_task_order(config->task, &config->data);
}

void lab_config_set_variant(lab_train_config *config, const char *variant) {
    const lab_task_class *class = config->task->class;
    const lab_option *option = class->variant_field != NULL ? lab_class_field(class, class->variant_field) : NULL;
    for (unsigned i = 0; option != NULL && option->names[i] != NULL; i++)
        if (strcmp(option->names[i], variant) == 0)
            memcpy((char *)config + option->offset, &i, sizeof i);
}

bool lab_config_decodes(const lab_train_config *config) {
    const lab_task *task = config->task;
    return task->class->decodes && (task->class->uses == NULL || task->class->uses(task, "greedy-samples"));
}

uint64_t lab_config_epoch_steps(const lab_train_config *config) {
    return (config->train_samples + config->batch - 1) / config->batch;
}

uint64_t lab_config_steps(const lab_train_config *config) {
    return config->steps != 0 ? config->steps : config->epochs * lab_config_epoch_steps(config);
}

uint64_t lab_config_evaluate_every(const lab_train_config *config) {
    return config->evaluate_every != 0 ? config->evaluate_every : lab_config_epoch_steps(config);
}

size_t lab_config_shards(const lab_train_config *config) {
    return config->shards == 0 ? 1 : config->shards;
}

lab_schedule lab_config_schedule(const lab_train_config *config) {
    uint64_t total = lab_config_steps(config);
    const bool steps = config->schedule == LAB_SCHEDULE_STEPS;
    if (config->schedule == LAB_SCHEDULE_CONSTANT)
        return (lab_schedule){.initial = config->rate_peak, .peak = config->rate_peak, .final = config->rate_peak};
    return (lab_schedule){.initial = config->rate_initial,
                          .peak = config->rate_peak,
                          .final = config->rate_final,
                          .warmup = (uint64_t)llround(config->warmup_share * (double)total),
                          .total = total,
                          .every = steps ? config->rate_epochs * lab_config_epoch_steps(config) : 0,
                          .factor = steps ? config->rate_factor : 0.0};
}

lab_task_options lab_config_data(const lab_train_config *config, size_t mean) {
    lab_task_options options = config->data;
    if (config->task->class->lengths != NULL)
        config->task->class->lengths->set(&options, mean);
    return options;
}

/* ---- the encoding's text ---- */

typedef struct writer {
    char *text;
    size_t size, used;
} writer;

static void put(writer *out, const char *from, size_t length) {
    for (size_t i = 0; i < length; i++, out->used++)
        if (out->used < out->size)
            out->text[out->used] = from[i];
}

static bool is_word(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* How a learned table begins beside this model's tokens: as large as they are. Those of `plain` have a deviation of
 * 0.02, all others 1: of scaled embeddings exactly (sqrt(D) times N(0, 1/D)), of an image's pooled convolution nearly;
 * `unit` has larger tokens (sqrt(D)) on purpose, and the authors' code that it follows a table of N(0, 1). Nothing is
 * said of a table that comes with a pretrained encoder. */
static const char *table_option(const lab_train_config *config) {
    if (config->pretrained != NULL || config->pretrained_digest != 0)
        return NULL;
    const bool plain = config->model.embedding_init == LAB_EMBEDDING_PLAIN;
    return plain && config->model.architecture->vocabulary ? "deviation=0.02" : "deviation=1";
}

/* What the shorthand of the term `name` leaves out; NULL: nothing. */
static const char *left_out(const char *name, size_t length, const lab_train_config *config) {
    if (is_word(name, length, "learned"))
        return table_option(config);
    const bool rope = is_word(name, length, "rope") || is_word(name, length, "roper");
    return rope && config->setup == LAB_SETUP_CODE ? "learned=on" : NULL;
}

/* Whether the options behind the parenthesis at `rest` say already what `option` does. */
static bool is_told(const char *rest, const char *option) {
    const size_t length = strcspn(option, "="), end = strcspn(rest, ")");
    for (size_t at = 1; at + length < end; at++)
        if (strncmp(rest + at, option, length) == 0)
            return true;
    return false;
}

/* Adds an option to a term: in parentheses of its own, or first in those that are there. */
static void put_option(writer *out, const char *option, bool inside) {
    put(out, "(", 1);
    put(out, option, strlen(option));
    put(out, inside ? ", " : ")", inside ? 2 : 1);
}

/* Copies `spec` with the shorthand of its terms written out; false if it does not fit. A name counts only outside
 * parentheses. */
static bool expand(const char *spec, const lab_train_config *config, char *text, size_t size) {
    writer out = {text, size, 0};
    size_t depth = 0;
    for (const char *at = spec; *at != '\0';) {
        size_t name = 0;
        while (depth == 0 && (isalnum((unsigned char)at[name]) || at[name] == '-' || at[name] == '_'))
            name++;
        if (name == 0) {
            depth = *at == '(' ? depth + 1 : *at == ')' && depth > 0 ? depth - 1 : depth;
            put(&out, at++, 1);
            continue;
        }
        const char *rest = at + name + strspn(at + name, " \t");
        const char *more = left_out(at, name, config);
        const bool inside = *rest == '(', adds = more != NULL && !(inside && is_told(rest, more));
        put(&out, at, name);
        at += name;
        if (adds) {
            put_option(&out, more, inside);
            at = inside ? rest + 1 : at;
            depth += inside;
        }
    }
    put(&out, "", 1);
    return out.used <= size;
}

static locus_status canonical(const char *spec, char *text, size_t size, locus_error *error) {
    locus_pattern *pattern;
    locus_status status = locus_pattern_parse(spec, &pattern, error);
    if (status != LOCUS_OK)
        return status;
    size_t length = locus_pattern_text(pattern, text, size);
    locus_pattern_destroy(&pattern);
    return length < size ? LOCUS_OK
                         : lab_fail(error, LOCUS_ERROR_ARGUMENT, "encoding",
                                    "the encoding's text is longer than %zu bytes", size);
}

locus_status lab_train_encoding(const char *spec, const lab_train_config *config, char *text, size_t size,
                                locus_error *error) {
    char expanded[LAB_SPEC_SIZE];
    if (!expand(spec, config, expanded, sizeof expanded)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "encoding", "the encoding's text is longer than %d bytes",
                        LAB_SPEC_SIZE);
    }
    locus_error of_expanded;
    locus_status status = canonical(expanded, text, size, &of_expanded);
    if (status == LOCUS_OK)
        return LOCUS_OK;
    /* The offset must point into what the user typed. */
    locus_status as_typed = canonical(spec, text, size, error);
    if (as_typed == LOCUS_OK && error != NULL) {
        *error = of_expanded;
        error->offset = -1;
    }
    return status;
}

locus_status lab_config_settle(lab_train_config *config, locus_error *error) {
    locus_pattern *pattern;
    if (config->model.position_scale == LAB_POSITIONS_AS_THEY_ARE)
        return LOCUS_OK;
    const locus_status status = locus_pattern_parse(config->encoding, &pattern, error);
    if (status != LOCUS_OK)
        return status == LOCUS_ERROR_MEMORY ? status : LOCUS_OK;
    if ((locus_encoding_sites(locus_pattern_encoding(pattern, 0)) & LOCUS_SITE_EMBEDDING) == 0)
        config->model.position_scale = LAB_POSITIONS_AS_THEY_ARE;
    locus_pattern_destroy(&pattern);
    return LOCUS_OK;
}

static size_t least_of(const locus_encoding *encoding, const char *name, const char *option) {
    size_t least = SIZE_MAX;
    char value[32];
    for (size_t t = 0; t < locus_encoding_term_count(encoding); t++) {
        if (strcmp(locus_encoding_term(encoding, t)->name, name) == 0 &&
            locus_encoding_option(encoding, t, option, value, sizeof value) != SIZE_MAX) {
            const size_t own = strtoul(value, NULL, 10);
            least = own < least ? own : least;
        }
    }
    return least;
}

locus_status lab_spec_least(const char *pattern, const char *name, const char *option, size_t *least,
                            locus_error *error) {
    locus_pattern *parsed = NULL;
    *least = SIZE_MAX;
    const locus_status status = locus_pattern_parse(pattern, &parsed, error);
    if (status != LOCUS_OK)
        return status == LOCUS_ERROR_MEMORY ? status : LOCUS_OK;
    for (size_t i = 0; i < locus_pattern_size(parsed); i++) {
        const size_t own = least_of(locus_pattern_encoding(parsed, i), name, option);
        *least = own < *least ? own : *least;
    }
    locus_pattern_destroy(&parsed);
    return LOCUS_OK;
}

/* ---- checks ---- */

static locus_status refuse(locus_error *error, const char *option, const char *what) {
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, option, "--%s: %s", option, what);
}

static locus_status check_rates(const lab_train_config *c, locus_error *error) {
    if (!(c->rate_peak > 0.0 && c->rate_peak < 1e6) || !(c->rate_initial >= 0.0) || !(c->rate_final >= 0.0))
        return refuse(error, "rate", "the learning rate must be a positive number");
    if (!(c->model.dropout >= 0.0 && c->model.dropout < 1.0) ||
        !(c->model.attention_dropout >= 0.0 && c->model.attention_dropout < 1.0))
        return refuse(error, "dropout", "a probability from 0 to below 1 is needed");
    if (!(c->optimizer.clip >= 0.0))
        return refuse(error, "clip", "a gradient norm of 0 (no clipping) or more is needed");
    if (c->schedule == LAB_SCHEDULE_STEPS && !(c->rate_factor > 0.0 && c->rate_factor <= 1.0 && c->rate_epochs > 0)) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "rate",
                        "--rate: it falls to %g of itself every %" PRIu64
                        " epochs: a share above 0, up to 1, and at least one epoch are needed",
                        c->rate_factor, c->rate_epochs);
    }
    return LOCUS_OK;
}

/* Sequences may have no end, and a text is read whole unless it is said how much of it. */
static locus_status check_endless(const lab_train_config *c, locus_error *error) {
    if (c->steps == 0)
        return refuse(error, "epochs",
                      "sequences that are drawn without end have no epochs: give --steps, or --train-samples");
    if (c->evaluate_every == 0)
        return refuse(error, "evaluate-every", "sequences that are drawn without end have no epochs: give steps");
    return c->schedule != LAB_SCHEDULE_STEPS
               ? LOCUS_OK
               : refuse(error, "train-samples", "a rate that falls by epochs needs a number of samples");
}

static locus_status check_counts(const lab_train_config *c, locus_error *error) {
    const lab_task_class *class = c->task->class;
    if ((c->train_samples == 0 && !class->endless && !class->whole) ||
        ((c->dev_samples == 0 || c->test_samples == 0) && !class->whole))
        return refuse(error, "samples", "every set needs at least one sample");
    if (c->batch == 0)
        return refuse(error, "batch", "a batch has at least one sample");
    const size_t shards = lab_config_shards(c);
    if ((shards & (shards - 1)) != 0 || shards > LAB_MOST_SHARDS) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "shards", "--shards: %zu is no power of two up to %d", shards,
                        LAB_MOST_SHARDS);
    }
    if (shards > c->batch) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "shards",
                        "--shards: a batch of %zu samples cannot be dealt to %zu shards", c->batch, shards);
    }
    return c->train_samples == 0 ? check_endless(c, error) : LOCUS_OK;
}

/* Kinds of which no sets of other sizes are drawn; what is never decoded; and images, whose published score is the best
 * that was seen on the test set. */
static locus_status check_tests(const lab_train_config *c, locus_error *error) {
    const lab_size_axis *size = c->task->class->size;
    if (c->test_length_count > 0 && size == NULL)
        return refuse(error, "test-lengths", "only words and trees are scored at other lengths or depths");
    if (c->greedy_samples > 0 && !lab_config_decodes(c))
        return refuse(error, "greedy-samples", "nothing of this task is decoded");
    for (size_t i = 0; i < c->test_length_count; i++) {
        if (c->test_lengths[i] == 0 || c->test_lengths[i] > 1000000) {
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, size->option, "--%s: a mean %s of 1 to 1000000 is needed",
                            size->option, size->name);
        }
    }
    return !c->task->class->develops_on_test || c->dev_samples == c->test_samples
               ? LOCUS_OK
               : refuse(error, "dev-samples", "images are developed on the test set: --test-samples is its size");
}

locus_status lab_config_check(const lab_train_config *c, locus_error *error) {
    locus_status status = check_counts(c, error);
    if (status == LOCUS_OK)
        status = check_tests(c, error);
    if (status != LOCUS_OK)
        return status;
    uint64_t steps = lab_config_steps(c);
    if (steps == 0 || steps > UINT32_MAX)
        return refuse(error, c->steps != 0 ? "steps" : "epochs", "a training has 1 to 4294967295 steps");
    if (c->model.heads == 0 || c->model.dim == 0 || c->model.dim % c->model.heads != 0) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "heads", "--heads: dimension %zu is not divisible by %zu heads",
                        c->model.dim, c->model.heads);
    }
    if (c->model.kv_heads != 0 && c->model.heads % c->model.kv_heads != 0) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "kv-heads",
                        "--kv-heads: %zu heads cannot share %zu key and value heads: it must divide them",
                        c->model.heads, c->model.kv_heads);
    }
    return check_rates(c, error);
}
