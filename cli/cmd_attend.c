/* SPDX-License-Identifier: MIT */
/* locus attend: softmax attention of one sequence with every site of an encoding, and its gradients.
 *
 *   o = attention(q, k, v);   with --grad-output g: dq, dk, dv and the parameters' gradients of Σ g·o
 *
 * Embedding-site terms do not act here: the model dimension is left unset. */
#include "command.h"
#include "encoding_argument.h"
#include "io/file.h"
#include "output.h"
#include "positions_argument.h"

#include <stdlib.h>
#include <string.h>

enum { QUERY, KEY, VALUE, GRAD_OUTPUT, INPUTS };

typedef struct attend_job {
    cli_arguments *arguments;
    cli_encoding encoding;
    cli_position_list query_positions, key_positions;
    lab_array inputs[INPUTS];
    lab_array output, log_sum_exp, gradients[3]; /* of query, key, value */
    locus_tensor *parameter_gradients;           /* [encoding.count], float64 */
    locus_plan *plan;
    size_t prefix;
    bool backward;
} attend_job;

static const char *const input_options[INPUTS] = {"query", "key", "value", "grad-output"};
static const char *const input_layouts[INPUTS] = {"[tokens, heads, head_dim]", "[tokens, heads, head_dim]",
                                                  "[tokens, heads, value_dim]", "[tokens, heads, value_dim]"};

/* ---- reading ---- */

static int check_options(attend_job *job) {
    const cli_arguments *arguments = job->arguments;
    job->backward = cli_text(arguments, "grad-output") != NULL;
    if (job->backward != (cli_text(arguments, "grad-dir") != NULL)) {
        return cli_usage_error("attend: --grad-output and --grad-dir go together");
    }
    bool prefix_mask = strcmp(cli_text(arguments, "mask"), "prefix") == 0;
    if (prefix_mask != cli_given_by_user(arguments, "prefix")) {
        return cli_usage_error("attend: --mask prefix and --prefix N go together");
    }
    int status = 0;
    for (size_t i = QUERY; i <= VALUE && status == 0; i++) {
        status = cli_require(arguments, input_options[i]);
    }
    status = status ? status : cli_require(arguments, "positions");
    return status || job->backward ? status : cli_require(arguments, "output");
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
    for (size_t i = 0; i < INPUTS && wide && status == 0; i++) {
        status = job->inputs[i].data ? cli_array_promote(&job->inputs[i]) : 0;
    }
    return status;
}

/* The dimension `axis` of two inputs must agree. */
static int agree(const attend_job *job, size_t a, size_t b, size_t axis, const char *what) {
    int64_t left = job->inputs[a].shape[axis], right = job->inputs[b].shape[axis];
    if (left == right) {
        return 0;
    }
    return cli_failure("attend: --%s has %lld %s, --%s has %lld", input_options[a], (long long)left, what,
                       input_options[b], (long long)right);
}

static int check_shapes(const attend_job *job) {
    int status = agree(job, QUERY, KEY, 1, "heads");
    status = status ? status : agree(job, QUERY, VALUE, 1, "heads");
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
    if (status == 0 && own) {
        status = cli_positions_read(&job->key_positions, job->arguments, "key-positions", group);
    }
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

/* ---- computing ---- */

static int make_plan(attend_job *job) {
    locus_error error = {.offset = -1};
    const lab_array *in = job->inputs;
    const locus_shape shape = {.heads = (size_t)in[QUERY].shape[1],
                               .head_dim = (size_t)in[QUERY].shape[2],
                               .value_dim = (size_t)in[VALUE].shape[2]};
    locus_positions *queries = NULL, *keys = NULL;
    int status = cli_encoding_bind(&job->encoding, job->arguments, &shape);
    status = status ? status : cli_positions_one_sequence(&queries, &job->query_positions);
    if (status == 0 && job->key_positions.count) {
        status = cli_positions_one_sequence(&keys, &job->key_positions);
    }
    if (status == 0 && locus_plan_create(&job->plan, job->encoding.binding, queries, keys, &error) != LOCUS_OK) {
        status = cli_error(&error);
    }
    locus_positions_destroy(&queries);
    locus_positions_destroy(&keys);
    return status;
}

static locus_attention_options attention_options(const attend_job *job) {
    static const locus_mask masks[] = {LOCUS_MASK_FULL, LOCUS_MASK_CAUSAL, LOCUS_MASK_PREFIX};
    locus_attention_options options = locus_attention_default();
    options.mask = masks[cli_choice(job->arguments, "mask")];
    options.prefix = &job->prefix;
    return options;
}

static int make_outputs(attend_job *job) {
    const lab_array *in = job->inputs;
    const int64_t shape[3] = {in[QUERY].shape[0], in[QUERY].shape[1], in[VALUE].shape[2]};
    int status = cli_array_like(&job->output, in[QUERY].dtype, 3, shape);
    status = status ? status : cli_array_like(&job->log_sum_exp, in[QUERY].dtype, 2, shape);
    for (size_t i = 0; i < 3 && status == 0 && job->backward; i++) {
        status = cli_array_like(&job->gradients[i], in[i].dtype, 3, in[i].shape);
    }
    if (status || !job->backward) {
        return status;
    }
    job->parameter_gradients = calloc(job->encoding.count + 1, sizeof *job->parameter_gradients);
    for (size_t i = 0; job->parameter_gradients && i < job->encoding.count; i++) {
        job->parameter_gradients[i] = job->encoding.values[i];
        job->parameter_gradients[i].data = calloc(locus_tensor_count(&job->encoding.values[i]) + 1, sizeof(double));
        if (!job->parameter_gradients[i].data) {
            return cli_failure("out of memory for the parameters' gradients");
        }
    }
    return job->parameter_gradients ? 0 : cli_failure("out of memory for the parameters' gradients");
}

static int compute(attend_job *job, locus_pass pass) {
    locus_error error = {.offset = -1};
    locus_workspace workspace;
    const locus_attention_options options = attention_options(job);
    locus_tensor in[INPUTS], out = cli_array_tensor(&job->output), sums = cli_array_tensor(&job->log_sum_exp), grad[3];
    for (size_t i = 0; i < INPUTS; i++) {
        in[i] = cli_array_tensor(&job->inputs[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        grad[i] = cli_array_tensor(&job->gradients[i]);
    }
    const locus_attention_tensors tensors = {&in[QUERY], &in[KEY], &in[VALUE], &out, &sums};
    const locus_attention_gradients gradients = {&in[GRAD_OUTPUT],         &grad[0],           &grad[1], &grad[2],
                                                 job->parameter_gradients, job->encoding.count};
    int status = cli_workspace_open(&workspace, locus_attention_workspace(job->plan, &options, in[QUERY].dtype, pass));
    if (status == 0) {
        locus_status done =
            pass == LOCUS_PASS_FORWARD
                ? locus_attention_forward(job->plan, &options, &tensors, workspace, &error)
                : locus_attention_backward(job->plan, &options, &tensors, &gradients, workspace, &error);
        status = done == LOCUS_OK ? 0 : cli_error(&error);
    }
    cli_workspace_close(&workspace);
    return status;
}

/* ---- writing ---- */

static int join_path(char *path, size_t size, const char *folder, const char *name) {
    if ((size_t)snprintf(path, size, "%s/%s", folder, name) >= size) {
        return cli_failure("--grad-dir %s: the path is too long", folder);
    }
    return 0;
}

static int write_parameter_gradients(const attend_job *job, const char *path) {
    locus_error error = {.offset = -1};
    size_t count = job->encoding.count;
    lab_array *arrays = calloc(count + 1, sizeof *arrays);
    int status = arrays ? 0 : cli_failure("out of memory for the parameters' gradients");
    for (size_t i = 0; i < count && status == 0; i++) {
        const locus_tensor *gradient = &job->parameter_gradients[i];
        status = cli_array_like(&arrays[i], LAB_F32, gradient->rank, gradient->shape);
        snprintf(arrays[i].name, sizeof arrays[i].name, "%s", job->encoding.infos[i].name);
        for (size_t j = 0; status == 0 && j < locus_tensor_count(gradient); j++) {
            ((float *)arrays[i].data)[j] = (float)((const double *)gradient->data)[j];
        }
    }
    if (status == 0 && lab_safetensors_write(path, arrays, count, NULL, 0, &error) != LOCUS_OK) {
        status = cli_error(&error);
    }
    for (size_t i = 0; arrays && i < count; i++) {
        lab_array_free(&arrays[i]);
    }
    free(arrays);
    return status;
}

static int write_gradients(const attend_job *job) {
    static const char *const names[3] = {"dq.npy", "dk.npy", "dv.npy"};
    locus_error error = {.offset = -1};
    const char *folder = cli_text(job->arguments, "grad-dir");
    char path[1024];
    if (lab_directory_create(folder, &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    int status = 0;
    for (size_t i = 0; i < 3 && status == 0; i++) {
        status = join_path(path, sizeof path, folder, names[i]);
        status = status ? status : cli_array_write(&job->gradients[i], path);
    }
    status = status ? status : join_path(path, sizeof path, folder, "dparams.safetensors");
    return status ? status : write_parameter_gradients(job, path);
}

static void close_job(attend_job *job) {
    locus_plan_destroy(&job->plan);
    for (size_t i = 0; job->parameter_gradients && i < job->encoding.count; i++) {
        free(job->parameter_gradients[i].data);
    }
    free(job->parameter_gradients);
    for (size_t i = 0; i < 3; i++) {
        lab_array_free(&job->gradients[i]);
    }
    for (size_t i = 0; i < INPUTS; i++) {
        lab_array_free(&job->inputs[i]);
    }
    lab_array_free(&job->log_sum_exp);
    lab_array_free(&job->output);
    cli_positions_free(&job->query_positions);
    cli_positions_free(&job->key_positions);
    cli_encoding_close(&job->encoding);
}

static int run(cli_arguments *arguments) {
    attend_job job = {.arguments = arguments, .prefix = (size_t)cli_integer(arguments, "prefix")};
    int status = check_options(&job);
    status = status ? status : cli_encoding_parse(&job.encoding, arguments->operands[0]);
    status = status ? status : read_inputs(&job);
    status = status ? status : check_shapes(&job);
    status = status ? status : read_positions(&job);
    status = status ? status : make_plan(&job);
    status = status ? status : make_outputs(&job);
    status = status ? status : compute(&job, LOCUS_PASS_FORWARD);
    status = status || !job.backward ? status : compute(&job, LOCUS_PASS_BACKWARD);
    if (status == 0 && cli_text(arguments, "output")) {
        status = cli_array_write(&job.output, cli_text(arguments, "output"));
    }
    status = status || !job.backward ? status : write_gradients(&job);
    close_job(&job);
    return status;
}

static const cli_option options[] = {
    {"query", 'q', CLI_TEXT, "FILE", NULL, "queries, .npy [tokens, heads, head_dim]", 0, 0},
    {"key", 'k', CLI_TEXT, "FILE", NULL, "keys, .npy [tokens, heads, head_dim]", 0, 0},
    {"value", 'v', CLI_TEXT, "FILE", NULL, "values, .npy [tokens, heads, value_dim]", 0, 0},
    {"positions", 'p', CLI_TEXT, "P", NULL,
     "of the queries: 0:100, 0,5,7, grid:4x6, a .npy of integers, or a text file with one path to a line", 0, 0},
    {"key-positions", 0, CLI_TEXT, "P", NULL, "of the keys (default: those of the queries)", 0, 0},
    {"mask", 0, CLI_CHOICE, "full|causal|prefix", NULL, "which keys a query sees (default: full)", 0, 0},
    {"prefix", 0, CLI_INTEGER, "N", NULL, "with --mask prefix: the first N keys are seen by all queries", 0, CLI_MANY},
    {"output", 'o', CLI_TEXT, "FILE", NULL, "the .npy to write (float32)", 0, 0},
    {"grad-output", 0, CLI_TEXT, "FILE", NULL, "gradient of the output, .npy [tokens, heads, value_dim]", 0, 0},
    {"grad-dir", 0, CLI_TEXT, "DIR", NULL, "where dq.npy, dk.npy, dv.npy, dparams.safetensors are written", 0, 0},
    CLI_ENCODING_OPTIONS,
};

const cli_command cli_command_attend = {
    .name = "attend",
    .summary = "computes attention with an encoding, and its gradients",
    .operands = "SPEC",
    .details = "Terms that act on the embedding are ignored. float64 input is computed in float64.",
    .examples = "locus attend rope --query q.npy --key k.npy --value v.npy --positions 0:100 --mask causal -o o.npy\n",
    .shared = CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
