/* SPDX-License-Identifier: MIT */
/* The function that XLA calls on the CPU: attention, one site, and their gradients. locus/jax/xla.py writes what it
 * is told, two texts: `plan` (xla_plans.hpp) and `call`,
 *
 *   call       forward, backward, apply, apply_backward
 *   operands   a letter for each: q k v; o output, l log-sum-exp, g and h their gradients; t tensor of one site;
 *              x positions, y those of keys, c offsets (cumulative lengths), d those of keys; b bias; s seed;
 *              p parameter, as often as there are any. A capital has a leading axis that is looped over
 *   results    letters likewise: what is wanted. With a loop all of them have its axis
 *   loops      0: none
 *   causal, scale, dropout, role, inverse
 *
 * Results have the same bits on any thread and however many calls run at once. */
#include "xla_plans.hpp"

#include <cctype>
#include <chrono>
#include <cstring>

namespace xla {

enum class What { forward, backward, apply, apply_backward };

struct CallSite {
    What what = What::forward;
    std::string operands, results;
    size_t loops = 0;
    locus_attention_options options = locus_attention_default();
    locus_role role = LOCUS_ROLE_QUERY;
    locus_direction direction = LOCUS_FORWARD;

    static std::shared_ptr<CallSite> make(const Said &said, locus_error *error);
};

std::shared_ptr<CallSite> CallSite::make(const Said &said, locus_error *error) {
    static const char *const names[] = {"forward", "backward", "apply", "apply_backward"};
    auto site = std::make_shared<CallSite>();
    int what = 0;
    while (what < 4 && said.text("call") != names[what])
        what++;
    if (what == 4) {
        (void)fail(error, LOCUS_ERROR_ARGUMENT, "there is no call '%s'", said.text("call").c_str());
        return nullptr;
    }
    site->what = static_cast<What>(what);
    site->operands = said.text("operands");
    site->results = said.text("results");
    site->loops = static_cast<size_t>(said.number("loops"));
    site->options.mask = said.number("causal") ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
    site->options.scale = said.real("scale");
    site->options.dropout = said.real("dropout");
    site->role = static_cast<locus_role>(said.number("role"));
    site->direction = said.number("inverse") ? LOCUS_INVERSE : LOCUS_FORWARD;
    return site;
}

/* Never let go of: XLA's threads may be at work while the process ends. */
static Known<CallSite> &sites = *new Known<CallSite>;
static Known<PlanSource> &sources = *new Known<PlanSource>;

/* ---- memory of the calling thread ---- */

class Scratch {
  public:
    ~Scratch() {
        locus_release(data, bytes);
    }
    locus_status lend(size_t wanted, locus_workspace *workspace, locus_error *error) {
        if (bytes < wanted) {
            locus_release(data, bytes);
            data = locus_allocate(wanted);
            bytes = data ? wanted : 0;
        }
        *workspace = {data, bytes};
        if (wanted && !data)
            return fail(error, LOCUS_ERROR_MEMORY, "out of memory for %zu bytes of workspace", wanted);
        return LOCUS_OK;
    }
    /* What is large is not kept. */
    void rest() {
        if (bytes > most) {
            locus_release(data, bytes);
            data = nullptr;
            bytes = 0;
        }
    }

  private:
    static constexpr size_t most = size_t{16} << 20;
    void *data = nullptr;
    size_t bytes = 0;
};
static thread_local Scratch thread_scratch;

/* ---- Ctrl-C ---- */

static int raise_again(void *raised) {
    PyErr_SetObject(PyExceptionInstance_Class(static_cast<PyObject *>(raised)), static_cast<PyObject *>(raised));
    Py_DECREF(static_cast<PyObject *>(raised));
    return -1;
}

/* In the main thread, as soon as Python runs there again. */
static void raise_later(const nb::python_error &raised) {
    if (Py_AddPendingCall(raise_again, nb::borrow(raised.value()).release().ptr()) != 0)
        PyErr_SetInterrupt(); /* too much is pending; the reference is lost, the signal is not */
}

/* Asks for signals while a call runs on Python's main thread, where XLA runs what is called and waited for; the other
 * threads cannot know of any. What a signal's handler raises is raised again as soon as Python goes on, behind XLA's
 * own error, that the call was cancelled. */
class Asking {
  public:
    explicit Asking(locus_execution *execution) {
        if (PyThread_get_thread_ident() == main_thread) {
            execution->cancelled = cancelled;
            execution->context = this;
        }
    }
    static unsigned long main_thread;

  private:
    using Clock = std::chrono::steady_clock;
    std::atomic<bool> stop{false};
    Clock::time_point asked = Clock::now();

    void ask() {
        nb::gil_scoped_acquire held;
        if (PyErr_CheckSignals() == 0)
            return;
        raise_later(nb::python_error());
        stop.store(true, std::memory_order_relaxed);
    }
    static int32_t cancelled(void *context) {
        Asking *own = static_cast<Asking *>(context);
        if (PyThread_get_thread_ident() == main_thread && !own->stop.load(std::memory_order_relaxed) &&
            Clock::now() - own->asked >= std::chrono::milliseconds(20)) {
            own->ask();
            own->asked = Clock::now();
        }
        return own->stop.load(std::memory_order_relaxed);
    }
};
unsigned long Asking::main_thread;

/* ---- one turn of a call ---- */

class Turn {
  public:
    Turn(const CallSite &site, PlanSource &source, locus_error *error)
        : site(site), source(source), error(error), asking(&execution) {}
    locus_status take(const Frame &frame, size_t number);
    locus_status run();

  private:
    const CallSite &site;
    PlanSource &source;
    locus_error *error;
    std::vector<Part> operands, results;
    std::shared_ptr<const KeptPlan> kept;
    locus_attention_options options = locus_attention_default();
    locus_tensor bias{};
    locus_execution execution = locus_execution_default();
    Asking asking;

    const Part *operand(char letter) const {
        return find(site.operands, operands, letter);
    }
    const Part *result(char letter) const {
        return find(site.results, results, letter);
    }
    static const Part *find(const std::string &letters, const std::vector<Part> &parts, char letter);
    locus_status operand_tensor(char letter, const char *name, locus_tensor *tensor) const;
    locus_status result_tensor(char letter, const char *name, locus_tensor *tensor, const locus_tensor **wanted) const;
    locus_status plan();
    void clear_gaps() const;
    locus_status say_options();
    locus_status parameter_gradients(std::vector<locus_tensor> *tensors) const;
    locus_status forward();
    locus_status backward();
    locus_status apply();
    locus_status apply_backward();
};

static locus_status part_of(const void *item, bool looped, size_t turn, size_t loops, Part *part, locus_error *error) {
    const Buffer &buffer = *static_cast<const Buffer *>(item);
    const int64_t skipped = looped ? 1 : 0;
    if (buffer.rank - skipped > LOCUS_MAX_RANK + 1 || buffer.rank < skipped ||
        (looped && buffer.shape[0] != static_cast<int64_t>(loops)))
        return fail(error, LOCUS_ERROR_SHAPE, "an array of %lld dimensions does not go with the call",
                    static_cast<long long>(buffer.rank));
    part->element = buffer.element;
    part->rank = static_cast<size_t>(buffer.rank - skipped);
    for (size_t i = 0; i < part->rank; i++)
        part->shape[i] = buffer.shape[i + static_cast<size_t>(skipped)];
    static const struct {
        int32_t element;
        size_t bytes;
    } sizes[] = {{S32, 4}, {S64, 8}, {U8, 1}, {U32, 4}, {F16, 2}, {F32, 4}, {F64, 8}, {BF16, 2}};
    for (const auto &each : sizes)
        if (each.element == part->element)
            part->bytes = part->count() * each.bytes;
    part->data = static_cast<char *>(buffer.data) + (looped ? turn * part->bytes : 0);
    return LOCUS_OK;
}

locus_status Turn::take(const Frame &frame, size_t number) {
    const struct {
        const Buffers &from;
        const std::string &letters;
        std::vector<Part> &to;
        bool result;
    } both[] = {{frame.arguments, site.operands, operands, false}, {frame.results, site.results, results, true}};
    for (const auto &each : both) {
        if (each.from.count != static_cast<int64_t>(each.letters.size()))
            return fail(error, LOCUS_ERROR_ARGUMENT, "a call has %lld arrays instead of %zu",
                        static_cast<long long>(each.from.count), each.letters.size());
        each.to.assign(each.letters.size(), Part());
        for (size_t i = 0; i < each.letters.size(); i++) {
            const bool looped =
                site.loops && (each.result || std::isupper(static_cast<unsigned char>(each.letters[i])));
            const locus_status status = part_of(each.from.items[i], looped, number, site.loops, &each.to[i], error);
            if (status != LOCUS_OK)
                return status;
        }
    }
    return LOCUS_OK;
}

const Part *Turn::find(const std::string &letters, const std::vector<Part> &parts, char letter) {
    for (size_t i = 0; i < letters.size(); i++)
        if (std::tolower(static_cast<unsigned char>(letters[i])) == letter)
            return &parts[i];
    return nullptr;
}

locus_status Turn::operand_tensor(char letter, const char *name, locus_tensor *tensor) const {
    const Part *part = operand(letter);
    return part ? part->tensor(name, tensor, error) : fail(error, LOCUS_ERROR_ARGUMENT, "a call has no %s", name);
}

locus_status Turn::result_tensor(char letter, const char *name, locus_tensor *tensor,
                                 const locus_tensor **wanted) const {
    const Part *part = result(letter);
    *wanted = part ? tensor : nullptr;
    return part ? part->tensor(name, tensor, error) : LOCUS_OK;
}

/* The plan of this turn's positions and parameters. */
locus_status Turn::plan() {
    const bool attention = site.what == What::forward || site.what == What::backward;
    const Part *query = operand(attention ? 'q' : 't'), *key = operand(attention ? 'k' : 't');
    const bool vectors = site.role == LOCUS_ROLE_TOKEN || site.role == LOCUS_ROLE_ENCODED;
    const size_t apart = !attention && vectors ? 3 : 4;
    if (!query || !key || query->rank < apart - 1 || query->rank > apart || key->rank != query->rank)
        return fail(error, LOCUS_ERROR_SHAPE, "tensors of tokens must be packed, or have their sequences apart");
    Wanted wanted;
    wanted.batch = query->rank == apart ? query->shape[0] : 0;
    const size_t axis = query->rank == apart ? apart - 2 : 0;
    wanted.queries = query->shape[axis];
    wanted.keys = key->shape[axis];
    wanted.places = operand('x');
    wanted.key_places = operand('y');
    wanted.offsets = operand('c');
    wanted.key_offsets = operand('d');
    for (size_t i = 0; i < operands.size(); i++)
        if (std::tolower(static_cast<unsigned char>(site.operands[i])) == 'p')
            wanted.parameters.push_back(&operands[i]);
    wanted.execution = &execution;
    if (query->rank == apart && wanted.batch == 0)
        return LOCUS_OK; /* there is nothing to do */
    kept = source.plan(wanted, error);
    return kept ? LOCUS_OK : error->status;
}

/* What belongs to no sequence is 0: the library leaves it alone. Gradients of parameters are added to. */
void Turn::clear_gaps() const {
    for (size_t i = 0; i < results.size(); i++)
        if (!kept || kept->gaps || site.results[i] == 'p')
            std::memset(results[i].data, 0, results[i].bytes);
}

locus_status Turn::say_options() {
    options = site.options;
    if (operand('b')) {
        const locus_status status = operand_tensor('b', "bias", &bias);
        if (status != LOCUS_OK)
            return status;
        options.bias = &bias;
    }
    if (const Part *seed = operand('s')) {
        uint64_t bits = 0;
        std::memcpy(&bits, seed->data, std::min(sizeof bits, seed->bytes));
        options.dropout_key = {bits, LOCUS_RANDOM_USER, 0};
    }
    return LOCUS_OK;
}

locus_status Turn::parameter_gradients(std::vector<locus_tensor> *tensors) const {
    for (size_t i = 0; i < results.size(); i++) {
        if (site.results[i] != 'p')
            continue;
        tensors->emplace_back();
        const locus_status status = results[i].tensor("a parameter's gradient", &tensors->back(), error);
        if (status != LOCUS_OK)
            return status;
    }
    return LOCUS_OK;
}

#define TRY(call) \
    do { \
        const locus_status tried = (call); \
        if (tried != LOCUS_OK) \
            return tried; \
    } while (0)

locus_status Turn::forward() {
    locus_tensor q, k, v, output, sums;
    const locus_tensor *to, *of_sums;
    TRY(operand_tensor('q', "q", &q));
    TRY(operand_tensor('k', "k", &k));
    TRY(operand_tensor('v', "v", &v));
    TRY(result_tensor('o', "the output", &output, &to));
    TRY(result_tensor('l', "the log-sum-exp", &sums, &of_sums));
    TRY(say_options());
    const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &v, to, of_sums};
    const size_t bytes = locus_attention_workspace(kept->plan.p, &options, q.dtype, LOCUS_PASS_FORWARD, &execution);
    TRY(thread_scratch.lend(bytes, &execution.workspace, error));
    return locus_attention_forward(kept->plan.p, &options, &tensors, &execution, error);
}

locus_status Turn::backward() {
    locus_tensor q, k, v, output, sums, upstream, of_sums, dq, dk, dv, of_bias;
    locus_attention_gradients gradients{};
    std::vector<locus_tensor> parameters;
    gradients.size = sizeof gradients;
    TRY(operand_tensor('q', "q", &q));
    TRY(operand_tensor('k', "k", &k));
    TRY(operand_tensor('v', "v", &v));
    TRY(operand_tensor('o', "the output", &output));
    TRY(operand_tensor('l', "the log-sum-exp", &sums));
    TRY(operand_tensor('g', "the gradient", &upstream));
    TRY(result_tensor('q', "the gradient of q", &dq, &gradients.query));
    TRY(result_tensor('k', "the gradient of k", &dk, &gradients.key));
    TRY(result_tensor('v', "the gradient of v", &dv, &gradients.value));
    TRY(result_tensor('b', "the gradient of the bias", &of_bias, &gradients.bias));
    TRY(parameter_gradients(&parameters));
    TRY(say_options());
    if (operand('h')) {
        TRY(operand_tensor('h', "the gradient of the log-sum-exp", &of_sums));
        gradients.log_sum_exp = &of_sums;
    }
    gradients.output = &upstream;
    gradients.parameters = parameters.empty() ? nullptr : parameters.data();
    gradients.parameter_count = parameters.size();
    const locus_attention_tensors tensors = {sizeof tensors, &q, &k, &v, &output, &sums};
    const size_t bytes = locus_attention_workspace(kept->plan.p, &options, q.dtype, LOCUS_PASS_BACKWARD, &execution);
    TRY(thread_scratch.lend(bytes, &execution.workspace, error));
    return locus_attention_backward(kept->plan.p, &options, &tensors, &gradients, &execution, error);
}

locus_status Turn::apply() {
    locus_tensor x, y;
    const locus_tensor *to;
    TRY(operand_tensor('t', "x", &x));
    TRY(result_tensor('t', "the result", &y, &to));
    const size_t bytes = locus_apply_workspace(kept->plan.p, site.role, x.dtype, &execution);
    TRY(thread_scratch.lend(bytes, &execution.workspace, error));
    return locus_apply(kept->plan.p, site.role, site.direction, &x, to, &execution, error);
}

locus_status Turn::apply_backward() {
    locus_tensor x, upstream, dx;
    locus_apply_gradients gradients{};
    std::vector<locus_tensor> parameters;
    gradients.size = sizeof gradients;
    TRY(operand_tensor('t', "x", &x));
    TRY(operand_tensor('g', "the gradient", &upstream));
    TRY(result_tensor('t', "the gradient of x", &dx, &gradients.gx));
    TRY(parameter_gradients(&parameters));
    gradients.x = &x;
    gradients.gy = &upstream;
    gradients.parameters = parameters.empty() ? nullptr : parameters.data();
    gradients.parameter_count = parameters.size();
    const size_t bytes = locus_apply_workspace(kept->plan.p, site.role, x.dtype, &execution);
    TRY(thread_scratch.lend(bytes, &execution.workspace, error));
    return locus_apply_backward(kept->plan.p, site.role, site.direction, &gradients, &execution, error);
}

locus_status Turn::run() {
    TRY(plan());
    clear_gaps();
    if (!kept)
        return LOCUS_OK;
    switch (site.what) {
    case What::forward:
        return forward();
    case What::backward:
        return backward();
    case What::apply:
        return apply();
    default:
        return apply_backward();
    }
}

/* ---- the handler ---- */

static std::string_view attribute(const Frame &frame, std::string_view name) {
    const Attributes &all = frame.attributes;
    for (int64_t i = 0; i < all.count; i++)
        if (all.types[i] == ATTRIBUTE_STRING && std::string_view(all.names[i]->data, all.names[i]->length) == name) {
            const Text &text = *static_cast<const Text *>(all.items[i]);
            return {text.data, text.length};
        }
    return {};
}

static locus_status turns(const Frame &frame, const CallSite &site, PlanSource &source, locus_error *error) {
    Turn turn(site, source, error);
    for (size_t i = 0; i < std::max<size_t>(site.loops, 1); i++) {
        TRY(turn.take(frame, i));
        TRY(turn.run());
    }
    return LOCUS_OK;
}

/* Callbacks in Python take its lock themselves; what they raise would be lost with the thread's state, which therefore
 * lives until it was read. */
static locus_status with_python(const Frame &frame, const CallSite &site, PlanSource &source, locus_error *error) {
    nb::gil_scoped_acquire held;
    locus_status status;
    {
        nb::gil_scoped_release released;
        status = turns(frame, site, source, error);
    }
    if (PyErr_Occurred()) {
        const nb::python_error raised;
        if (!PyErr_GivenExceptionMatches(raised.value().ptr(), PyExc_Exception)) /* Ctrl-C, sys.exit() */
            raise_later(raised);
        status = fail(error, LOCUS_ERROR_ARGUMENT, "a function in Python raised %s", line_of(raised).c_str());
    }
    return status;
}

static locus_status run(const Frame &frame, locus_error *error) {
    const std::shared_ptr<CallSite> site = sites.find(attribute(frame, "call"), error);
    if (!site)
        return error->status;
    const std::shared_ptr<PlanSource> source = sources.find(attribute(frame, "plan"), error);
    if (!source)
        return error->status;
    const locus_status status =
        source->own ? with_python(frame, *site, *source, error) : turns(frame, *site, *source, error);
    thread_scratch.rest();
    return status;
}

static int32_t code_of(locus_status status) {
    switch (status) {
    case LOCUS_ERROR_POSITION:
        return OUT_OF_RANGE;
    case LOCUS_ERROR_UNSUPPORTED:
        return UNIMPLEMENTED;
    case LOCUS_ERROR_MEMORY:
        return RESOURCE_EXHAUSTED;
    case LOCUS_ERROR_NUMERIC:
        return FAILED_PRECONDITION;
    case LOCUS_ERROR_INTERRUPTED:
        return CANCELLED;
    default:
        return INVALID_ARGUMENT;
    }
}

static Error *failure(const Frame &frame, const locus_error &error) {
    const char *message = error.message[0] ? error.message : locus_status_text(error.status);
    ErrorWanted wanted{sizeof wanted, nullptr, message, code_of(error.status)};
    return frame.api->error_create(&wanted);
}

/* Whether XLA only asks what the handler was made for. Interface 0.x is answered with the x that is asked from, 0.1 by
 * those who do not say theirs yet: what is used of it has not changed, which the sizes of its structs say at each
 * call. */
static bool answer_metadata(const Frame &frame) {
    for (Extension *each = frame.extensions; each; each = each->next) {
        if (each->type != EXTENSION_METADATA)
            continue;
        Metadata *metadata = reinterpret_cast<MetadataWanted *>(each)->metadata;
        const int32_t minor = !frame.api ? 1 : frame.api->version.major == 0 ? frame.api->version.minor : 0;
        metadata->version = {sizeof(Version), nullptr, 0, minor};
        metadata->traits = 0;
        return true;
    }
    return false;
}

static Error *handle(Frame *frame) {
    if (answer_metadata(*frame) || frame->stage != STAGE_EXECUTE)
        return nullptr;
    locus_error error{};
    error.offset = -1;
    try {
        if (frame->size < sizeof(Frame) || frame->attributes.size < sizeof(Attributes))
            (void)fail(&error, LOCUS_ERROR_UNSUPPORTED, "this version of XLA calls functions in another way");
        else if (run(*frame, &error) == LOCUS_OK)
            return nullptr;
    } catch (const std::bad_alloc &) {
        (void)fail(&error, LOCUS_ERROR_MEMORY, "out of memory");
    }
    return failure(*frame, error);
}

} // namespace xla

void xla_open(nb::module_ &module) {
    xla::Asking::main_thread =
        nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
    module.def("xla_target", [] { return nb::capsule(reinterpret_cast<void *>(&xla::handle)); });
    module.def(
        "xla_forget",
        [] {
            xla::sites.clear();
            xla::sources.clear();
        });
    module.def("xla_plans_made", [] { return xla::PlanSource::plans_made.load(); });
    /* The text of each token's position, a line each; for positions that are no numbers. */
    module.def("position_texts", [](const Positions &positions) {
        std::string all;
        for (size_t i = 0; i < locus_positions_tokens(positions.p); i++) {
            Path path;
            locus_error error{};
            check(locus_positions_path(positions.p, i, &path.p, &error), error);
            all += text_of([&](char *text, size_t size) { return locus_path_text(path.p, text, size); });
            all += '\n';
        }
        return nb::bytes(all.data(), all.size());
    });
}
