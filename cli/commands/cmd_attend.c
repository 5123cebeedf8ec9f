/* SPDX-License-Identifier: MIT */
/* locus attend: attention of one sequence with every site of an encoding, and its gradients.
 *
 *   o = attention(q, k, v);   with --grad-output g: dq, dk, dv, the bias's and the parameters' gradients of Σ g·o
 *   --weights: the weights of every pair, before they meet the values
 *
 * Keys and values may have fewer heads than queries (grouped-query attention), values another dimension. What options
 * leave open is what a term `scores` of the encoding says, or the library's default.
 *
 * Terms at the embedding do not act here: the model dimension is left unset. */
#include "attend_arguments.h"
#include "command.h"
#include "encoding_argument.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "output.h"
#include "stop.h"

#include <stdlib.h>
#include <string.h>

enum { QUERY, KEY, VALUE, GRAD_OUTPUT, INPUTS };
enum { BIAS_GRADIENT = 3, GRADIENTS }; /* behind those of query, key, value */

typedef struct attend_job {
    cli_arguments *arguments;
    lab_bound encoding;
    lab_position_list query_positions, key_positions;
    lab_array inputs[INPUTS];
    lab_array bias, weights;                     /* [heads, n, m]; the bias may be 1 in places; NULL data: none */
    lab_array output, log_sum_exp, gradients[4]; /* of query, key, value, bias */
    locus_tensor *parameter_gradients;           /* [encoding.count], float64 */
    locus_plan *plan;
    locus_attention_kind *kind;
    size_t prefix;
    int32_t *documents[2]; /* of queries and keys; NULL: one document */
    bool backward;
} attend_job;

static const char *const input_options[INPUTS] = {"query", "key", "value", "grad-output"};
static const char *const input_layouts[INPUTS] = {"[tokens, heads, head_dim]", "[tokens, kv_heads, head_dim]",
                                                  "[tokens, kv_heads, value_dim]", "[tokens, heads, value_dim]"};

/* ---- reading ---- */

/* Numbers that must be above 0, and options that go with others only. */
static int check_scores(const attend_job *job) {
    static const char *const positive[] = {"scale", "cap"}, *const of_scores[] = {"cap", "window", "documents", "bias",
                                                                                  "weights"};
    const cli_arguments *arguments = job->arguments;
    for (size_t i = 0; i < 2; i++) {
        if (cli_given_by_user(arguments, positive[i]) && !(cli_number(arguments, positive[i]) > 0)) {
            return cli_usage_error("attend: --%s must be above 0, not %s", positive[i],
                                   cli_text(arguments, positive[i]));
        }
    }
    for (size_t i = 0; i < sizeof of_scores / sizeof *of_scores; i++) {
        int status = cli_attention_need_scores(arguments, job->kind, of_scores[i]);
        if (status)
            return status;
    }
    if (cli_given_by_user(arguments, "keep") && !cli_given_by_user(arguments, "window") &&
        !strstr(arguments->operands[0], "window="))
        return cli_usage_error("attend: --keep goes with --window: without one every key is seen");
    return cli_given_by_user(arguments, "key-documents") && !cli_given_by_user(arguments, "documents")
               ? cli_usage_error("attend: --key-documents goes with --documents")
               : 0;
}

static int check_options(attend_job *job) {
    const cli_arguments *arguments = job->arguments;
    job->backward = cli_text(arguments, "grad-output") != NULL;
    if (job->backward != (cli_text(arguments, "grad-dir") != NULL))
        return cli_usage_error("attend: --grad-output and --grad-dir go together");
    bool prefix_mask = strcmp(cli_text(arguments, "mask"), "prefix") == 0;
    if (prefix_mask != cli_given_by_user(arguments, "prefix"))
        return cli_usage_error("attend: --mask prefix and --prefix N go together");
    int status = cli_attention_read(arguments, &job->kind);
    status = status ? status : check_scores(job);
    for (size_t i = QUERY; i <= VALUE && status == 0; i++)
        status = cli_require(arguments, input_options[i]);
    status = status ? status : cli_require(arguments, "positions");
    return status || job->backward || cli_text(arguments, "weights") ? status : cli_require(arguments, "output");
}

static int read_inputs(attend_job *job) {
    bool wide = false;
    int status = 0;
    for (size_t i = 0; i < INPUTS && status == 0; i++) {
        const char *path = cli_text(job->arguments, input_options[i]);
        if (path) {
            status = cli_array_read(&job->inputs[i], input_options[i], path, 3, input_layouts[i]);
            wide = wide || job->inputs[i].dtype == LAB_F64;
        }
    }
    for (size_t i = 0; i < INPUTS && wide && status == 0; i++)
        if (job->inputs[i].data && lab_array_widen(&job->inputs[i], &cli_fault) != LOCUS_OK)
            status = cli_error(&cli_fault);
    return status;
}

/* The dimension `axis` of two inputs must agree. */
static int agree(const attend_job *job, size_t a, size_t b, size_t axis, const char *what) {
    int64_t left = job->inputs[a].shape[axis], right = job->inputs[b].shape[axis];
    if (left == right)
        return 0;
    return cli_failure("attend: --%s has %lld %s, --%s has %lld", input_options[a], (long long)left, what,
                       input_options[b], (long long)right);
}

/* Each head of keys and values serves as many heads of queries. */
static int check_heads(const attend_job *job) {
    int64_t heads = job->inputs[QUERY].shape[1], shared = job->inputs[KEY].shape[1];
    if (heads % shared != 0) {
        return cli_failure(
            "attend: --query has %lld heads, --key has %lld: the heads of keys must divide those of queries",
            (long long)heads, (long long)shared);
    }
    return agree(job, KEY, VALUE, 1, "heads");
}

static int check_shapes(const attend_job *job) {
    int status = check_heads(job);
    status = status ? status : agree(job, QUERY, KEY, 2, "dimensions in a head");
    status = status ? status : agree(job, KEY, VALUE, 0, "tokens");
    if (job->backward) {
        status = status ? status : agree(job, QUERY, GRAD_OUTPUT, 0, "tokens");
        status = status ? status : agree(job, QUERY, GRAD_OUTPUT, 1, "heads");
        status = status ? status : agree(job, VALUE, GRAD_OUTPUT, 2, "dimensions in a head");
    }
    return status;
}

static int read_positions(attend_job *job) {
    bool own = cli_text(job->arguments, "key-positions") != NULL;
    const locus_group *group = locus_encoding_group(job->encoding.encoding);
    int status = cli_positions_read(&job->query_positions, job->arguments, "positions", group);
    if (status == 0 && own)
        status = cli_positions_read(&job->key_positions, job->arguments, "key-positions", group);
    const size_t counts[2] = {job->query_positions.count, own ? job->key_positions.count : job->query_positions.count};
    for (size_t i = 0; i < 2 && status == 0; i++) {
        if ((size_t)job->inputs[i].shape[0] != counts[i]) {
            status = cli_failure("attend: --%s has %lld tokens, --%s has %zu positions%s", input_options[i],
                                 (long long)job->inputs[i].shape[0], i && own ? "key-positions" : "positions",
                                 counts[i], i && !own ? "; give the keys their own with --key-positions" : "");
        }
    }
    return status;
}

/* One sequence: all queries against all keys. */
static int read_bias(attend_job *job) {
    const char *path = cli_text(job->arguments, "bias");
    const lab_array *in = job->inputs;
    return path ? cli_bias_read(&job->bias, path, in[QUERY].shape[1], in[QUERY].shape[0], in[KEY].shape[0]) : 0;
}

/* ---- documents ---- */

static int narrow_documents(const lab_array *array, const char *path, size_t tokens, int32_t **documents) {
    if ((array->dtype != LAB_I32 && array->dtype != LAB_I64) || array->rank != 1)
        return cli_failure("attend: %s: must be int32 or int64, [tokens]", path);
    if ((size_t)array->shape[0] != tokens) {
        return cli_failure("attend: %s names the documents of %lld tokens, not of %zu", path,
                           (long long)array->shape[0], tokens);
    }
    if (!(*documents = calloc(tokens + 1, sizeof **documents)))
        return cli_failure("out of memory for the documents of %zu tokens", tokens);
    for (size_t i = 0; i < tokens; i++) {
        const int64_t value = lab_array_integer(array, i);
        if (value < INT32_MIN || value > INT32_MAX)
            return cli_failure("attend: %s: document %lld of token %zu is out of range", path, (long long)value, i);
        (*documents)[i] = (int32_t)value;
    }
    return 0;
}

/* Keys are of the queries' documents where they are the queries' tokens. */
static int read_documents(attend_job *job) {
    const char *paths[2] = {cli_text(job->arguments, "documents"), cli_text(job->arguments, "key-documents")};
    int status = 0;
    if (paths[0] && !paths[1] && cli_text(job->arguments, "key-positions"))
        return cli_usage_error("attend: keys with positions of their own need --key-documents, too");
    for (size_t i = 0; paths[0] && i < 2 && status == 0; i++) {
        const char *path = paths[i] ? paths[i] : paths[0];
        lab_array array = {0};
        status = cli_done(lab_npy_read(&array, path, &cli_fault));
        status = status ? status : narrow_documents(&array, path, (size_t)job->inputs[i].shape[0], &job->documents[i]);
        lab_array_free(&array);
    }
    return status;
}

/* ---- computing ---- */

static int make_plan(attend_job *job) {
    const lab_array *in = job->inputs;
    const locus_shape shape = {.heads = (size_t)in[QUERY].shape[1],
                               .head_dim = (size_t)in[QUERY].shape[2],
                               .value_dim = (size_t)in[VALUE].shape[2],
                               .kv_heads = (size_t)in[KEY].shape[1]};
    locus_positions *queries = NULL, *keys = NULL;
    int status = cli_encoding_bind(&job->encoding, job->arguments, &shape);
    status = status ? status : cli_done(lab_positions_one_sequence(&queries, &job->query_positions, &cli_fault));
    if (status == 0 && job->key_positions.count)
        status = cli_done(lab_positions_one_sequence(&keys, &job->key_positions, &cli_fault));
    status = status ? status : cli_encoding_plan(&job->encoding, queries, keys, &job->plan);
    locus_positions_destroy(&queries);
    locus_positions_destroy(&keys);
    return status;
}

/* `bias` is that of the job as a tensor, which the options refer to. */
static locus_attention_options attention_options(const attend_job *job, locus_tensor *bias) {
    static const locus_mask masks[] = {LOCUS_MASK_FULL, LOCUS_MASK_CAUSAL, LOCUS_MASK_PREFIX};
    locus_attention_options options = locus_attention_default();
    options.mask = masks[cli_choice(job->arguments, "mask")];
    options.prefix = &job->prefix;
    options.kind = job->kind;
    options.scale = cli_number(job->arguments, "scale");
    options.cap = cli_number(job->arguments, "cap");
    options.window = (size_t)cli_integer(job->arguments, "window");
    options.keep = (size_t)cli_integer(job->arguments, "keep");
    options.query_documents = job->documents[0];
    options.key_documents = job->documents[1];
    *bias = lab_array_tensor(&job->bias);
    options.bias = job->bias.data ? bias : NULL;
    return options;
}

static int make_outputs(attend_job *job) {
    const lab_array *in = job->inputs;
    const int64_t shape[3] = {in[QUERY].shape[0], in[QUERY].shape[1], in[VALUE].shape[2]};
    int status = cli_array_like(&job->output, in[QUERY].dtype, 3, shape);
    status = status ? status : cli_array_like(&job->log_sum_exp, in[QUERY].dtype, 2, shape);
    if (status == 0 && cli_text(job->arguments, "weights")) {
        const int64_t pairs[3] = {in[QUERY].shape[1], in[QUERY].shape[0], in[KEY].shape[0]};
        status = cli_array_like(&job->weights, LAB_F32, 3, pairs);
    }
    if (status == 0 && job->backward && job->bias.data)
        status = cli_array_like(&job->gradients[BIAS_GRADIENT], LAB_F32, job->bias.rank, job->bias.shape);
    for (size_t i = 0; i < 3 && status == 0 && job->backward; i++)
        status = cli_array_like(&job->gradients[i], in[i].dtype, 3, in[i].shape);
    if (status || !job->backward)
        return status;
    return cli_done(lab_bound_gradients(&job->encoding, &job->parameter_gradients, &cli_fault));
}

static int compute(attend_job *job) {
    locus_tensor bias, in[INPUTS], out = lab_array_tensor(&job->output), sums = lab_array_tensor(&job->log_sum_exp);
    locus_tensor grad[GRADIENTS], weights = lab_array_tensor(&job->weights);
    const locus_attention_options options = attention_options(job, &bias);
    const locus_execution how = cli_execution();
    for (size_t i = 0; i < INPUTS; i++)
        in[i] = lab_array_tensor(&job->inputs[i]);
    for (size_t i = 0; i < GRADIENTS; i++)
        grad[i] = lab_array_tensor(&job->gradients[i]);
    const locus_attention_tensors tensors = {sizeof tensors, &in[QUERY], &in[KEY], &in[VALUE], &out, &sums};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &in[GRAD_OUTPUT],
                                                 .query = &grad[0],
                                                 .key = &grad[1],
                                                 .value = &grad[2],
                                                 .parameters = job->parameter_gradients,
                                                 .parameter_count = job->encoding.count,
                                                 .bias = job->bias.data ? &grad[BIAS_GRADIENT] : NULL};
    const locus_attention_weights_call call = {
        .size = sizeof call, .query = &in[QUERY], .key = &in[KEY], .weights = &weights};
    locus_status done = lab_attend(job->plan, &options, &tensors, &how, &cli_fault);
    if (done == LOCUS_OK && job->backward)
        done = lab_plan_backward(job->plan, &options, &tensors, &gradients, &how, &cli_fault);
    if (done == LOCUS_OK && job->weights.data)
        done = lab_plan_weights(job->plan, &options, &call, &how, &cli_fault);
    return done == LOCUS_OK ? 0 : cli_call_failed(&cli_fault);
}

/* ---- writing ---- */

enum { PATH_BYTES = 1024 };

/* Of a folder that check_results found short enough. */
static void join_path(char path[PATH_BYTES], const char *folder, const char *name) {
    (void)snprintf(path, PATH_BYTES, "%s/%s", folder, name);
}

static int write_parameter_gradients(const attend_job *job, const char *path) {
    size_t count = job->encoding.count;
    lab_array *arrays = calloc(count + 1, sizeof *arrays);
    int status = arrays ? 0 : cli_failure("out of memory for the parameters' gradients");
    for (size_t i = 0; i < count && status == 0; i++) {
        const locus_tensor *gradient = &job->parameter_gradients[i];
        status = cli_array_like(&arrays[i], LAB_F32, gradient->rank, gradient->shape);
        snprintf(arrays[i].name, sizeof arrays[i].name, "%s", job->encoding.infos[i].name);
        for (size_t j = 0; status == 0 && j < locus_tensor_count(gradient); j++)
            ((float *)arrays[i].data)[j] = (float)((const double *)gradient->data)[j];
    }
    status = status ? status : cli_done(lab_safetensors_write(path, arrays, count, NULL, 0, &cli_fault));
    for (size_t i = 0; arrays && i < count; i++)
        lab_array_free(&arrays[i]);
    free(arrays);
    return status;
}

static const char *const gradient_names[GRADIENTS] = {"dq.npy", "dk.npy", "dv.npy", "dbias.npy"};
static const char parameters_name[] = "dparams.safetensors"; /* the longest */

/* Before anything is written. */
static int check_results(const attend_job *job) {
    const char *output = cli_text(job->arguments, "output");
    const char *folder = cli_text(job->arguments, "grad-dir");
    int status = cli_array_check(&job->output, output ? output : "the output");
    if (status == 0 && job->weights.data)
        status = cli_array_check(&job->weights, cli_text(job->arguments, "weights"));
    for (size_t i = 0; i < GRADIENTS && job->backward && status == 0; i++)
        status = job->gradients[i].data ? cli_array_check(&job->gradients[i], gradient_names[i]) : 0;
    if (status == 0 && job->backward && strlen(folder) + 1 + sizeof parameters_name > PATH_BYTES)
        status = cli_failure("--grad-dir %s: the path is too long", folder);
    return status;
}

static int write_gradients(const attend_job *job) {
    const char *folder = cli_text(job->arguments, "grad-dir");
    char path[PATH_BYTES];
    if (lab_directory_create(folder, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    int status = 0;
    for (size_t i = 0; i < GRADIENTS && status == 0; i++) {
        if (!job->gradients[i].data)
            continue;
        join_path(path, folder, gradient_names[i]);
        status = cli_array_write(&job->gradients[i], path);
    }
    join_path(path, folder, parameters_name);
    return status ? status : write_parameter_gradients(job, path);
}

static int write_results(const attend_job *job) {
    const char *output = cli_text(job->arguments, "output");
    int status = output ? cli_array_write(&job->output, output) : 0;
    if (status == 0 && job->weights.data)
        status = cli_array_write(&job->weights, cli_text(job->arguments, "weights"));
    return status || !job->backward ? status : write_gradients(job);
}

static void close_job(attend_job *job) {
    locus_plan_destroy(&job->plan);
    locus_attention_kind_destroy(&job->kind);
    lab_bound_gradients_free(&job->encoding, &job->parameter_gradients);
    for (size_t i = 0; i < GRADIENTS; i++)
        lab_array_free(&job->gradients[i]);
    lab_array_free(&job->bias);
    lab_array_free(&job->weights);
    for (size_t i = 0; i < INPUTS; i++)
        lab_array_free(&job->inputs[i]);
    free(job->documents[0]);
    free(job->documents[1]);
    lab_array_free(&job->log_sum_exp);
    lab_array_free(&job->output);
    lab_position_list_free(&job->query_positions);
    lab_position_list_free(&job->key_positions);
    lab_bound_close(&job->encoding);
}

static int run(cli_arguments *arguments) {
    attend_job job = {.arguments = arguments, .prefix = (size_t)cli_integer(arguments, "prefix")};
    int status = check_options(&job);
    status = status ? status : cli_encoding_read(&job.encoding, arguments);
    status = status ? status : read_inputs(&job);
    status = status ? status : check_shapes(&job);
    status = status ? status : read_positions(&job);
    status = status ? status : read_documents(&job);
    status = status ? status : read_bias(&job);
    cli_stop_catch(); /* until all is written: then all of it or nothing is */
    status = status ? status : make_plan(&job);
    status = status ? status : make_outputs(&job);
    status = status ? status : compute(&job);
    status = status ? status : check_results(&job);
    status = status ? status : write_results(&job);
    (void)cli_stop_asked(); /* too late: what it would have stopped is done */
    cli_stop_release();
    close_job(&job);
    return status;
}

static const cli_option options[] = {
    CLI_ROW_TEXT("query", 'q', "FILE", "queries, .npy [tokens, heads, head_dim]"),
    CLI_ROW_TEXT("key", 'k', "FILE", "keys, .npy [tokens, kv_heads, head_dim]"),
    CLI_ROW_TEXT("value", 'v', "FILE", "values, .npy [tokens, kv_heads, value_dim]"),
    CLI_ROW_TEXT(
        "positions", 'p', "P",
        "of the queries: 0:100, 0,5,7, 0.5,1.25, grid:4x6, a .npy of numbers, or a text file, one path to a line"),
    CLI_ROW_TEXT("key-positions", 0, "P", "of the keys (default: those of the queries)"),
    CLI_ROW_CHOICE("mask", "full|causal|prefix", "which keys a query sees (default: full)"),
    {"prefix", 0, CLI_INTEGER, "N", NULL, "with --mask prefix: the first N keys are seen by all queries", 0, CLI_MANY},
    {"scale", 0, CLI_NUMBER, "X", NULL, "of the products (default: 1/sqrt(head_dim))", 0, 0},
    {"cap", 0, CLI_NUMBER, "X", NULL, "soft cap: cap·tanh(s/cap) of the scaled product", 0, 0},
    {"window", 0, CLI_INTEGER, "N", NULL, "a query sees keys fewer than N tokens away, by index", 1, CLI_MANY},
    {"keep", 0, CLI_INTEGER, "N", NULL, "with a window: the first N keys are seen all the same", 1, CLI_MANY},
    CLI_ROW_TEXT(
        "documents", 0, "FILE",
        "a query sees the keys of its own document: .npy of integers, [tokens]; tokens of one stand side by side"),
    CLI_ROW_TEXT("key-documents", 0, "FILE", "of the keys (default: those of the queries)"),
    CLI_ROW_TEXT("bias", 0, "FILE",
                 "added to the scores: .npy [heads, queries, keys] or [queries, keys], 1 where one serves all; -inf "
                 "hides a key"),
    CLI_ROW_TEXT("attention", 0, "KIND", "how weights are made: linear, 'soft(landmarks=32)', … (default: softmax)"),
    {"landmarks", 0, CLI_INTEGER, "N", NULL, "the same as --attention 'soft(landmarks=N)'", 1, CLI_MANY},
    {"clusters", 0, CLI_INTEGER, "N", NULL, "the same as --attention 'clustered(clusters=N)'", 1, CLI_MANY},
    {"iterations", 0, CLI_INTEGER, "N", NULL, "likewise, of soft or clustered attention", 1, CLI_MANY},
    CLI_ROW_TEXT("output", 'o', "FILE", "the .npy to write (float32)"),
    CLI_ROW_TEXT("weights", 0, "FILE", "writes the attention weights, .npy [heads, queries, keys] (float32)"),
    CLI_ROW_TEXT("grad-output", 0, "FILE", "gradient of the output, .npy [tokens, heads, value_dim]"),
    CLI_ROW_TEXT("grad-dir", 0, "DIR", "where dq.npy, dk.npy, dv.npy, dparams.safetensors (and dbias.npy) are written"),
    CLI_ENCODING_OPTIONS,
    CLI_LAYER_OPTION,
};

const cli_command cli_command_attend = {
    .name = "attend",
    .summary = "computes attention with an encoding, and its gradients",
    .operands = "SPEC",
    .details =
        "Keys and values may have fewer heads than queries, a divisor of theirs: query head h goes with key head h / "
        "(heads / kv_heads). Values may have another dimension than keys. What the options leave open is what a term "
        "'scores' of SPEC says. A score is scaled, capped, then multiplied with factors, then biases are added, "
        "SPEC's and --bias, then masks, windows and documents hide keys. --weights gives what the softmax makes of "
        "them: rows sum to 1, or to less by the share of a sink.\n\n"
        "--attention linear (Katharopoulos et al. 2020), soft (Lu et al. 2021) and clustered (Vyas et al. 2020) take "
        "operators on queries and keys; biases and factors on scores need softmax. SPEC may be a pattern over layers, "
        "with --layer. Terms that act on the embedding are ignored. float64 input is computed in float64.",
    .examples =
        "locus attend rope --query q.npy --key k.npy --value v.npy --positions 0:100 --mask causal -o o.npy\n"
        "locus attend 'rope(pairs=half)' --query q.npy --key k.npy --value v.npy --positions 0:4096 --mask causal "
        "--window 1024 --cap 50 -o o.npy\n",
    .shared = CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
