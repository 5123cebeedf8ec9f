/* SPDX-License-Identifier: MIT */
/* Forms: what a plan does, as arrays that look at the plan's own memory. */
#include "binding.hpp"

using Forms = Handle<locus_plan_forms, locus_plan_forms_destroy>;

template <typename T> static nb::object view(const locus_form_array &array, nb::handle owner) {
    size_t shape[LOCUS_FORM_MAX_RANK];
    for (size_t i = 0; i < array.rank; i++)
        shape[i] = static_cast<size_t>(array.shape[i]);
    return nb::cast(nb::ndarray<nb::numpy, const T>(static_cast<const T *>(array.data), array.rank, shape, owner));
}

static nb::object array_of(const locus_form_array &array, nb::handle owner) {
    switch (array.type) {
    case LOCUS_FORM_FLOAT64:
        return view<double>(array, owner);
    case LOCUS_FORM_INT64:
        return view<int64_t>(array, owner);
    default:
        return view<uint32_t>(array, owner);
    }
}

/* (kind, term, roles, first, count, multiplies, law, {name: array}, {name: (parameter, first)}) of each form. */
static nb::list forms(const Plan &plan) {
    Forms own;
    Call call;
    locus_plan_forms_options options = locus_plan_forms_options_default();
    options.execution = &call.execution;
    call.run([&] { return locus_plan_forms_create(&own.p, plan.p, &options, &call.error); });
    const locus_plan_forms *p = own.p;
    nb::object owner = nb::cast(std::move(own));
    nb::list all;
    for (size_t i = 0; i < locus_plan_form_count(p); i++) {
        const locus_form *form = locus_plan_form_at(p, i);
        nb::dict arrays, parameters;
        for (size_t j = 0; j < form->array_count; j++) {
            const locus_form_array *array = locus_plan_form_array(p, i, j);
            arrays[array->name] = array_of(*array, owner);
            if (array->parameter != LOCUS_FORM_FIXED)
                parameters[array->name] = nb::make_tuple(array->parameter, array->parameter_first);
        }
        all.append(nb::make_tuple(static_cast<int>(form->kind), form->term, form->roles, form->first, form->count,
                                  form->multiplies, form->law ? form->law : "", arrays, parameters));
    }
    return all;
}

void forms_open(nb::module_ &module) {
    nb::class_<Forms>(module, "Forms");
    module.def("forms", &forms);
}
