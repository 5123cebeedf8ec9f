/* SPDX-License-Identifier: MIT */
/* Pretrained encoders: what a folder's configuration says and what of it is refused, weights that are missing or have
 * another shape, files that are cut, overlap or point outside; that nothing is changed where a file is refused; and
 * that what was read can be trained on: gradients against differences, and a loss that falls. (What it computes:
 * tests/golden/test_golden_bert.c.) */
#include "golden/bert_case.h"
#include "grad/model_differences.h"
#include "io/file.h"
#include "model/model_parts.h"
#include "model/pretrained/pretrained.h"
#include "model/pretrained/pretrained_names.h"
#include "unit/scratch_folder.h"

static char *config_text;

/* config.json with one piece of it replaced. */
static void write_config(const char *piece, const char *by) {
    char text[4096];
    const char *at = strstr(config_text, piece);
    assert_non_null(at);
    const int length =
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - config_text), config_text, by, at + strlen(piece));
    assert_true(length > 0 && (size_t)length < sizeof text);
    scratch_write("config.json", text, (size_t)length);
}

static locus_status read_config(lab_model_config *config, const char *more, char *encoding, locus_error *error) {
    *config = lab_text_classifier.defaults;
    config->classes = 5;
    config->pool = LAB_POOL_MEAN;
    return lab_pretrained_config(scratch_path("."), more, encoding, 128, config, error);
}

/* ---- configuration ---- */

static void test_configuration(void **state) {
    (void)state;
    char encoding[128];
    lab_model_config config;
    golden_ok(read_config(&config, NULL, encoding, error));
    assert_ptr_equal(config.architecture, &lab_text_classifier);
    assert_int_equal(config.vocabulary, 37);
    assert_int_equal(config.dim, 32);
    assert_int_equal(config.heads, 4);
    assert_int_equal(config.feed_forward, 64);
    assert_int_equal(config.encoder_layers, 2);
    assert_int_equal(config.token_types, 2);
    assert_int_equal(config.norm, LAB_NORM_AFTER);
    assert_int_equal(config.embedding_norm, 1);
    assert_int_equal(config.embedding_init, LAB_EMBEDDING_PLAIN);
    assert_int_equal(config.activation, LAB_GELU);
    assert_true(fabs(config.norm_epsilon - 1e-12) < 1e-18);
    assert_true(fabs(config.dropout - 0.1) < 1e-15 && fabs(config.attention_dropout - 0.1) < 1e-15);
    assert_int_equal(config.classes, 5); /* what it says nothing of stays */
    assert_int_equal(config.pool, LAB_POOL_MEAN);
    assert_string_equal(encoding, "learned(size=16)");
    assert_ptr_equal(config.encoding, encoding);
    golden_ok(read_config(&config, "none", encoding, error));
    assert_string_equal(encoding, "learned(size=16)");
    golden_ok(read_config(&config, "rope + chebyshev(site=output)", encoding, error));
    assert_string_equal(encoding, "learned(size=16) + rope + chebyshev(site=output)");
}

static void test_configuration_defaults(void **state) {
    (void)state;
    static const char least[] = "{\"vocab_size\": 9, \"hidden_size\": 8, \"num_attention_heads\": 2, "
                                "\"intermediate_size\": 4, \"num_hidden_layers\": 1, \"max_position_embeddings\": 7}";
    char encoding[128];
    lab_model_config config;
    scratch_write("config.json", least, sizeof least - 1);
    golden_ok(read_config(&config, NULL, encoding, error));
    assert_int_equal(config.token_types, 2);
    assert_int_equal(config.activation, LAB_GELU);
    assert_true(fabs(config.norm_epsilon - 1e-12) < 1e-18);
    write_config("\"gelu\"", "\"relu\"");
    golden_ok(read_config(&config, NULL, encoding, error));
    assert_int_equal(config.activation, LAB_RELU);
}

static void test_configuration_refused(void **state) {
    static const struct {
        const char *piece, *by, *message;
        locus_status status;
    } cases[] = {
        {"\"gelu\"", "\"gelu_new\"", "hidden_act 'gelu_new'", LOCUS_ERROR_UNSUPPORTED},
        {"\"is_decoder\": false", "\"is_decoder\": true", "is_decoder true", LOCUS_ERROR_UNSUPPORTED},
        {"\"add_cross_attention\": false", "\"add_cross_attention\": true", "add_cross", LOCUS_ERROR_UNSUPPORTED},
        {"\"model_type\": \"bert\"", "\"model_type\": \"gpt2\"", "model_type 'gpt2'", LOCUS_ERROR_UNSUPPORTED},
        {"\"use_cache\": true", "\"position_embedding_type\": \"relative_key\"",
         "position_embedding_type 'relative_key'", LOCUS_ERROR_UNSUPPORTED},
        {"\"use_cache\": true", "\"pruned_heads\": {\"0\": [1]}", "pruned_heads", LOCUS_ERROR_UNSUPPORTED},
        {"\"hidden_size\"", "\"hidden\"", "has no 'hidden_size'", LOCUS_ERROR_IO},
        {"\"hidden_size\": 32", "\"hidden_size\": \"32\"", "'hidden_size' that is no size", LOCUS_ERROR_IO},
        {"\"hidden_size\": 32", "\"hidden_size\": 32.5", "'hidden_size' that is no size", LOCUS_ERROR_IO},
        {"\"hidden_size\": 32", "\"hidden_size\": -32", "'hidden_size' that is no size", LOCUS_ERROR_IO},
        {"\"max_position_embeddings\"", "\"places\"", "has no 'max_position_embeddings'", LOCUS_ERROR_IO},
        {"\"layer_norm_eps\": 1e-12", "\"layer_norm_eps\": []", "'layer_norm_eps' that is no number", LOCUS_ERROR_IO},
        {"\"gelu\"", "7", "'hidden_act' that is no text", LOCUS_ERROR_IO},
        {"{", "[", "is not a JSON object", LOCUS_ERROR_IO},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char encoding[128] = "as it was";
        lab_model_config config;
        locus_error error = {0};
        write_config(cases[i].piece, cases[i].by);
        const locus_status status = read_config(&config, NULL, encoding, &error);
        if (status != cases[i].status || strstr(error.message, cases[i].message) == NULL)
            fail_msg("case %zu: %d, '%s'", i, (int)status, error.message);
        assert_null(strchr(error.message, '\n'));
        assert_string_equal(encoding, "as it was");
        assert_int_equal(config.dim, lab_text_classifier.defaults.dim);
    }
    char small[8];
    lab_model_config config = {.classes = 2};
    write_config("{", "{");
    assert_int_equal(lab_pretrained_config(scratch_path("."), NULL, small, sizeof small, &config, NULL),
                     LOCUS_ERROR_ARGUMENT);
    assert_int_equal(lab_pretrained_config("/nowhere", NULL, small, sizeof small, &config, NULL), LOCUS_ERROR_IO);
}

/* What must be there, one key after the other; then a piece with which it goes on. */
#define LEAST(vocabulary, dim, heads, wide, layers, places, more) \
    "{\"vocab_size\": " #vocabulary ", \"hidden_size\": " #dim ", \"num_attention_heads\": " #heads \
    ", \"intermediate_size\": " #wide ", \"num_hidden_layers\": " #layers \
    ", \"max_position_embeddings\": " #places more "}"

static const char *config_path(void) {
    return scratch_path("./config.json");
}

static void test_configuration_bounds(void **state) {
    (void)state;
    static const struct {
        const char *text, *says; /* behind the file's name; NULL: it is read */
    } cases[] = {
        {LEAST(0, 8, 8, 0, 0, 0, ), NULL},
        {LEAST(1000000000, 1000000000, 1, 1000000000, 1000000000, 1000000000, ), NULL},
        {LEAST(1000000001, 8, 2, 4, 1, 7, ), "has a 'vocab_size' that is no size"},
        {LEAST(9, 1e10, 2, 4, 1, 7, ), "has a 'hidden_size' that is no size"},
        {LEAST(9, 8, 0, 4, 1, 7, ), "has a hidden_size of 8, which 0 heads do not divide"},
        {LEAST(9, 8, 3, 4, 1, 7, ), "has a hidden_size of 8, which 3 heads do not divide"},
        {LEAST(9, 8, 2.5, 4, 1, 7, ), "has a 'num_attention_heads' that is no size"},
        {LEAST(9, 8, 2, null, 1, 7, ), "has no 'intermediate_size'"},
        {LEAST(9, 8, 2, 4, true, 7, ), "has a 'num_hidden_layers' that is no size"},
        {LEAST(9, 8, 2, 4, 1, "7", ), "has a 'max_position_embeddings' that is no size"},
        {LEAST(9, 8, 2, 4, 1, 7, ", \"type_vocab_size\": -1"), "has a 'type_vocab_size' that is no size"},
        {LEAST(9, 8, 2, 4, 1, 7, ", \"hidden_dropout_prob\": \"0\""), "has a 'hidden_dropout_prob' that is no number"},
        {LEAST(9, 8, 2, 4, 1, 7, ", \"attention_probs_dropout_prob\": false"),
         "has a 'attention_probs_dropout_prob' that is no number"},
        {LEAST(9, 8, 2, 4, 1, 7, ", \"model_type\": 1"), "has a 'model_type' that is no text"},
        {LEAST(9, 8, 2, 4, 1, 7, ", \"position_embedding_type\": []"),
         "has a 'position_embedding_type' that is no text"},
        /* The first that is wrong is told. */
        {LEAST(-1, -1, -1, -1, -1, -1, ), "has a 'vocab_size' that is no size"},
        {LEAST(9, 8, 2, 4, 1, 7, ", \"hidden_act\": 3, \"hidden_dropout_prob\": []"),
         "has a 'hidden_act' that is no text"},
        {"[]", "is not a JSON object: it should describe a pretrained encoder"},
        {"", "is not a JSON object: it should describe a pretrained encoder"},
        {"{}", "has no 'vocab_size'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char encoding[128] = "as it was", says[600] = "";
        lab_model_config config;
        locus_error error = {0};
        scratch_write("config.json", cases[i].text, strlen(cases[i].text));
        const locus_status status = read_config(&config, NULL, encoding, &error);
        if (cases[i].says != NULL)
            snprintf(says, sizeof says, "'%s' %s", config_path(), cases[i].says);
        assert_string_equal(error.message, says);
        assert_int_equal(status, cases[i].says != NULL ? LOCUS_ERROR_IO : LOCUS_OK);
    }
}

static void test_configuration_unsupported(void **state) {
    (void)state;
    static const struct {
        const char *text, *key, *says; /* NULL: it is read */
    } cases[] = {
        {LEAST(9, 8, 2, 4, 1, 7,
               ", \"model_type\": \"bert\", \"position_embedding_type\": \"absolute\", \"pruned_heads\": {}, "
               "\"is_decoder\": false, \"add_cross_attention\": null, \"hidden_act\": \"relu\""),
         NULL, NULL},
        {LEAST(9, 8, 2, 4, 1, 7, ", \"model_type\": \"Bert\""), "model_type",
         "has model_type 'Bert': encoders of the kind 'bert' are read"},
        {LEAST(9, 8, 2, 4, 1, 7, ", \"position_embedding_type\": \"\""), "position_embedding_type",
         "has position_embedding_type '': learned absolute positions are read"},
        {LEAST(9, 8, 2, 4, 1, 7, ", \"is_decoder\": 0"), "is_decoder",
         "has is_decoder a value that is not false: encoders are read"},
        {LEAST(9, 8, 2, 4, 1, 7, ", \"add_cross_attention\": true"), "add_cross_attention",
         "has add_cross_attention true: encoders without cross-attention are read"},
        {LEAST(9, 8, 2, 4, 1, 7, ", \"pruned_heads\": {\"0\": []}"), "pruned_heads",
         "has pruned_heads of its own: layers whose heads are all there are read"},
        {LEAST(9, 8, 2, 4, 1, 7, ", \"hidden_act\": \"0123456789012345678901234567890123456789x\""), "hidden_act",
         "has hidden_act '0123456789012345678901234567890123456789': gelu (by the error function) and relu are known"},
        {LEAST(-1, 8, 2, 4, 1, 7, ", \"is_decoder\": true, \"pruned_heads\": [1]"), "is_decoder",
         "has is_decoder true: encoders are read"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        char encoding[128] = "as it was", says[600] = "";
        lab_model_config config;
        locus_error error = {0};
        scratch_write("config.json", cases[i].text, strlen(cases[i].text));
        const locus_status status = read_config(&config, NULL, encoding, &error);
        if (cases[i].says != NULL)
            snprintf(says, sizeof says, "'%s' %s", config_path(), cases[i].says);
        assert_string_equal(error.message, says);
        assert_string_equal(error.argument, cases[i].key != NULL ? cases[i].key : "");
        assert_int_equal(status, cases[i].says != NULL ? LOCUS_ERROR_UNSUPPORTED : LOCUS_OK);
    }
}

/* What stands there is taken, what does not is as in BertConfig; the text of the encoding just fits. */
static void test_configuration_values(void **state) {
    (void)state;
    static const char least[] = LEAST(9, 8, 2, 4, 1, 7, ),
                      all[] = LEAST(0, 8, 1, 5, 0, 123,
                                    ", \"type_vocab_size\": 0, \"layer_norm_eps\": 0.5, "
                                    "\"hidden_dropout_prob\": 0, \"attention_probs_dropout_prob\": 0.25");
    char encoding[128];
    lab_model_config config;
    scratch_write("config.json", least, sizeof least - 1);
    golden_ok(read_config(&config, "", encoding, error));
    assert_string_equal(encoding, "learned(size=7)");
    assert_true(config.vocabulary == 9 && config.dim == 8 && config.heads == 2 && config.feed_forward == 4);
    assert_true(config.encoder_layers == 1 && config.decoder_layers == 0 && config.token_types == 2);
    assert_true(config.tree_arity == 0 && config.kv_heads == 0 && config.norm_epsilon == 1e-12);
    assert_true(config.dropout == 0.1 && config.attention_dropout == 0.1);
    scratch_write("config.json", all, sizeof all - 1);
    golden_ok(read_config(&config, NULL, encoding, error));
    assert_string_equal(encoding, "learned(size=123)");
    assert_true(config.vocabulary == 0 && config.dim == 8 && config.heads == 1 && config.feed_forward == 5);
    assert_true(config.encoder_layers == 0 && config.token_types == 0 && config.norm_epsilon == 0.5);
    assert_true(config.dropout == 0.0 && config.attention_dropout == 0.25);
    locus_error failure = {0};
    static const char expected[] = "learned(size=123) + rope";
    golden_ok(lab_pretrained_config(scratch_path("."), "rope", encoding, sizeof expected, &config, error));
    assert_string_equal(encoding, expected);
    assert_int_equal(lab_pretrained_config(scratch_path("."), "rope", encoding, sizeof expected - 1, &config, &failure),
                     LOCUS_ERROR_ARGUMENT);
    assert_string_equal(failure.message, "the encoding's text is longer than 24 bytes");
    assert_string_equal(failure.argument, "encoding");
}

/* ---- names ---- */

static void test_names(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {"embedding.weight", "embeddings.word_embeddings.weight"},
        {"types.weight", "embeddings.token_type_embeddings.weight"},
        {"embedding_norm.bias", "embeddings.LayerNorm.bias"},
        {"pooler.bias", "pooler.dense.bias"},
        {"position.table", "embeddings.position_embeddings.weight"},
        {"position.0.table", "embeddings.position_embeddings.weight"},
        {"position.0.0.table", "embeddings.position_embeddings.weight"},
        {"encoder.0.self_attention.query.weight", "encoder.layer.0.attention.self.query.weight"},
        {"encoder.1.self_attention.key.bias", "encoder.layer.1.attention.self.key.bias"},
        {"encoder.11.self_attention.value.bias", "encoder.layer.11.attention.self.value.bias"},
        {"encoder.2.self_attention.output.weight", "encoder.layer.2.attention.output.dense.weight"},
        {"encoder.3.norm1.gain", "encoder.layer.3.attention.output.LayerNorm.gain"},
        {"encoder.4.norm2.bias", "encoder.layer.4.output.LayerNorm.bias"},
        {"encoder.5.feed_forward.up.weight", "encoder.layer.5.intermediate.dense.weight"},
        {"encoder.6.feed_forward.down.weight", "encoder.layer.6.output.dense.weight"},
        {"position.1.table", NULL},
        {"position.table.x", NULL},
        {"classifier.weight", NULL},
        {"decoder.0.norm1.bias", NULL},
        {"encoder.0norm1.bias", NULL},
        {"encoder.0.norm3.bias", NULL},
        {"encoder.0.", NULL},
    };
    static const char *const olds[][2] = {
        {"embeddings.LayerNorm.weight", "embeddings.LayerNorm.gamma"},
        {"encoder.layer.0.output.LayerNorm.bias", "encoder.layer.0.output.LayerNorm.beta"},
        {"LayerNorm.weight", "LayerNorm.gamma"},
        {"LayerNorm.bias", "LayerNorm.beta"},
        {"ayerNorm.bias", NULL},
        {"embeddings.LayerNorm.weights", NULL},
        {"", NULL},
    };
    char name[LAB_PRETRAINED_NAME];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
        assert_int_equal(lab_pretrained_name(pairs[i][0], name), pairs[i][1] != NULL);
        if (pairs[i][1] != NULL)
            assert_string_equal(name, pairs[i][1]);
    }
    for (size_t i = 0; i < sizeof olds / sizeof *olds; ++i) {
        assert_int_equal(lab_pretrained_old_name(olds[i][0], name), olds[i][1] != NULL);
        if (olds[i][1] != NULL)
            assert_string_equal(name, olds[i][1]);
    }
    assert_true(lab_pretrained_is_encoder("embeddings.") && lab_pretrained_is_encoder("encoder.layer.9"));
    assert_false(lab_pretrained_is_encoder("embeddings.position_ids"));
    assert_true(lab_pretrained_is_encoder("embeddings.position_ids2"));
    assert_false(lab_pretrained_is_encoder("embedding") || lab_pretrained_is_encoder("cls.encoder."));
}

/* ---- weights ---- */

static lab_model *model_make(const char *more) {
    char encoding[128];
    lab_model_config config;
    lab_model *model = NULL;
    golden_ok(read_config(&config, more, encoding, error));
    config.head = LAB_HEAD_POOLER;
    golden_ok(lab_model_create(&model, &config, 5, error));
    return model;
}

/* Refused with this line, and not a number of the model has changed. */
static void refuse_load(lab_model *model, const char *part) {
    const size_t bytes = lab_model_elements(model) * sizeof(float);
    float *kept = malloc(bytes);
    locus_error error = {0};
    memcpy(kept, lab_model_values(model), bytes);
    assert_int_equal(lab_pretrained_load(model, scratch_path("."), &error), LOCUS_ERROR_IO);
    if (strstr(error.message, part) == NULL)
        fail_msg("refused with '%s', not with '%s'", error.message, part);
    assert_null(strchr(error.message, '\n'));
    assert_memory_equal(kept, lab_model_values(model), bytes);
    free(kept);
}

typedef struct weights {
    lab_safetensors file;
} weights;

static void weights_open(weights *own) {
    golden_ok(lab_safetensors_read(&own->file, scratch_path("model.safetensors"), error));
}

static lab_array *weight_of(weights *own, const char *name) {
    for (size_t i = 0; i < own->file.count; ++i)
        if (strcmp(own->file.arrays[i].name, name) == 0)
            return &own->file.arrays[i];
    fail_msg("no %s", name);
    return NULL;
}

static void weights_write(const weights *own) {
    golden_ok(
        lab_safetensors_write(scratch_path("model.safetensors"), own->file.arrays, own->file.count, NULL, 0, error));
}

/* One tensor under another name, or of another shape; in files with and without a prefix. */
static void test_tensors_refused(void **state) {
    (void)state;
    static const struct {
        const char *file, *name, *other, *message;
        int64_t rows; /* of the first dimension instead, if not 0: fewer are there */
    } cases[] = {
        {"plain", "encoder.layer.1.output.dense.bias", "encoder.layer.1.output.dense.scale",
         "has no tensor 'encoder.layer.1.output.dense.bias'", 0},
        {"prefixed", "bert.embeddings.LayerNorm.gamma", "bert.embeddings.LayerNorm.delta",
         "has no tensor 'bert.embeddings.LayerNorm.weight', which is the model's embedding_norm.weight", 0},
        {"plain", "pooler.dense.bias", "pooler.dense.other", "has no tensor 'pooler.dense.bias'", 0},
        {"plain", "embeddings.position_embeddings.weight", NULL,
         "has tensor 'embeddings.position_embeddings.weight' of shape [15, 32], and the model position.table of shape "
         "[16, 32]",
         15},
        {"plain", "encoder.layer.0.attention.self.key.weight", NULL, "of shape [31, 32]", 31},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        weights own;
        (void)bert_case_folder(cases[i].file);
        lab_model *model = model_make(NULL);
        weights_open(&own);
        lab_array *array = weight_of(&own, cases[i].name);
        if (cases[i].other)
            (void)snprintf(array->name, sizeof array->name, "%s", cases[i].other);
        else
            array->shape[0] = cases[i].rows;
        weights_write(&own);
        lab_safetensors_close(&own.file);
        refuse_load(model, cases[i].message);
        lab_model_destroy(&model);
    }
}

/* The file has a layer more than its configuration: without it the encoder would silently be another one. */
static void test_leftovers_refused(void **state) {
    (void)state;
    (void)bert_case_folder("plain");
    write_config("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1");
    lab_model *model = model_make(NULL);
    refuse_load(model, "has tensor 'encoder.layer.1.");
    lab_model_destroy(&model);
}

/* Products of bfloat16 read the pooler's weights as those of every other layer: rounded, once for a step. */
static void test_rounded_pooler(void **state) {
    (void)state;
    (void)bert_case_folder("plain");
    char encoding[128];
    lab_model_config config;
    lab_model *model = NULL;
    golden_ok(read_config(&config, NULL, encoding, error));
    config.head = LAB_HEAD_POOLER;
    config.precision = LAB_BF16;
    golden_ok(lab_model_create(&model, &config, 5, error));
    assert_non_null(model->head.pooler.forward.values);
    assert_non_null(model->head.pooler.backward.values);
    assert_non_null(model->head.classifier.forward.values);
    lab_model_destroy(&model);
}

/* Files without a pooler are read: the model keeps its own. Float64 serves, whole numbers and infinite ones don't. */
static void test_other_files(void **state) {
    (void)state;
    weights own;
    (void)bert_case_folder("plain");
    lab_model *model = model_make(NULL);
    weights_open(&own);
    (void)snprintf(weight_of(&own, "pooler.dense.bias")->name, 128, "other.bias");
    (void)snprintf(weight_of(&own, "pooler.dense.weight")->name, 128, "other.weight");
    lab_array *bias = weight_of(&own, "encoder.layer.0.output.dense.bias");
    double wide[32];
    float narrow[32];
    memcpy(narrow, bias->data, sizeof narrow);
    for (size_t i = 0; i < 32; ++i)
        wide[i] = (double)narrow[i];
    bias->data = wide;
    bias->dtype = LAB_F64;
    weights_write(&own);
    float drawn[32 * 32];
    const lab_parameter *pooler = NULL, *down = NULL;
    for (size_t i = 0; i < lab_model_parameter_count(model); ++i) {
        const lab_parameter *p = lab_model_parameter(model, i);
        pooler = strcmp(p->name, "pooler.weight") == 0 ? p : pooler;
        down = strcmp(p->name, "encoder.0.feed_forward.down.bias") == 0 ? p : down;
    }
    memcpy(drawn, pooler->value, sizeof drawn);
    golden_ok(lab_pretrained_load(model, scratch_path("."), error));
    assert_memory_equal(drawn, pooler->value, sizeof drawn);
    assert_memory_equal(narrow, down->value, sizeof narrow);
    wide[31] = -INFINITY;
    weights_write(&own);
    refuse_load(model, "'encoder.layer.0.output.dense.bias' with numbers that are not finite");
    bias->dtype = LAB_I64;
    weights_write(&own);
    refuse_load(model, "whole numbers");
    lab_safetensors_close(&own.file);
    lab_model_destroy(&model);
}

/* A file that is cut anywhere, whose tensors overlap, or lie outside of it. */
static void test_files_refused(void **state) {
    (void)state;
    char *data = NULL;
    size_t bytes = 0;
    (void)bert_case_folder("plain");
    lab_model *model = model_make(NULL);
    golden_ok(lab_file_read(scratch_path("model.safetensors"), &data, &bytes, error));
    const size_t cuts[] = {0, 7, 8, 100, bytes / 2, bytes - 1};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; ++i) {
        scratch_write("model.safetensors", data, cuts[i]);
        refuse_load(model, "is cut");
    }
    char *offsets = strstr(data + 8, "\"data_offsets\":[128,256]");
    assert_non_null(offsets);
    memcpy(offsets, "\"data_offsets\":[124,252]", 24);
    scratch_write("model.safetensors", data, bytes);
    refuse_load(model, "overlaps another one");
    memcpy(offsets, "\"data_offsets\":[128,256]", 24);
    const char *const last = "\"data_offsets\":[";
    char *place = data + 8, *found = NULL, digits[16];
    (void)snprintf(digits, sizeof digits, ",%zu]",
                   bytes - 8 - (size_t)(unsigned char)data[0] - ((size_t)(unsigned char)data[1] << 8));
    for (char *at = place; (at = strstr(at, last)) != NULL; ++at)
        if (strncmp(strchr(at, ','), digits, strlen(digits)) == 0)
            found = at;
    assert_non_null(found); /* the last tensor, up to the end of the file: now a few bytes beyond, or before */
    char *end = strchr(found, ',') + strlen(digits) - 2;
    *end = (char)(*end == '9' ? '0' : *end + 1);
    scratch_write("model.safetensors", data, bytes);
    refuse_load(model, "has another number of bytes than its shape says");
    free(data);
    lab_model_destroy(&model);
}

static void test_calls_refused(void **state) {
    (void)state;
    lab_model_config words = lab_encoder_decoder.defaults;
    lab_model *model = NULL;
    locus_error failure;
    uint64_t digest = 0;
    words.dim = 16;
    words.heads = 2;
    words.feed_forward = 8;
    golden_ok(lab_model_create(&model, &words, 5, error));
    assert_int_equal(lab_pretrained_load(model, scratch_path("."), &failure), LOCUS_ERROR_UNSUPPORTED);
    lab_model_destroy(&model);
    assert_int_equal(lab_pretrained_digest("/nowhere", &digest, &failure), LOCUS_ERROR_IO);
    scratch_write("model.safetensors", "abc", 3); /* SHA-256: ba7816bf 8f01cfea … */
    golden_ok(lab_pretrained_digest(scratch_path("."), &digest, error));
    assert_true(digest == UINT64_C(0xba7816bf8f01cfea));
}

/* ---- training on ---- */

static const int32_t labels[] = {1, 0, 4, 2};

static void test_gradients(void **state) {
    (void)state;
    golden_file golden;
    bert_case own;
    golden_open(&golden, "bert");
    bert_case_read(&own, &golden, 0);
    own.batch.labels = labels;
    for (int pool = LAB_POOL_FIRST; pool <= LAB_POOL_MEAN; ++pool) {
        char encoding[128];
        lab_model_config config;
        differences_subject subject = {.name = "pretrained", .batch = &own.batch};
        (void)bert_case_folder("plain");
        golden_ok(read_config(&config, "chebyshev(site=output)", encoding, error));
        config.pool = (lab_pool)pool;
        config.head = LAB_HEAD_POOLER;
        config.dropout = config.attention_dropout = 0;
        golden_ok(lab_model_create(&subject.model, &config, 5, error));
        golden_ok(lab_pretrained_load(subject.model, scratch_path("."), error));
        differences_check(&subject);
        lab_model_destroy(&subject.model);
    }
    golden_close(&golden);
}

/* Forty steps downhill: four sequences are learned by heart. */
static void test_tuning(void **state) {
    (void)state;
    golden_file golden;
    bert_case own;
    golden_open(&golden, "bert");
    bert_case_read(&own, &golden, 0);
    own.batch.labels = labels;
    (void)bert_case_folder("plain");
    lab_model *model = model_make("chebyshev(site=output)");
    golden_ok(lab_pretrained_load(model, scratch_path("."), error));
    lab_score score = {0};
    golden_ok(lab_model_evaluate(model, &own.batch, &score, error));
    const double before = score.loss;
    for (uint32_t step = 0; step < 40; ++step) {
        golden_ok(lab_model_train(model, &own.batch, 1, step, &score, error));
        for (size_t i = 0; i < lab_model_elements(model); ++i)
            lab_model_values(model)[i] -= 0.05f * lab_model_gradients(model)[i];
        golden_ok(lab_model_update(model, error));
    }
    golden_ok(lab_model_evaluate(model, &own.batch, &score, error));
    assert_true(score.loss < 0.5 * before);
    assert_int_equal(score.correct, 4);
    lab_model_destroy(&model);
    golden_close(&golden);
}

static int setup(void **state) {
    (void)state;
    (void)bert_case_folder("plain");
    free(config_text);
    config_text = NULL;
    golden_ok(lab_file_read(scratch_path("config.json"), &config_text, &(size_t){0}, error));
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(test_configuration, setup),
                                       cmocka_unit_test_setup(test_configuration_defaults, setup),
                                       cmocka_unit_test_setup(test_configuration_refused, setup),
                                       cmocka_unit_test_setup(test_configuration_bounds, setup),
                                       cmocka_unit_test_setup(test_configuration_unsupported, setup),
                                       cmocka_unit_test_setup(test_configuration_values, setup),
                                       cmocka_unit_test(test_names),
                                       cmocka_unit_test_setup(test_tensors_refused, setup),
                                       cmocka_unit_test_setup(test_leftovers_refused, setup),
                                       cmocka_unit_test_setup(test_rounded_pooler, setup),
                                       cmocka_unit_test_setup(test_other_files, setup),
                                       cmocka_unit_test_setup(test_files_refused, setup),
                                       cmocka_unit_test_setup(test_calls_refused, setup),
                                       cmocka_unit_test_setup(test_gradients, setup),
                                       cmocka_unit_test_setup(test_tuning, setup)};
    const int failed = cmocka_run_group_tests(tests, scratch_create, scratch_remove);
    free(config_text);
    return failed;
}
