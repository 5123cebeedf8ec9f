/* SPDX-License-Identifier: MIT */
/* Attention on memory that a framework describes (locus/torch/kernels.py), where even NumPy's view of a tensor would
 * take longer than a short call: (pointer, element type, shape, strides in elements, whoever owns it). */
#include "attention.hpp"

/* Of tensors without elements; nothing is read there. */
static double nowhere;

static int64_t number_at(PyObject *tuple, Py_ssize_t index) {
    PyObject *item = PyTuple_GetItem(tuple, index);
    const long long number = item ? PyLong_AsLongLong(item) : -1;
    if (number == -1 && PyErr_Occurred())
        throw nb::python_error();
    return number;
}

static locus_tensor tensor_at(nb::handle said) {
    locus_tensor tensor{};
    PyObject *shape = PyTuple_GetItem(said.ptr(), 2), *stride = PyTuple_GetItem(said.ptr(), 3);
    const Py_ssize_t rank = shape ? PyTuple_Size(shape) : -1;
    if (rank < 0 || !stride)
        throw nb::python_error();
    if (rank > LOCUS_MAX_RANK)
        raise_status(LOCUS_ERROR_SHAPE, "a tensor has " + std::to_string(rank) + " dimensions; at most 4 are expected");
    tensor.data = reinterpret_cast<void *>(static_cast<intptr_t>(number_at(said.ptr(), 0)));
    tensor.data = tensor.data ? tensor.data : &nowhere;
    tensor.dtype = static_cast<locus_dtype>(number_at(said.ptr(), 1));
    tensor.rank = static_cast<size_t>(rank);
    tensor.device = LOCUS_DEVICE_HOST;
    for (Py_ssize_t i = 0; i < rank; i++) {
        tensor.shape[i] = number_at(shape, i);
        tensor.stride[i] = tensor.shape[i] <= 1 ? 1 : number_at(stride, i);
    }
    return tensor;
}

/* One that need not be there. */
class Perhaps {
  public:
    explicit Perhaps(nb::handle said) : there(!said.is_none()) {
        if (there)
            tensor = tensor_at(said);
    }
    Perhaps(const Perhaps &) = delete;
    locus_tensor *get() {
        return there ? &tensor : nullptr;
    }

  private:
    bool there;
    locus_tensor tensor{};
};

/* `tensors`: q, k, v, output, and log-sum-exp or None. */
static void attention_at(const Plan &plan, nb::tuple tensors, bool causal, double scale, nb::handle bias,
                         nb::tuple rest) {
    const locus_tensor q = tensor_at(tensors[0]), k = tensor_at(tensors[1]), v = tensor_at(tensors[2]);
    locus_tensor output = tensor_at(tensors[3]);
    Perhaps sums(tensors[4]), own_bias(bias);
    Options own(causal, nullptr, scale, nb::none(), rest);
    own.options.bias = own_bias.get();
    const locus_attention_tensors all = {sizeof all, &q, &k, &v, &output, sums.get()};
    Call call;
    call.lend(locus_attention_workspace(plan.p, &own.options, q.dtype, LOCUS_PASS_FORWARD, &call.execution));
    call.run([&] { return locus_attention_forward(plan.p, &own.options, &all, &call.execution, &call.error); });
}

/* `tensors` as above, all there; `upstream`: dL/doutput, and dL/dlog_sum_exp or None; `made`: dq, dk, dv and the bias',
 * None for those that nobody wants; `parameters`: what their gradients are added to. */
static void attention_backward_at(const Plan &plan, nb::tuple tensors, nb::tuple upstream, bool causal, double scale,
                                  nb::handle bias, nb::tuple rest, nb::tuple made, nb::list parameters) {
    const locus_tensor q = tensor_at(tensors[0]), k = tensor_at(tensors[1]), v = tensor_at(tensors[2]);
    locus_tensor output = tensor_at(tensors[3]), sums = tensor_at(tensors[4]), incoming = tensor_at(upstream[0]);
    Perhaps of_sums(upstream[1]), own_bias(bias), dq(made[0]), dk(made[1]), dv(made[2]), of_bias(made[3]);
    Options own(causal, nullptr, scale, nb::none(), rest);
    own.options.bias = own_bias.get();
    const std::vector<Array> held = write_all(parameters, "parameters");
    const std::vector<locus_tensor> of_parameters = tensors_of(held);
    const locus_attention_tensors all = {sizeof all, &q, &k, &v, &output, &sums};
    locus_attention_gradients gradients{};
    gradients.size = sizeof gradients;
    gradients.output = &incoming;
    gradients.log_sum_exp = of_sums.get();
    gradients.query = dq.get();
    gradients.key = dk.get();
    gradients.value = dv.get();
    gradients.bias = of_bias.get();
    gradients.parameters = of_parameters.empty() ? nullptr : of_parameters.data();
    gradients.parameter_count = of_parameters.size();
    Call call;
    call.lend(locus_attention_workspace(plan.p, &own.options, q.dtype, LOCUS_PASS_BACKWARD, &call.execution));
    call.run(
        [&] { return locus_attention_backward(plan.p, &own.options, &all, &gradients, &call.execution, &call.error); });
}

void memory_open(nb::module_ &module) {
    module.def("attention_at", &attention_at, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
    module.def("attention_backward_at", &attention_backward_at, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
               nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
}
