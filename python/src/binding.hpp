/* SPDX-License-Identifier: MIT */
/* What the files of the extension module share: handles that own what the library counts, tensors made of what Python
 * hands in, calls that let other threads of Python run and answer Ctrl-C, and errors as exceptions.
 *
 * Every public class of the package is in Python (python/locus/); the module `_core` has the calls, with as little
 * around them as possible: what happens on each call of attention is written here. */
#ifndef LOCUS_PYTHON_BINDING_HPP
#define LOCUS_PYTHON_BINDING_HPP

#include <locus/locus.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <string>
#include <vector>

namespace nb = nanobind;

/* One owner's share of something that the library counts. */
template <typename T, void (*destroy)(T **)> struct Handle {
    T *p = nullptr;
    Handle() = default;
    explicit Handle(T *own) : p(own) {}
    Handle(Handle &&other) noexcept : p(other.p) {
        other.p = nullptr;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle() {
        destroy(&p);
    }
};
using Group = Handle<locus_group, locus_group_destroy>;
using Path = Handle<locus_path, locus_path_destroy>;
using Encoding = Handle<locus_encoding, locus_encoding_destroy>;
using Binding = Handle<locus_binding, locus_binding_destroy>;
using Positions = Handle<locus_positions, locus_positions_destroy>;
using Plan = Handle<locus_plan, locus_plan_destroy>;
using Kind = Handle<locus_attention_kind, locus_attention_kind_destroy>;

/* ---- errors.cpp ---- */

/* Raises the package's exception for a failure; an exception that Python has set already comes first. */
[[noreturn]] void raise_error(const locus_error &error);
[[noreturn]] void raise_status(locus_status status, const std::string &message);
/* An exception of Python's as one line: its class and what it says first. */
std::string line_of(const nb::python_error &raised);
inline void check(locus_status status, const locus_error &error) {
    if (status != LOCUS_OK)
        raise_error(error);
}

/* ---- arrays.cpp ---- */

/* A tensor over memory that Python owns, held until this goes away. */
class Array {
  public:
    locus_tensor tensor{};
    /* Anything with the buffer protocol, DLPack on the CPU or __array__; copied only if its last dimension is not
     * contiguous or an element is not aligned. */
    static Array read(nb::handle object, const char *name);
    /* A NumPy array to be written to: its own memory, or an error. */
    static Array write(nb::handle object, const char *name);
    /* A new NumPy array of this shape and type, of zeros if it is asked for. */
    static Array make(locus_dtype dtype, size_t rank, const int64_t *shape, bool zeros = false);
    nb::object object; /* what is returned to Python; of `make` the new array */

    Array() = default;
    Array(Array &&other) noexcept;
    Array(const Array &) = delete;
    Array &operator=(const Array &) = delete;
    ~Array();

  private:
    Py_buffer view{};
    bool viewed = false;
    nb::object owner;
    void take_buffer(nb::handle from, const char *name, int flags, bool bfloat);
    void take_any_buffer(nb::handle from, const char *name, int flags);
    void fill(const char *name, bool bfloat);
    bool take_dlpack(nb::handle from, const char *name);
    bool misplaced() const;
};

/* A new array shaped as `like`, its last dimension `last` (0: as it is); `rank_less` dimensions are left out behind.
 * `zeros`: for tensors with their sequences apart, of which the library leaves alone what is beyond the end of
 * a sequence. */
Array make_like(const locus_tensor &like, int64_t last, size_t rank_less, locus_dtype dtype, bool zeros);
std::vector<Array> read_all(nb::handle sequence, const char *name);
std::vector<Array> write_all(nb::handle sequence, const char *name);
std::vector<locus_tensor> tensors_of(const std::vector<Array> &arrays);

void arrays_open(nb::module_ &module);

/* ---- calls.cpp ---- */

/* A call of the library without the interpreter's lock. On the main thread it asks now and then whether a signal came;
 * what its handler raises ends the call. */
class Call {
  public:
    locus_execution execution = locus_execution_default();
    locus_error error{};
    Call();
    ~Call();
    Call(const Call &) = delete;
    /* Memory for the call, of the calling thread's own, kept for its next calls unless it is large. */
    void lend(size_t bytes);
    template <typename F> void run(F &&body) {
        locus_status status;
        {
            nb::gil_scoped_release released;
            status = body();
        }
        finish(status);
    }

  private:
    std::atomic<int32_t> stop{0};
    unsigned long thread;
    int64_t asked = 0;
    bool main_thread, scratch = false, failed = false;
    static int32_t cancelled(void *context);
    void finish(locus_status status);
};
void calls_open(nb::module_ &module);

/* ---- the other files: what they add to the module ---- */

void encodings_open(nb::module_ &module);
void places_open(nb::module_ &module); /* groups, paths, positions */
void plans_open(nb::module_ &module);
void attention_open(nb::module_ &module);
void forms_open(nb::module_ &module);
void caches_open(nb::module_ &module);
void registering_open(nb::module_ &module);
void importing_open(nb::module_ &module);
void memory_open(nb::module_ &module);
void tensors_open(nb::module_ &module);
void xla_open(nb::module_ &module); /* what JAX calls */

/* The text that a function of the library writes. */
template <typename F> std::string text_of(F &&write) {
    std::string text(write(nullptr, 0), '\0');
    write(text.data(), text.size() + 1);
    return text;
}

/* Whole numbers as they stand in a NumPy array. */
using Integers = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Sizes = nb::ndarray<const size_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Reals = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

#endif
