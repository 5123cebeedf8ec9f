/* SPDX-License-Identifier: MIT */
/* Options of attention from what Python says. */
#ifndef LOCUS_PYTHON_ATTENTION_HPP
#define LOCUS_PYTHON_ATTENTION_HPP

#include "binding.hpp"

#include <optional>

/* `rest` is () or (dropout, seed, cap, window, keep, prefix of each sequence or []). Holds what options point at. */
struct Options {
    locus_attention_options options;
    std::optional<Array> bias;
    std::vector<size_t> prefix;
    Options(bool causal, const Kind *kind, double scale, nb::handle bias_array, const nb::tuple &rest);
    Options(const Options &) = delete;
};

#endif
