/* SPDX-License-Identifier: MIT */
/* Encodings of one's own, from Python: callbacks that hand a batch to a Python function as a dict of arrays
 * (locus/registering.py). What a callback raises ends the call that it was made from, and is what that call raises. */
#include "binding.hpp"

#include <cstring>
#include <deque>
#include <memory>

/* Lives until the process ends, as the library asks. */
struct Functions {
    nb::object values, gradient, initial; /* gradient and initial may be None */
    locus_extension_kind kind;
};

/* Numbers for each place. */
static size_t width_of(const locus_extension_batch *batch, locus_extension_kind kind) {
    return kind == LOCUS_EXTENSION_ANGLES     ? batch->head_dim / 2
           : kind == LOCUS_EXTENSION_MATRICES ? batch->head_dim * batch->head_dim
                                              : 1;
}

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
        nb::list numbers;
        for (size_t j = 0; j < option.count; j++)
            numbers.append(option.list[j]);
        options.append(nb::make_tuple(option.text, option.number, numbers));
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

/* The library may ask for another head before it ends the call: the first exception is the one that counts. */
static bool has_failed(locus_error *error) {
    const bool before = PyErr_Occurred() != nullptr;
    if (before)
        std::strncpy(error->message, "a callback in Python raised an exception", sizeof error->message - 1);
    return before;
}

static locus_status failed(locus_error *error) {
    try {
        throw;
    } catch (nb::python_error &raised) {
        raised.restore();
    } catch (const std::exception &raised) {
        PyErr_SetString(PyExc_RuntimeError, raised.what());
    }
    (void)has_failed(error);
    return LOCUS_ERROR_ARGUMENT;
}

/* What registering.py hands back is float64, contiguous, and as long as it has to be. */
static const double *numbers_of(const Array &array, size_t count) {
    if (array.tensor.dtype != LOCUS_FLOAT64 || locus_tensor_count(&array.tensor) != count)
        raise_status(LOCUS_ERROR_SHAPE, "a callback returned " + std::to_string(locus_tensor_count(&array.tensor)) +
                                            " numbers; expected " + std::to_string(count) + " of float64");
    return static_cast<const double *>(array.tensor.data);
}

static locus_status values(const locus_extension_batch *batch, double *into, locus_error *error) {
    nb::gil_scoped_acquire held;
    if (has_failed(error))
        return LOCUS_ERROR_ARGUMENT;
    try {
        const Functions *own = static_cast<Functions *>(batch->context);
        const size_t count = batch->count * width_of(batch, own->kind);
        const Array array = Array::read(own->values(batch_of(batch)), "the callback's result");
        std::memcpy(into, numbers_of(array, count), count * sizeof *into);
        return LOCUS_OK;
    } catch (...) {
        return failed(error);
    }
}

static locus_status gradient(const locus_extension_batch *batch, const double *upstream, double *const *gradients,
                             locus_error *error) {
    nb::gil_scoped_acquire held;
    if (has_failed(error))
        return LOCUS_ERROR_ARGUMENT;
    try {
        const Functions *own = static_cast<Functions *>(batch->context);
        nb::object incoming = doubles(upstream, batch->count, width_of(batch, own->kind), true);
        const std::vector<Array> sums = read_all(own->gradient(batch_of(batch), incoming), "gradient");
        for (size_t i = 0; i < sums.size(); i++) {
            const size_t count = locus_tensor_count(&sums[i].tensor);
            const double *from = numbers_of(sums[i], count);
            for (size_t j = 0; j < count; j++)
                gradients[i][j] += from[j];
        }
        return LOCUS_OK;
    } catch (...) {
        return failed(error);
    }
}

/* None leaves what the description says. */
static locus_status initial(const locus_extension_batch *batch, size_t parameter, size_t elements, double *into,
                            locus_error *error) {
    nb::gil_scoped_acquire held;
    if (has_failed(error))
        return LOCUS_ERROR_ARGUMENT;
    try {
        const Functions *own = static_cast<Functions *>(batch->context);
        nb::object drawn = doubles(into, elements, 1, false);
        nb::object found = own->initial(batch_of(batch), parameter, drawn);
        if (!found.is_none()) {
            const Array array = Array::read(found, "initial values");
            std::memcpy(into, numbers_of(array, elements), elements * sizeof *into);
        }
        return LOCUS_OK;
    } catch (...) {
        return failed(error);
    }
}

/* ---- descriptions ---- */

/* What a description points at until it is registered: the library copies it. */
struct Described {
    std::deque<std::string> texts;
    std::vector<locus_option_info> options;
    std::vector<locus_extension_parameter> parameters;

    const char *keep(nb::handle object) {
        return texts.emplace_back(nb::cast<std::string>(object)).c_str();
    }
    /* (name, values, initial, meaning, kind, minimum, maximum) */
    void add_option(const nb::tuple &entry) {
        locus_option_info info{};
        info.name = keep(entry[0]);
        info.values = keep(entry[1]);
        info.initial = keep(entry[2]);
        info.meaning = keep(entry[3]);
        info.kind = static_cast<locus_option_kind>(nb::cast<int>(entry[4]));
        info.minimum = nb::cast<double>(entry[5]);
        info.maximum = nb::cast<double>(entry[6]);
        options.push_back(info);
    }
    /* (name, shape, initial, deviation, constraint) */
    void add_parameter(const nb::tuple &entry) {
        const std::vector<int64_t> shape = nb::cast<std::vector<int64_t>>(entry[1]);
        if (shape.empty() || shape.size() > LOCUS_MAX_RANK)
            raise_status(LOCUS_ERROR_SHAPE, "a parameter has 1 to 4 dimensions");
        locus_extension_parameter parameter{};
        parameter.size = sizeof parameter;
        parameter.name = keep(entry[0]);
        parameter.rank = shape.size();
        std::memcpy(parameter.shape, shape.data(), shape.size() * sizeof *parameter.shape);
        parameter.initial = nb::cast<double>(entry[2]);
        parameter.deviation = nb::cast<double>(entry[3]);
        parameter.constraint = static_cast<locus_constraint>(nb::cast<int>(entry[4]));
        parameters.push_back(parameter);
    }
};

/* `said` has a text or a number for each field of the description, and the functions. */
static void register_described(const nb::dict &said) {
    Described own;
    for (nb::handle entry : nb::borrow<nb::list>(said["options"]))
        own.add_option(nb::borrow<nb::tuple>(entry));
    for (nb::handle entry : nb::borrow<nb::list>(said["parameters"]))
        own.add_parameter(nb::borrow<nb::tuple>(entry));
    const auto text = [&](const char *key) { return said[key].is_none() ? nullptr : own.keep(said[key]); };
    const auto mask = [&](const char *key) { return nb::cast<unsigned>(said[key]); };
    const locus_extension_kind kind = static_cast<locus_extension_kind>(mask("kind"));
    auto functions = std::make_unique<Functions>(
        Functions{nb::borrow(said["values"]), nb::borrow(said["gradient"]), nb::borrow(said["initial"]), kind});
    locus_encoding_description description{};
    description.size = sizeof description;
    description.name = text("name");
    description.summary = text("summary");
    description.source = text("source");
    description.group = text("group");
    description.kind = kind;
    description.flags = mask("flags");
    description.laws = mask("laws");
    description.traits = mask("traits");
    description.option_count = own.options.size();
    description.options = own.options.data();
    description.parameter_count = own.parameters.size();
    description.parameters = own.parameters.data();
    description.context = functions.get();
    description.values = values;
    description.gradient = functions->gradient.is_none() ? nullptr : gradient;
    description.initialise = functions->initial.is_none() ? nullptr : initial;
    locus_error error{};
    check(locus_encoding_register(&description, &error), error);
    functions.release();
}

void registering_open(nb::module_ &module) {
    module.def("register", &register_described);
    module.def("parameter_values", &parameter_values);
}
