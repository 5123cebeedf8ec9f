/* SPDX-License-Identifier: MIT */
/* The current call of a thread: what its execution asks for, read once; its end. */
#include "core/call.h"

#include "core/error.h"
#include "core/executor.h"
#include "core/sized.h"

#include <locus/memory.h>
#include <string.h>

/* ---- flags ---- */

int32_t locus_flag_raised(void *flag) {
    return __atomic_load_n((const int32_t *)flag, __ATOMIC_RELAXED);
}

void locus_flag_raise(int32_t *flag) {
    __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

/* ---- beginning and end ---- */

bool locus_call_over(locus_call *call) {
    for (; call && call->asks; call = call->outer) {
        if (atomic_load_explicit(&call->over, memory_order_relaxed))
            return true;
        if (call->cancelled && call->cancelled(call->context) != 0) {
            atomic_store_explicit(&call->over, true, memory_order_relaxed);
            return true;
        }
    }
    return false;
}

static bool was_cancelled(const locus_call *call) {
    while (call && call->asks && !atomic_load_explicit(&call->over, memory_order_relaxed))
        call = call->outer;
    return call && call->asks;
}

static locus_status fail_interrupted(locus_error *error) {
    return locus_fail(error, LOCUS_ERROR_INTERRUPTED, "execution", "the call was cancelled before it was done");
}

locus_status locus_call_check(locus_error *error) {
    return locus_call_cancelled() ? fail_interrupted(error) : LOCUS_OK;
}

/* Everything but asking and becoming the current call. */
static locus_status settle(locus_call *call, const locus_execution *execution, locus_error *error) {
    static const locus_sized kind = {sizeof(locus_execution), sizeof(locus_execution), "execution"};
    locus_execution own = locus_execution_default();
    locus_executor executor;
    locus_status status = locus_sized_read(&own, &kind, execution, error);
    if (status == LOCUS_OK && own.executor)
        status = locus_executor_read(own.executor, "execution.executor", &executor, error);
    if (status != LOCUS_OK)
        return status;
    locus_call *outer = locus_this_thread.call;
    const size_t most = own.executor ? own.executor->concurrency
                        : outer      ? outer->workers
                                     : locus_executor_concurrency();
    call->outer = outer;
    call->workers = own.threads > 0 && own.threads < most ? own.threads : most;
    call->executor = own.executor || !outer ? own.executor : outer->executor;
    call->workspace = own.workspace;
    call->cancelled = own.cancelled;
    call->context = own.context;
    call->asks = own.cancelled || (outer && outer->asks);
    atomic_init(&call->over, false);
    atomic_init(&call->failed, 0);
    return LOCUS_OK;
}

locus_status locus_call_begin(locus_call *call, const locus_execution *execution, locus_error *error) {
    const locus_status status = settle(call, execution, error);
    if (status != LOCUS_OK)
        return status;
    if (locus_call_over(call))
        return fail_interrupted(error);
    locus_this_thread.call = call;
    return LOCUS_OK;
}

void locus_call_fail(const locus_error *error) {
    locus_call *call = locus_this_thread.call;
    int none = 0;
    if (!call || !atomic_compare_exchange_strong(&call->failed, &none, 1))
        return;
    call->failure = *error;
    atomic_store(&call->failed, 2);
}

locus_status locus_call_end(locus_call *call, locus_status status, locus_error *error) {
    locus_this_thread.call = call->outer;
    if (was_cancelled(call))
        return fail_interrupted(error);
    if (status != LOCUS_OK || atomic_load(&call->failed) == 0)
        return status;
    if (error)
        *error = call->failure;
    return call->failure.status;
}

/* ---- workspaces ---- */

static size_t bytes_with(locus_call *call, size_t workers, locus_call_bytes *needed, const void *context) {
    call->workers = workers;
    return needed(context);
}

/* Where the workspace has no room for one worker: returns what that needs; else 0. */
static size_t fit_workers(locus_call *call, size_t bytes, locus_call_bytes *needed, const void *context) {
    size_t most = call->workers;
    if (needed(context) <= bytes)
        return 0;
    const size_t least = bytes_with(call, 1, needed, context);
    if (least > bytes)
        return least;
    size_t fits = 1; /* and `most` does not */
    while (most - fits > 1) {
        const size_t middle = fits + (most - fits) / 2;
        *(bytes_with(call, middle, needed, context) <= bytes ? &fits : &most) = middle;
    }
    call->workers = fits;
    return 0;
}

locus_status locus_call_fit(locus_call *call, locus_call_bytes *needed, const void *context, const char *ask,
                            locus_error *error) {
    const size_t given = call->workspace.data ? call->workspace.bytes : 0;
    const size_t missing = fit_workers(call, given, needed, context);
    if (missing > 0)
        return locus_fail(error, LOCUS_ERROR_MEMORY, "workspace",
                          "the workspace has %zu bytes, but at least %zu are needed, for one thread; ask %s", given,
                          missing, ask);
    if ((uintptr_t)call->workspace.data % LOCUS_ALIGNMENT != 0 && needed(context) > 0)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "workspace",
                          "the workspace is not aligned to %d bytes; get it from locus_allocate", LOCUS_ALIGNMENT);
    return LOCUS_OK;
}

size_t locus_call_needs(const locus_execution *execution, locus_call_bytes *needed, const void *context) {
    locus_call call;
    if (settle(&call, execution, NULL) != LOCUS_OK)
        return 0;
    locus_this_thread.call = &call;
    const size_t bytes = needed(context);
    locus_this_thread.call = call.outer;
    return bytes;
}
