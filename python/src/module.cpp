/* SPDX-License-Identifier: MIT */
/* The extension module locus._core. */
#include "binding.hpp"

NB_MODULE(_core, module) {
    nb::set_leak_warnings(false); /* what is registered from Python lives until the process ends */
    module.doc() = "The calls of liblocus; use the classes of the package locus.";
    module.def("version", &locus_version);
    arrays_open(module);
    calls_open(module);
    encodings_open(module);
    places_open(module);
    plans_open(module);
    attention_open(module);
    forms_open(module);
    caches_open(module);
    registering_open(module);
    importing_open(module);
    memory_open(module);
    tensors_open(module);
    xla_open(module);
}
