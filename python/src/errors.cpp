/* SPDX-License-Identifier: MIT */
/* Failures as exceptions: locus/errors.py says which class a status becomes. */
#include "binding.hpp"

[[noreturn]] static void raise_made(locus_status status, const char *message, const char *argument, ptrdiff_t offset,
                                    ptrdiff_t length) {
    nb::object made = nb::module_::import_("locus.errors")
                          .attr("error_of_status")(static_cast<int>(status), message, argument, offset, length);
    PyErr_SetObject(reinterpret_cast<PyObject *>(Py_TYPE(made.ptr())), made.ptr());
    throw nb::python_error();
}

/* Not `what()`, whose end and traceback depend on the interpreter that the module was built for. */
std::string line_of(const nb::python_error &raised) {
    const std::string kind = nb::cast<std::string>(nb::str(raised.type().attr("__name__")));
    const nb::object said = nb::steal(PyObject_Str(raised.value().ptr()));
    const nb::object bytes =
        nb::steal(said.is_valid() ? PyUnicode_AsEncodedString(said.ptr(), "utf-8", "backslashreplace") : nullptr);
    if (!bytes.is_valid()) { /* its own __str__ raises */
        PyErr_Clear();
        return kind;
    }
    const std::string text = kind + ": " + PyBytes_AsString(bytes.ptr());
    return text.substr(0, text.find('\n'));
}

void raise_error(const locus_error &error) {
    if (PyErr_Occurred())
        throw nb::python_error();
    const char *message = error.message[0] ? error.message : locus_status_text(error.status);
    raise_made(error.status, message, error.argument, error.offset, error.length);
}

void raise_status(locus_status status, const std::string &message) {
    raise_made(status, message.c_str(), "", -1, 0);
}
