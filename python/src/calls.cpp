/* SPDX-License-Identifier: MIT */
/* How the package calls the library: without the interpreter's lock, with memory of the calling thread, and asking for
 * signals every few hundredths of a second where Python would answer them, on the main thread. */
#include "binding.hpp"

#include <ctime>

#define ASK_EVERY 20000000 /* nanoseconds */
#define SCRATCH_MOST (16u << 20)

static unsigned long main_thread_id;

struct Scratch {
    void *data = nullptr;
    size_t bytes = 0;
    bool used = false;
    ~Scratch() {
        locus_release(data, bytes);
    }
};
static thread_local Scratch thread_scratch;

static int64_t now() {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

Call::Call() : thread(PyThread_get_thread_ident()), main_thread(thread == main_thread_id) {
    error.offset = -1;
    if (main_thread) {
        execution.cancelled = cancelled;
        execution.context = this;
    }
}

Call::~Call() {
    if (scratch)
        thread_scratch.used = false;
    else
        locus_release(execution.workspace.data, execution.workspace.bytes);
}

void Call::lend(size_t bytes) {
    if (bytes == 0)
        return;
    Scratch &own = thread_scratch;
    scratch = !own.used && bytes <= SCRATCH_MOST;
    if (scratch && own.bytes < bytes) {
        locus_release(own.data, own.bytes);
        own.data = locus_allocate(bytes);
        own.bytes = own.data ? bytes : 0;
    }
    void *data = scratch ? own.data : locus_allocate(bytes);
    own.used = own.used || scratch;
    if (!data)
        raise_status(LOCUS_ERROR_MEMORY, "out of memory for " + std::to_string(bytes) + " bytes of workspace");
    execution.workspace = {data, bytes};
}

/* Asked by every thread that works on the call; only the one that made it may ask Python. */
int32_t Call::cancelled(void *context) {
    Call *call = static_cast<Call *>(context);
    if (call->stop.load(std::memory_order_relaxed))
        return 1;
    if (PyThread_get_thread_ident() != call->thread)
        return 0;
    const int64_t time = now();
    if (call->asked == 0)
        call->asked = time;
    if (time - call->asked < ASK_EVERY)
        return 0;
    nb::gil_scoped_acquire held;
    if (PyErr_CheckSignals() != 0) {
        call->failed = true;
        call->stop.store(1, std::memory_order_relaxed);
    }
    call->asked = now();
    return call->stop.load(std::memory_order_relaxed);
}

void Call::finish(locus_status status) {
    if (failed) /* also where the work was done by then: the handler's exception must not get lost */
        throw nb::python_error();
    if (status != LOCUS_OK)
        raise_error(error);
}

void calls_open(nb::module_ &module) {
    main_thread_id = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
    module.def("set_threads", [](size_t threads) {
        Call call; /* the pool may have to wait for calls that run */
        locus_status status;
        {
            nb::gil_scoped_release released;
            status = locus_threads_set(threads);
        }
        if (status != LOCUS_OK)
            raise_status(status, "threads must be 0 … 1024, and not be set from inside a call");
    });
    module.def("threads", &locus_threads);
    /* What is wrong with the environment's variables, or None. */
    module.def("environment_fault", []() -> nb::object {
        locus_error fault;
        if (locus_environment_check(&fault) == LOCUS_OK)
            return nb::none();
        return nb::str(fault.message);
    });
    module.def("random_below", [](uint64_t seed, uint32_t purpose, uint64_t index, uint64_t bound) {
        const locus_random random = {seed, purpose, 0};
        return locus_random_below(&random, index, bound);
    });
    module.def("random_normal", [](uint64_t seed, uint32_t purpose, uint32_t step, int64_t count) {
        const locus_random random = {seed, purpose, step};
        Array numbers = Array::make(LOCUS_FLOAT64, 1, &count);
        for (int64_t i = 0; i < count; i++)
            static_cast<double *>(numbers.tensor.data)[i] = locus_random_normal(&random, static_cast<uint64_t>(i));
        return numbers.object;
    });
}
