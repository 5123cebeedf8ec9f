/* SPDX-License-Identifier: MIT */
/* Caches of keys and values, and re-basing of keys. A cache is for one thread at a time: another one that comes is told
 * so, rather than kept waiting. */
#include "attention.hpp"

struct Cache {
    locus_cache *p = nullptr;
    std::atomic<bool> busy{false};
    ~Cache() {
        locus_cache_destroy(&p);
    }
};

class Use {
  public:
    explicit Use(Cache &used) : cache(used) {
        if (cache.busy.exchange(true))
            raise_status(LOCUS_ERROR_ARGUMENT, "the cache is in use by another thread");
    }
    ~Use() {
        cache.busy.store(false);
    }
    Use(const Use &) = delete;

  private:
    Cache &cache;
};

static void create(Cache *cache, const Binding &binding, size_t sequences, size_t capacity, int dtype, size_t length) {
    new (cache) Cache();
    locus_cache_options options = locus_cache_options_default();
    options.sequences = sequences;
    options.capacity = capacity;
    options.dtype = static_cast<locus_dtype>(dtype);
    options.length = length;
    locus_error error{};
    const locus_status status = locus_cache_create(&cache->p, binding.p, &options, &error);
    if (status != LOCUS_OK) {
        cache->~Cache();
        raise_error(error);
    }
}

static void append(Cache &cache, nb::handle key, nb::handle value, const Positions *positions) {
    Use use(cache);
    const Array k = Array::read(key, "k"), v = Array::read(value, "v");
    Call call;
    call.run([&] {
        return locus_cache_append(cache.p, positions ? positions->p : nullptr, &k.tensor, &v.tensor, &call.execution,
                                  &call.error);
    });
}

static void queries(Cache &cache, const Positions *positions) {
    Use use(cache);
    Call call;
    call.run(
        [&] { return locus_cache_queries(cache.p, positions ? positions->p : nullptr, &call.execution, &call.error); });
}

static nb::object attend(Cache &cache, nb::handle query, size_t value_dim, bool causal, double scale, nb::handle bias,
                         nb::tuple rest) {
    Use use(cache);
    const Array q = Array::read(query, "q");
    const Options own(causal, nullptr, scale, bias, rest);
    Array output = make_like(q.tensor, static_cast<int64_t>(value_dim), 0, q.tensor.dtype, q.tensor.rank == 4);
    Call call;
    call.run([&] {
        return locus_cache_attend(cache.p, &own.options, &q.tensor, &output.tensor, &call.execution, &call.error);
    });
    return output.object;
}

static void shorten(Cache &cache, size_t sequence, size_t length) {
    Use use(cache);
    locus_error error{};
    check(locus_cache_truncate(cache.p, sequence, length, &error), error);
}

static void evict(Cache &cache, size_t sequence, size_t first, size_t count, const Path *shift) {
    Use use(cache);
    Call call;
    call.run([&] {
        return locus_cache_evict(cache.p, sequence, first, count, shift ? shift->p : nullptr, &call.execution,
                                 &call.error);
    });
}

static void insert(Cache &cache, size_t sequence, Cache &source, size_t from, size_t first, size_t count,
                   const Path *shift) {
    Use use(cache);
    std::optional<Use> other;
    if (&source != &cache)
        other.emplace(source);
    const locus_cache_fragment fragment = {sizeof fragment, source.p, from, first, count, shift ? shift->p : nullptr};
    Call call;
    call.run([&] { return locus_cache_insert(cache.p, sequence, &fragment, &call.execution, &call.error); });
}

static nb::object kept(Cache &cache, size_t sequence, bool keys) {
    Use use(cache);
    const locus_tensor from = keys ? locus_cache_keys(cache.p, sequence) : locus_cache_values(cache.p, sequence);
    Array to = Array::make(from.dtype, from.rank, from.shape);
    locus_error error{};
    check(locus_tensor_convert(&from, &to.tensor, &error), error);
    return to.object;
}

/* In place. */
static void shift_keys(const Binding &binding, const Path &path, nb::handle keys, int role, size_t length) {
    const Array own = Array::write(keys, "keys");
    locus_plan_options options = locus_plan_options_default();
    options.length = length;
    Call call;
    options.execution = &call.execution;
    call.run([&] {
        return locus_keys_shift(binding.p, path.p, &options, static_cast<locus_role>(role), &own.tensor, &call.error);
    });
}

void caches_open(nb::module_ &module) {
    nb::class_<Cache>(module, "Cache")
        .def("__init__", &create)
        .def("bytes", [](const Cache &cache) { return locus_cache_bytes(cache.p); })
        .def("length", [](const Cache &cache, size_t sequence) { return locus_cache_length(cache.p, sequence); })
        .def("append", &append, nb::arg().none(), nb::arg().none(), nb::arg().none())
        .def("queries", &queries, nb::arg().none())
        .def("attend", &attend, nb::arg().none(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg())
        .def("truncate", &shorten)
        .def("evict", &evict, nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
        .def("insert", &insert, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg().none())
        .def("kept", &kept);
    module.def("shift_keys", &shift_keys);
}
