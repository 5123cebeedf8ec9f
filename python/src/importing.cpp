/* SPDX-License-Identifier: MIT */
/* A model's configuration as the program's reader of rotary settings takes it: plain values, made of what Python hands
 * in (locus/importing.py): None, bool, int, float, str, list, and objects as tuples of (key, value), in order and with
 * keys that come again. */
#include "binding.hpp"

#include <cmath>
#include <deque>

extern "C" {
#include "rope/rope_config.h"
}

struct Values {
    std::deque<lab_value> nodes; /* which do not move */
    std::deque<std::string> texts;

    const char *keep(nb::handle text) {
        return texts.emplace_back(nb::cast<std::string>(text)).c_str();
    }
    lab_value *make(nb::handle value);

  private:
    void fill(lab_value &node, nb::handle items, bool object);
};

void Values::fill(lab_value &node, nb::handle items, bool object) {
    lab_value **place = &node.child;
    for (nb::handle item : items) {
        nb::object key = object ? nb::borrow(item)[0] : nb::none(),
                   value = object ? nb::borrow(item)[1] : nb::borrow(item);
        *place = make(value);
        (*place)->key = object ? keep(key) : nullptr;
        place = &(*place)->next;
    }
}

/* As JSON has it, true and false are no numbers. */
lab_value *Values::make(nb::handle value) {
    lab_value &node = nodes.emplace_back();
    node = {};
    if (PyBool_Check(value.ptr())) {
        node.kind = value.ptr() == Py_True ? LAB_VALUE_TRUE : LAB_VALUE_FALSE;
    } else if (PyLong_Check(value.ptr()) || PyFloat_Check(value.ptr())) {
        node.kind = LAB_VALUE_NUMBER;
        node.number = PyFloat_AsDouble(value.ptr());
        if (PyErr_Occurred()) { /* an integer beyond all doubles */
            PyErr_Clear();
            node.number = HUGE_VAL;
        }
    } else if (PyUnicode_Check(value.ptr())) {
        node.kind = LAB_VALUE_TEXT;
        node.text = keep(value);
    } else if (PyTuple_Check(value.ptr()) || PyList_Check(value.ptr())) {
        node.kind = PyTuple_Check(value.ptr()) ? LAB_VALUE_OBJECT : LAB_VALUE_LIST;
        fill(node, value, node.kind == LAB_VALUE_OBJECT);
    }
    return &node;
}

struct Config : lab_rope_config {
    Config() : lab_rope_config() {}
    Config(const Config &) = delete;
    ~Config() {
        lab_rope_config_free(this);
    }
};

/* What the library wrote may end in the middle of a character. */
static nb::object shown(const char *text) {
    return nb::steal(
        PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::char_traits<char>::length(text)), "ignore"));
}

/* (spec, attention, model_type, head_dim, length, notes); ValueError("has a field …"). */
static nb::object import_rope(nb::tuple root) {
    Values values;
    Config config;
    locus_error error{};
    const locus_status status = lab_rope_read(&config, values.make(root), &error);
    if (status == LOCUS_ERROR_MEMORY)
        raise_error(error);
    if (status != LOCUS_OK) {
        PyErr_SetObject(PyExc_ValueError, shown(error.message).ptr());
        throw nb::python_error();
    }
    nb::list notes;
    for (size_t i = 0; i < config.note_count; i++)
        notes.append(shown(config.notes[i].text));
    return nb::make_tuple(config.spec, config.attention, shown(config.model_type), config.head_dim, config.length,
                          nb::tuple(notes));
}

void importing_open(nb::module_ &module) {
    module.def("import_rope", &import_rope);
}
