/* SPDX-License-Identifier: MIT */
/* Attention on PyTorch's tensors, which are read without asking Python: in a short call the questions take longer than
 * the work. PyTorch from 2.10 on lends a table of functions for that (`Tensor.__dlpack_c_exchange_api__`), whose layout
 * DLPack's version 1 fixes, so that nothing here needs PyTorch to be built.
 *
 * Only plain calls are served: q, k, v and what is made are in the host's memory, of one type, of rank 4, and their
 * last dimensions contiguous. Others are told so and go the way of memory_calls.cpp. */
#include "binding.hpp"

/* As DLPack 1.3 lays it out; what is not called is not typed. */
struct ExchangeTable {
    uint32_t major, minor;
    const ExchangeTable *before;
    void (*allocate)(), (*managed_of_object)(), (*object_of_managed)();
    int (*view)(void *object, nb::dlpack::dltensor *view);
};
static int (*view_of)(void *object, nb::dlpack::dltensor *view);

/* Whether tensors can be read by the table in this capsule. */
static bool exchange_open(nb::handle capsule) {
    const void *data = PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api");
    if (!data)
        throw nb::python_error();
    const ExchangeTable *table = static_cast<const ExchangeTable *>(data);
    while (table && table->major != 1)
        table = table->before;
    view_of = table ? table->view : nullptr;
    return view_of != nullptr;
}

static bool read_type(nb::dlpack::dtype type, locus_dtype *found) {
    const bool brain = type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat);
    *found = brain ? LOCUS_BFLOAT16 : type.bits == 16 ? LOCUS_FLOAT16 : type.bits == 32 ? LOCUS_FLOAT32 : LOCUS_FLOAT64;
    return type.lanes == 1 && type.bits == 8 * locus_dtype_size(*found) &&
           (brain || type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Float));
}

/* Of tensors without elements; nothing is read there. */
static double no_element;

/* The tensor, if it is plain. */
static bool read_plain(nb::handle object, locus_tensor *tensor) {
    nb::dlpack::dltensor seen;
    if (view_of(object.ptr(), &seen) !=
        0) { /* as of tensors without memory; who can say what is wrong with them says it */
        PyErr_Clear();
        return false;
    }
    *tensor = locus_tensor{};
    if (!read_type(seen.dtype, &tensor->dtype) || seen.ndim != 4 || seen.device.device_type != nb::device::cpu::value)
        return false;
    tensor->data = seen.data ? static_cast<char *>(seen.data) + seen.byte_offset : static_cast<void *>(&no_element);
    tensor->device = LOCUS_DEVICE_HOST;
    tensor->rank = 4;
    for (int i = 0; i < 4; i++) {
        tensor->shape[i] = seen.shape[i];
        tensor->stride[i] = seen.shape[i] <= 1 ? 1 : seen.strides[i];
    }
    return tensor->stride[3] == 1;
}

/* Several, of one type. */
template <size_t N> static bool read_all_plain(const nb::handle (&objects)[N], locus_tensor (&tensors)[N]) {
    for (size_t i = 0; i < N; i++)
        if (!read_plain(objects[i], &tensors[i]) || tensors[i].dtype != tensors[0].dtype)
            return false;
    return true;
}

/* Log-sum-exp [batch, heads, length] of queries, in a bytearray's memory. */
static locus_tensor sums_in(nb::handle bytes, const locus_tensor &query) {
    locus_tensor sums = query;
    sums.data = PyByteArray_AsString(bytes.ptr());
    sums.dtype = query.dtype == LOCUS_FLOAT64 ? LOCUS_FLOAT64 : LOCUS_FLOAT32;
    sums.rank = 3;
    sums.stride[2] = 1;
    sums.stride[1] = query.shape[2];
    sums.stride[0] = query.shape[1] * query.shape[2];
    return sums;
}

static size_t sums_bytes(const locus_tensor &query) {
    return static_cast<size_t>(query.shape[0] * query.shape[1] * query.shape[2]) *
           (query.dtype == LOCUS_FLOAT64 ? sizeof(double) : sizeof(float));
}

static locus_attention_options options_of(bool causal, double scale) {
    locus_attention_options options = locus_attention_default();
    options.mask = causal ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
    options.scale = scale;
    return options;
}

/* None where the call is not plain; else, with `with_sums`, what the gradient needs, or True. */
static nb::object plain_forward(const Plan &plan, nb::handle query, nb::handle key, nb::handle value, nb::handle output,
                                bool causal, double scale, bool with_sums) {
    locus_tensor t[4];
    if (!read_all_plain({query, key, value, output}, t))
        return nb::none();
    nb::object held = nb::bool_(true);
    locus_tensor sums{};
    if (with_sums) {
        held = nb::steal(PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(sums_bytes(t[0]))));
        if (!held.is_valid())
            throw nb::python_error();
        sums = sums_in(held, t[0]);
    }
    const locus_attention_options options = options_of(causal, scale);
    const locus_attention_tensors all = {sizeof all, &t[0], &t[1], &t[2], &t[3], with_sums ? &sums : nullptr};
    Call call;
    call.lend(locus_attention_workspace(plan.p, &options, t[0].dtype, LOCUS_PASS_FORWARD, &call.execution));
    call.run([&] { return locus_attention_forward(plan.p, &options, &all, &call.execution, &call.error); });
    return held;
}

/* `made`: dq, dk and dv. False where the call is not plain. */
static bool plain_backward(const Plan &plan, nb::handle upstream, nb::handle query, nb::handle key, nb::handle value,
                           nb::handle output, nb::handle sums, nb::tuple made, bool causal, double scale) {
    locus_tensor t[8];
    if (!read_all_plain({query, key, value, output, upstream, made[0], made[1], made[2]}, t))
        return false;
    locus_tensor own_sums = sums_in(sums, t[0]);
    const locus_attention_options options = options_of(causal, scale);
    const locus_attention_tensors all = {sizeof all, &t[0], &t[1], &t[2], &t[3], &own_sums};
    locus_attention_gradients gradients{};
    gradients.size = sizeof gradients;
    gradients.output = &t[4];
    gradients.query = &t[5];
    gradients.key = &t[6];
    gradients.value = &t[7];
    Call call;
    call.lend(locus_attention_workspace(plan.p, &options, t[0].dtype, LOCUS_PASS_BACKWARD, &call.execution));
    call.run(
        [&] { return locus_attention_backward(plan.p, &options, &all, &gradients, &call.execution, &call.error); });
    return true;
}

void tensors_open(nb::module_ &module) {
    module.def("exchange_open", &exchange_open);
    module.def("plain_forward", &plain_forward);
    module.def("plain_backward", &plain_backward);
}
