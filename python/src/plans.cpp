/* SPDX-License-Identifier: MIT */
/* Plans: made, refreshed, and applied at one site. */
#include "binding.hpp"

static Plan make_plan(const Binding &binding, const Positions &queries, const Positions *keys, size_t length) {
    Plan plan;
    Call call;
    locus_plan_options options = locus_plan_options_default();
    options.length = length;
    options.execution = &call.execution;
    call.run([&] {
        return locus_plan_create_with(&plan.p, binding.p, queries.p, keys ? keys->p : nullptr, &options, &call.error);
    });
    return plan;
}

static Plan refresh(const Plan &before, const Binding &binding) {
    Plan plan(locus_plan_retain(before.p));
    Call call;
    call.run([&] { return locus_plan_refresh(&plan.p, binding.p, &call.execution, &call.error); });
    return plan;
}

static bool is_apart(const locus_tensor &tensor, locus_role role) {
    return tensor.rank == (role == LOCUS_ROLE_TOKEN || role == LOCUS_ROLE_ENCODED ? 3 : 4);
}

static nb::object apply(const Plan &plan, nb::handle x, int role_number, bool inverse) {
    const locus_role role = static_cast<locus_role>(role_number);
    const locus_direction direction = inverse ? LOCUS_INVERSE : LOCUS_FORWARD;
    const Array from = Array::read(x, "x");
    Array to = make_like(from.tensor, 0, 0, from.tensor.dtype, is_apart(from.tensor, role));
    Call call;
    call.lend(locus_apply_workspace(plan.p, role, from.tensor.dtype, &call.execution));
    call.run(
        [&] { return locus_apply(plan.p, role, direction, &from.tensor, &to.tensor, &call.execution, &call.error); });
    return to.object;
}

static nb::object apply_backward(const Plan &plan, nb::handle x, nb::handle gradient, int role_number, bool inverse,
                                 nb::list parameters) {
    const locus_role role = static_cast<locus_role>(role_number);
    const locus_direction direction = inverse ? LOCUS_INVERSE : LOCUS_FORWARD;
    const Array from = Array::read(x, "x"), gy = Array::read(gradient, "gradient");
    const std::vector<Array> own = write_all(parameters, "parameters");
    const std::vector<locus_tensor> sums = tensors_of(own);
    Array gx = make_like(gy.tensor, 0, 0, gy.tensor.dtype, is_apart(gy.tensor, role));
    locus_apply_gradients gradients{};
    gradients.size = sizeof gradients;
    gradients.x = &from.tensor;
    gradients.gy = &gy.tensor;
    gradients.gx = &gx.tensor;
    gradients.parameters = sums.empty() ? nullptr : sums.data();
    gradients.parameter_count = sums.size();
    Call call;
    call.lend(locus_apply_workspace(plan.p, role, gy.tensor.dtype, &call.execution));
    call.run([&] { return locus_apply_backward(plan.p, role, direction, &gradients, &call.execution, &call.error); });
    return gx.object;
}

void plans_open(nb::module_ &module) {
    module.def("plan", &make_plan, nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
    nb::class_<Plan>(module, "Plan")
        .def("bytes", [](const Plan &plan) { return locus_plan_bytes(plan.p); })
        .def("refresh", &refresh)
        .def("apply", &apply, nb::arg().none(), nb::arg(), nb::arg())
        .def("apply_backward", &apply_backward, nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
}
