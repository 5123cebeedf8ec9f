/* SPDX-License-Identifier: MIT */
/* Arrays in and out. In: the buffer protocol (NumPy, memoryview, …), DLPack on the CPU (PyTorch, JAX, …), or whatever
 * numpy.asarray takes. Out: NumPy. bfloat16 is ml_dtypes', which has no buffer: its bits are looked at as uint16. */
#include "binding.hpp"

#include <cstring>

/* What is looked up once; never let go of, because a module of this kind is not unloaded. */
struct Numpy {
    PyObject *empty, *zeros, *asarray, *ascontiguousarray, *dtypes[4], *uint16, *bfloat16;
};
static Numpy numpy;

static PyObject *keep(nb::object object) {
    return object.release().ptr();
}

void arrays_open(nb::module_ &) {
    nb::module_ np = nb::module_::import_("numpy");
    numpy.empty = keep(np.attr("empty"));
    numpy.zeros = keep(np.attr("zeros"));
    numpy.asarray = keep(np.attr("asarray"));
    numpy.ascontiguousarray = keep(np.attr("ascontiguousarray"));
    numpy.uint16 = keep(np.attr("dtype")("uint16"));
    static const char *const names[] = {"float32", "float64", "float16", "uint16"};
    for (int i = 0; i < 4; i++)
        numpy.dtypes[i] = keep(np.attr("dtype")(names[i]));
}

static nb::handle bfloat16_type() {
    if (!numpy.bfloat16) {
        try {
            numpy.bfloat16 =
                keep(nb::module_::import_("numpy").attr("dtype")(nb::module_::import_("ml_dtypes").attr("bfloat16")));
        } catch (nb::python_error &) {
            raise_status(LOCUS_ERROR_UNSUPPORTED,
                         "arrays of bfloat16 need the package ml_dtypes: pip install ml_dtypes");
        }
    }
    return numpy.bfloat16;
}

static locus_dtype dtype_of_format(const char *format, Py_ssize_t bytes, const char *name) {
    const char *f = format ? format : "B";
    const uint16_t one = 1;
    const bool little = *reinterpret_cast<const char *>(&one) == 1;
    const bool native = *f != (little ? '>' : '<') && !(little && *f == '!');
    f += *f == '@' || *f == '=' || *f == '<' || *f == '>' || *f == '!';
    if (native && std::strlen(f) == 1) {
        if (*f == 'f' && bytes == 4)
            return LOCUS_FLOAT32;
        if (*f == 'd' && bytes == 8)
            return LOCUS_FLOAT64;
        if (*f == 'e' && bytes == 2)
            return LOCUS_FLOAT16;
    }
    raise_status(LOCUS_ERROR_DTYPE, std::string(name) + " has elements of format '" + (format ? format : "B") +
                                        "'; expected float32, float64, float16 or bfloat16");
}

static void fill_shape(locus_tensor &tensor, const char *name, int rank) {
    if (rank > LOCUS_MAX_RANK) {
        raise_status(LOCUS_ERROR_SHAPE,
                     std::string(name) + " has " + std::to_string(rank) + " dimensions; at most 4 are expected");
    }
    tensor.rank = static_cast<size_t>(rank);
    tensor.device = LOCUS_DEVICE_HOST;
}

Array::Array(Array &&other) noexcept
    : tensor(other.tensor), object(std::move(other.object)), view(other.view), viewed(other.viewed),
      owner(std::move(other.owner)) {
    other.viewed = false;
}

Array::~Array() {
    if (viewed)
        PyBuffer_Release(&view);
}

void Array::take_buffer(nb::handle from, const char *name, int flags, bool bfloat) {
    if (PyObject_GetBuffer(from.ptr(), &view, flags) != 0)
        throw nb::python_error();
    fill(name, bfloat);
}

void Array::fill(const char *name, bool bfloat) {
    viewed = true;
    tensor.data = view.buf;
    tensor.dtype = bfloat ? LOCUS_BFLOAT16 : dtype_of_format(view.format, view.itemsize, name);
    fill_shape(tensor, name, view.ndim);
    for (int i = 0; i < view.ndim; i++) {
        tensor.shape[i] = view.shape[i];
        /* Not whole elements: 0 along a dimension that has to be copied (misplaced). */
        tensor.stride[i] = view.strides[i] % view.itemsize == 0 ? view.strides[i] / view.itemsize : INT64_MIN;
        if (tensor.shape[i] <= 1)
            tensor.stride[i] = 1;
    }
}

bool Array::take_dlpack(nb::handle from, const char *name) {
    using Any = nb::ndarray<nb::ro>;
    Any array;
    if (!nb::try_cast<Any>(nb::borrow<nb::object>(from), array, false))
        return false;
    if (array.device_type() != nb::device::cpu::value)
        raise_status(LOCUS_ERROR_DTYPE, std::string(name) + " is not in the CPU's memory; copy it there first");
    const nb::dlpack::dtype type = array.dtype();
    const bool bfloat = type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Bfloat) && type.bits == 16;
    const bool real = type.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Float);
    if (type.lanes != 1 || (!bfloat && !(real && (type.bits == 16 || type.bits == 32 || type.bits == 64)))) {
        raise_status(LOCUS_ERROR_DTYPE, std::string(name) + " has elements of another type than float32, float64, "
                                                            "float16 and bfloat16");
    }
    tensor.dtype = bfloat            ? LOCUS_BFLOAT16
                   : type.bits == 16 ? LOCUS_FLOAT16
                   : type.bits == 32 ? LOCUS_FLOAT32
                                     : LOCUS_FLOAT64;
    fill_shape(tensor, name, static_cast<int>(array.ndim()));
    tensor.data = const_cast<void *>(array.data());
    for (size_t i = 0; i < tensor.rank; i++) {
        tensor.shape[i] = static_cast<int64_t>(array.shape(i));
        tensor.stride[i] = tensor.shape[i] <= 1 ? 1 : array.stride(i);
    }
    owner = nb::cast(std::move(array), nb::rv_policy::automatic);
    return true;
}

bool Array::misplaced() const {
    const size_t bytes = locus_dtype_size(tensor.dtype);
    bool bad = reinterpret_cast<uintptr_t>(tensor.data) % bytes != 0;
    for (size_t i = 0; i < tensor.rank; i++)
        bad = bad || tensor.stride[i] == INT64_MIN;
    return bad || (tensor.rank > 0 && tensor.stride[tensor.rank - 1] != 1);
}

static bool is_bfloat16(nb::handle object) {
    nb::object type = nb::getattr(object, "dtype", nb::none());
    return nb::hasattr(type, "name") && nb::cast<std::string>(nb::str(type.attr("name"))) == "bfloat16";
}

/* An array of bfloat16 has no buffer of its own, hence is looked at only after it was refused. */
void Array::take_any_buffer(nb::handle from, const char *name, int flags) {
    if (PyObject_GetBuffer(from.ptr(), &view, flags) == 0) {
        fill(name, false);
        return;
    }
    nb::python_error refused;
    if (!is_bfloat16(from)) {
        if ((flags & PyBUF_WRITABLE) == 0 || refused.matches(PyExc_ValueError))
            raise_status(LOCUS_ERROR_DTYPE, std::string(name) + ": " + line_of(refused));
        throw refused;
    }
    take_buffer(from.attr("view")(nb::handle(numpy.uint16)), name, flags, true);
}

static nb::object called(PyObject *function, nb::handle argument) {
    PyObject *result = PyObject_CallFunctionObjArgs(function, argument.ptr(), nullptr);
    if (!result)
        throw nb::python_error();
    return nb::steal(result);
}

Array Array::read(nb::handle object, const char *name) {
    Array array;
    nb::object from = nb::borrow(object);
    for (int attempt = 0;; attempt++) {
        bool buffer = PyObject_CheckBuffer(from.ptr());
        if (buffer || !nb::hasattr(from, "__dlpack__")) {
            if (!buffer)
                from = called(numpy.asarray, from);
            array.take_any_buffer(from, name, PyBUF_STRIDES | PyBUF_FORMAT);
        } else if (!array.take_dlpack(from, name)) {
            raise_status(LOCUS_ERROR_DTYPE, std::string(name) + " is no array: expected NumPy, the buffer protocol, "
                                                                "DLPack on the CPU, or a list of numbers");
        }
        if (attempt > 0 || !array.misplaced())
            return array;
        from = called(numpy.ascontiguousarray, from);
        array.~Array();
        new (&array) Array();
    }
}

Array Array::write(nb::handle object, const char *name) {
    Array array;
    array.take_any_buffer(object, name, PyBUF_STRIDES | PyBUF_FORMAT | PyBUF_WRITABLE);
    if (array.misplaced())
        raise_status(LOCUS_ERROR_SHAPE, std::string(name) + " is written to, so its last dimension must be contiguous");
    array.object = nb::borrow(object);
    return array;
}

Array Array::make(locus_dtype dtype, size_t rank, const int64_t *shape, bool zeros) {
    Array array;
    nb::object sizes = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(rank)));
    for (size_t i = 0; i < rank; i++)
        PyTuple_SetItem(sizes.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
    nb::handle bfloat = dtype == LOCUS_BFLOAT16 ? bfloat16_type() : nb::handle();
    PyObject *made =
        PyObject_CallFunctionObjArgs(zeros ? numpy.zeros : numpy.empty, sizes.ptr(), numpy.dtypes[dtype - 1], nullptr);
    if (!made)
        throw nb::python_error();
    array.object = nb::steal(made);
    array.take_buffer(array.object, "output", PyBUF_STRIDES | PyBUF_FORMAT | PyBUF_WRITABLE, bfloat.is_valid());
    if (bfloat.is_valid())
        array.object = array.object.attr("view")(bfloat);
    return array;
}

Array make_like(const locus_tensor &like, int64_t last, size_t rank_less, locus_dtype dtype, bool zeros) {
    int64_t shape[LOCUS_MAX_RANK];
    std::memcpy(shape, like.shape, sizeof shape);
    const size_t rank = like.rank > rank_less ? like.rank - rank_less : 0;
    if (last && rank)
        shape[rank - 1] = last;
    return Array::make(dtype, rank, shape, zeros);
}

std::vector<Array> read_all(nb::handle sequence, const char *name) {
    std::vector<Array> arrays;
    for (nb::handle object : nb::borrow<nb::list>(sequence))
        arrays.push_back(Array::read(object, name));
    return arrays;
}

std::vector<Array> write_all(nb::handle sequence, const char *name) {
    std::vector<Array> arrays;
    for (nb::handle object : nb::borrow<nb::list>(sequence))
        arrays.push_back(Array::write(object, name));
    return arrays;
}

std::vector<locus_tensor> tensors_of(const std::vector<Array> &arrays) {
    std::vector<locus_tensor> tensors;
    for (const Array &array : arrays)
        tensors.push_back(array.tensor);
    return tensors;
}
