/* SPDX-License-Identifier: MIT */
/* Encodings of one's own, from Python: callbacks that hand a batch to a Python function as a dict of arrays
 * (locus/registering.py). What a callback raises ends the call that it was made from, and is what that call raises. */
#include "binding.hpp"

#include <cstring>

/* Lives until the process ends, as the library asks. */
struct Functions {
    PyObject *values, *gradient;
};

static nb::object doubles(const double *from, size_t rows, size_t columns, bool matrix) {
    const int64_t shape[] = {static_cast<int64_t>(rows), static_cast<int64_t>(columns)};
    Array to = Array::make(LOCUS_FLOAT64, matrix ? 2 : 1, shape);
    if (rows * columns)
        std::memcpy(to.tensor.data, from, rows * columns * sizeof *from);
    return to.object;
}

static nb::object words(const locus_extension_positions &positions, size_t count) {
    if (!positions.words)
        return nb::none();
    nb::list all;
    for (size_t i = 0; i < count; i++) {
        nb::list word;
        for (size_t j = 0; j < positions.words[i].length; j++)
            word.append(positions.words[i].branches[j]);
        all.append(nb::tuple(word));
    }
    return all;
}

static nb::dict batch_of(const locus_extension_batch *batch) {
    nb::dict entry;
    nb::list options, parameters;
    for (size_t i = 0; i < batch->option_count; i++) {
        const locus_extension_option &option = batch->options[i];
        options.append(nb::make_tuple(option.text, option.number));
    }
    entry["head"] = batch->head;
    entry["heads"] = batch->heads;
    entry["head_dim"] = batch->head_dim;
    entry["length"] = batch->length;
    entry["options"] = options;
    entry["parameters"] = nb::make_tuple(batch->parameter_count, reinterpret_cast<uintptr_t>(batch->parameters));
    entry["count"] = batch->count;
    entry["query"] = doubles(batch->query.values, batch->count, batch->coordinates, true);
    entry["key"] = batch->key.values ? doubles(batch->key.values, batch->count, batch->coordinates, true) : nb::none();
    const size_t all_words = batch->count * batch->coordinates;
    entry["query_words"] = words(batch->query, all_words);
    entry["key_words"] = words(batch->key, all_words);
    entry["distance"] = batch->distance ? doubles(batch->distance, batch->count, 1, false) : nb::none();
    return entry;
}

/* The elements of parameter `index`, which Python knows the number of. */
static nb::object parameter_values(uintptr_t parameters, size_t index, size_t elements) {
    return doubles(reinterpret_cast<const double *const *>(parameters)[index], elements, 1, false);
}

static locus_status failed(nb::python_error &raised, locus_error *error) {
    raised.restore();
    std::strncpy(error->message, "a callback in Python raised an exception", sizeof error->message - 1);
    return LOCUS_ERROR_ARGUMENT;
}

static nb::object call_python(PyObject *function, nb::handle batch, nb::handle upstream) {
    PyObject *result = PyObject_CallFunctionObjArgs(function, batch.ptr(), upstream.ptr(), nullptr);
    if (!result)
        throw nb::python_error();
    return nb::steal(result);
}

static locus_status values(const locus_extension_batch *batch, double *into, locus_error *error) {
    nb::gil_scoped_acquire held;
    try {
        const Functions *own = static_cast<Functions *>(batch->context);
        nb::object result = call_python(own->values, batch_of(batch), nb::none());
        const Array array = Array::read(result, "score"); /* [numbers], float64: made so by registering.py */
        std::memcpy(into, array.tensor.data, locus_tensor_count(&array.tensor) * sizeof *into);
        return LOCUS_OK;
    } catch (nb::python_error &raised) {
        return failed(raised, error);
    }
}

static locus_status gradient(const locus_extension_batch *batch, const double *upstream, double *const *gradients,
                             locus_error *error) {
    nb::gil_scoped_acquire held;
    try {
        const Functions *own = static_cast<Functions *>(batch->context);
        nb::object incoming = doubles(upstream, batch->count, 1, false);
        const std::vector<Array> sums = read_all(call_python(own->gradient, batch_of(batch), incoming), "gradient");
        for (size_t i = 0; i < sums.size(); i++) {
            const double *from = static_cast<const double *>(sums[i].tensor.data);
            for (size_t j = 0; j < locus_tensor_count(&sums[i].tensor); j++)
                gradients[i][j] += from[j];
        }
        return LOCUS_OK;
    } catch (nb::python_error &raised) {
        return failed(raised, error);
    }
}

/* options: (name, values, initial, meaning, kind, minimum, maximum); parameters: (name, shape, initial, deviation,
 * constraint). */
static void register_scores(const std::string &name, const std::string &summary, const std::string &group, int kind,
                            unsigned flags, unsigned laws, unsigned traits, nb::list options, nb::list parameters,
                            nb::object score, nb::object score_gradient) {
    std::vector<std::string> texts;
    texts.reserve(4 * options.size() + parameters.size());
    auto kept = [&](nb::handle object) { return texts.emplace_back(nb::cast<std::string>(object)).c_str(); };
    std::vector<locus_option_info> own_options;
    for (nb::handle item : options) {
        nb::tuple entry = nb::borrow<nb::tuple>(item);
        locus_option_info info{};
        info.name = kept(entry[0]);
        info.values = kept(entry[1]);
        info.initial = kept(entry[2]);
        info.meaning = kept(entry[3]);
        info.kind = static_cast<locus_option_kind>(nb::cast<int>(entry[4]));
        info.minimum = nb::cast<double>(entry[5]);
        info.maximum = nb::cast<double>(entry[6]);
        own_options.push_back(info);
    }
    std::vector<locus_extension_parameter> own_parameters;
    for (nb::handle item : parameters) {
        nb::tuple entry = nb::borrow<nb::tuple>(item);
        const std::vector<int64_t> shape = nb::cast<std::vector<int64_t>>(entry[1]);
        if (shape.empty() || shape.size() > LOCUS_MAX_RANK)
            raise_status(LOCUS_ERROR_SHAPE, "a parameter has 1 to 4 dimensions");
        locus_extension_parameter parameter{};
        parameter.size = sizeof parameter;
        parameter.name = kept(entry[0]);
        parameter.rank = shape.size();
        std::memcpy(parameter.shape, shape.data(), shape.size() * sizeof *parameter.shape);
        parameter.initial = nb::cast<double>(entry[2]);
        parameter.deviation = nb::cast<double>(entry[3]);
        parameter.constraint = static_cast<locus_constraint>(nb::cast<int>(entry[4]));
        own_parameters.push_back(parameter);
    }
    Functions *functions = new Functions{score.ptr(), score_gradient.is_none() ? nullptr : score_gradient.ptr()};
    locus_encoding_description description{};
    description.size = sizeof description;
    description.name = name.c_str();
    description.summary = summary.c_str();
    description.group = group.empty() ? nullptr : group.c_str();
    description.kind = static_cast<locus_extension_kind>(kind);
    description.flags = flags;
    description.laws = laws;
    description.traits = traits;
    description.option_count = own_options.size();
    description.options = own_options.data();
    description.parameter_count = own_parameters.size();
    description.parameters = own_parameters.data();
    description.context = functions;
    description.values = values;
    description.gradient = functions->gradient ? gradient : nullptr;
    locus_error error{};
    const locus_status status = locus_encoding_register(&description, &error);
    if (status != LOCUS_OK) {
        delete functions;
        raise_error(error);
    }
    score.release();
    score_gradient.release();
}

void registering_open(nb::module_ &module) {
    module.def("register", &register_scores, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
               nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
    module.def("parameter_values", &parameter_values);
}
