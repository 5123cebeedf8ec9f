/* SPDX-License-Identifier: MIT */
/* The registry, encodings, bindings and their normal form. */
#include "binding.hpp"

static nb::dict option_entry(const locus_option_info &option) {
    nb::dict entry;
    static const char *const kinds[] = {"",      "choice", "number",  "integer", "off or number", "rotate",
                                        "group", "list",   "numbers", "decay",   "off or integer"};
    entry["type"] = option.kind >= 1 && option.kind <= 10 ? kinds[option.kind] : "";
    entry["values"] = option.values;
    entry["default"] = option.initial;
    entry["meaning"] = option.meaning;
    entry["range"] = nb::make_tuple(option.minimum, option.maximum);
    entry["open"] = option.open;
    return entry;
}

static nb::list registry() {
    nb::list all;
    for (size_t i = 0; i < locus_encoding_registry_size(); i++) {
        const locus_encoding_info *info = locus_encoding_registry_at(i);
        nb::dict entry, options;
        for (size_t j = 0; j < info->option_count; j++)
            options[info->options[j].name] = option_entry(info->options[j]);
        entry["name"] = info->name;
        entry["description"] = info->summary;
        entry["sites"] = info->sites;
        entry["learns"] = info->learned ? info->learned : "";
        entry["source"] = info->source ? info->source : "";
        entry["options"] = options;
        all.append(entry);
    }
    return all;
}

static Encoding parse(const std::string &spec) {
    Encoding encoding;
    locus_error error{};
    check(locus_encoding_parse(spec.c_str(), &encoding.p, &error), error);
    return encoding;
}

struct Shape {
    locus_shape shape = locus_shape_default();
};

static Shape make_shape(size_t heads, size_t head_dim, size_t value_dim, size_t model_dim, size_t kv_heads) {
    Shape made;
    made.shape.heads = heads;
    made.shape.head_dim = head_dim;
    made.shape.value_dim = value_dim;
    made.shape.model_dim = model_dim;
    made.shape.kv_heads = kv_heads;
    return made;
}

static nb::object shape_tuple(const locus_parameter &parameter) {
    nb::list sizes;
    for (size_t i = 0; i < parameter.rank; i++)
        sizes.append(parameter.shape[i]);
    return nb::tuple(sizes);
}

static nb::list parameters(const Encoding &encoding, const Shape &shape) {
    size_t count = 0;
    locus_error error{};
    check(locus_encoding_parameter_count(encoding.p, &shape.shape, &count, &error), error);
    nb::list all;
    for (size_t i = 0; i < count; i++) {
        locus_parameter parameter{};
        parameter.size = sizeof parameter;
        check(locus_encoding_parameter(encoding.p, &shape.shape, i, &parameter, &error), error);
        all.append(nb::make_tuple(std::string(parameter.name), shape_tuple(parameter),
                                  static_cast<int>(parameter.constraint)));
    }
    return all;
}

static void initialise(const Encoding &encoding, const Shape &shape, uint64_t seed, nb::list arrays) {
    const std::vector<Array> own = write_all(arrays, "parameters");
    const std::vector<locus_tensor> tensors = tensors_of(own);
    Call call;
    call.run([&] {
        return locus_encoding_initialise_with(encoding.p, &shape.shape, seed, tensors.data(), tensors.size(),
                                              &call.execution, &call.error);
    });
}

static Binding bind(const Encoding &encoding, const Shape &shape, nb::list arrays) {
    const std::vector<Array> own = read_all(arrays, "parameters");
    const std::vector<locus_tensor> tensors = tensors_of(own);
    Binding binding;
    Call call;
    call.run([&] {
        return locus_binding_create_with(&binding.p, encoding.p, &shape.shape, tensors.data(), tensors.size(),
                                         &call.execution, &call.error);
    });
    return binding;
}

static Binding rebind(const Binding &before, nb::list arrays) {
    const std::vector<Array> own = read_all(arrays, "parameters");
    const std::vector<locus_tensor> tensors = tensors_of(own);
    Binding binding(locus_binding_retain(before.p));
    Call call;
    call.run([&] {
        return locus_binding_update_with(&binding.p, tensors.data(), tensors.size(), &call.execution, &call.error);
    });
    return binding;
}

static nb::object optional_group(const Encoding &encoding) {
    const locus_group *group = locus_encoding_group(encoding.p);
    return group ? nb::cast(text_of([&](char *text, size_t size) { return locus_group_text(group, text, size); }))
                 : nb::none();
}

/* ---- normal form ---- */

static nb::object fold(const Binding &binding) {
    locus_fold_shape shape{};
    shape.size = sizeof shape;
    locus_error error{};
    check(locus_fold_measure(binding.p, &shape, &error), error);
    const int64_t heads = static_cast<int64_t>(shape.heads), dim = static_cast<int64_t>(shape.head_dim);
    const int64_t coordinates = static_cast<int64_t>(shape.coordinates), pairs = static_cast<int64_t>(shape.pairs);
    const int64_t of_basis[] = {heads, dim, dim}, of_angles[] = {heads, coordinates, pairs};
    const int64_t of_signs[] = {heads, coordinates, dim - 2 * pairs};
    Array basis = Array::make(LOCUS_FLOAT64, 3, of_basis), angles = Array::make(LOCUS_FLOAT64, 3, of_angles);
    Array signs = Array::make(LOCUS_FLOAT64, 3, of_signs);
    check(locus_fold(binding.p, static_cast<double *>(basis.tensor.data), static_cast<double *>(angles.tensor.data),
                     static_cast<double *>(signs.tensor.data), &error),
          error);
    return nb::make_tuple(shape.term, basis.object, angles.object, signs.object);
}

void encodings_open(nb::module_ &module) {
    module.def("registry", &registry);
    nb::class_<Shape>(module, "Shape");
    module.def("shape", &make_shape);
    nb::class_<Encoding>(module, "Encoding")
        .def(
            "text",
            [](const Encoding &encoding) {
                return text_of([&](char *text, size_t size) { return locus_encoding_text(encoding.p, text, size); });
            })
        .def(
            "sites", [](const Encoding &encoding) { return locus_encoding_sites(encoding.p); })
        .def(
            "laws", [](const Encoding &encoding) { return locus_encoding_laws(encoding.p); })
        .def(
            "traits", [](const Encoding &encoding) { return locus_encoding_traits(encoding.p); })
        .def("group", &optional_group)
        .def(
            "equal", [](const Encoding &a, const Encoding &b) { return locus_encoding_equal(a.p, b.p) != 0; })
        .def(
            "hash", [](const Encoding &a) { return locus_encoding_hash(a.p); })
        .def("parameters", &parameters)
        .def("initialise", &initialise)
        .def("bind", &bind);
    nb::class_<Binding>(module, "Binding", nb::is_weak_referenceable())
        .def("rebind", &rebind)
        .def("equal", [](const Binding &a, const Binding &b) { return locus_binding_equal(a.p, b.p) != 0; })
        .def("hash", [](const Binding &a) { return locus_binding_hash(a.p); });
    module.def("parse", &parse);
    module.def("fold", &fold);
}
