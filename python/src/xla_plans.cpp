/* SPDX-License-Identifier: MIT */
/* Plans of calls that XLA makes, kept. */
#include "xla_plans.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace xla {

locus_status fail(locus_error *error, locus_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    error->status = status;
    return status;
}

/* ---- what is said ---- */

Said::Said(std::string_view text) {
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        const size_t equals = std::min(line.find('='), line.size());
        values[std::string(line.substr(0, equals))] = line.substr(std::min(equals + 1, line.size()));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

const std::string &Said::text(const char *name) const {
    static const std::string none;
    auto found = values.find(std::string_view(name));
    return found == values.end() ? none : found->second;
}

int64_t Said::number(const char *name) const {
    return std::strtoll(text(name).c_str(), nullptr, 10);
}

double Said::real(const char *name) const {
    const uint64_t bits = std::strtoull(text(name).c_str(), nullptr, 10);
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

/* ---- parts ---- */

size_t Part::count() const {
    size_t elements = 1;
    for (size_t i = 0; i < rank; i++)
        elements *= static_cast<size_t>(shape[i]);
    return elements;
}

static int dtype_of(int32_t element) {
    switch (element) {
    case F32:
        return LOCUS_FLOAT32;
    case F64:
        return LOCUS_FLOAT64;
    case F16:
        return LOCUS_FLOAT16;
    case BF16:
        return LOCUS_BFLOAT16;
    default:
        return 0;
    }
}

locus_status Part::tensor(const char *name, locus_tensor *tensor, locus_error *error) const {
    const int dtype = dtype_of(element);
    if (!dtype) {
        return fail(error, LOCUS_ERROR_DTYPE,
                    "%s must be of float32, float64, float16 or bfloat16, not of type %d of XLA", name, element);
    }
    if (rank > LOCUS_MAX_RANK)
        return fail(error, LOCUS_ERROR_SHAPE, "%s has %zu dimensions; at most 4 are expected", name, rank);
    *tensor = locus_tensor_view(data, static_cast<locus_dtype>(dtype), rank, shape);
    return LOCUS_OK;
}

/* ---- keys: the bytes that a plan was made of ---- */

class Key {
  public:
    void add(const void *data, size_t bytes) {
        pieces.emplace_back(static_cast<const char *>(data), bytes);
        total += bytes;
    }
    /* What kind of part, then its shape and what is in it. `kind` must live as long as the key, as the part does. */
    void add(const Part *part, int64_t *kind) {
        *kind = part ? static_cast<int64_t>(part->rank) * 64 + part->element : -1;
        add(kind, sizeof *kind);
        if (!part)
            return;
        add(part->shape, part->rank * sizeof *part->shape);
        add(part->data, part->bytes);
    }
    bool equals(const std::string &text) const {
        size_t at = 0;
        if (text.size() != total)
            return false;
        for (const auto &[data, bytes] : pieces) {
            if (bytes && std::memcmp(text.data() + at, data, bytes) != 0)
                return false;
            at += bytes;
        }
        return true;
    }
    std::string text() const {
        std::string all;
        all.reserve(total);
        for (const auto &[data, bytes] : pieces)
            all.append(data, bytes);
        return all;
    }

  private:
    std::vector<std::pair<const char *, size_t>> pieces;
    size_t total = 0;
};

struct Keys {
    int64_t sizes[3], kinds[4];
    std::vector<int64_t> parameter_kinds;
    Key places, values;

    explicit Keys(const Wanted &wanted) : sizes{wanted.batch, wanted.queries, wanted.keys} {
        places.add(sizes, sizeof sizes);
        const Part *parts[] = {wanted.places, wanted.key_places, wanted.offsets, wanted.key_offsets};
        for (int i = 0; i < 4; i++)
            places.add(parts[i], &kinds[i]);
        parameter_kinds.resize(wanted.parameters.size());
        for (size_t i = 0; i < wanted.parameters.size(); i++)
            values.add(wanted.parameters[i], &parameter_kinds[i]);
    }
    Keys(const Keys &) = delete;
};

size_t KeptPlan::bytes() const {
    return places.size() + values.size() + locus_plan_bytes(plan.p);
}

/* ---- sources ---- */

std::atomic<uint64_t> PlanSource::plans_made;

std::shared_ptr<PlanSource> PlanSource::make(const Said &said, locus_error *error) {
    auto source = std::make_shared<PlanSource>();
    if (locus_encoding_parse(said.text("spec").c_str(), &source->encoding.p, error) != LOCUS_OK ||
        locus_group_parse(said.text("group").c_str(), &source->group.p, error) != LOCUS_OK)
        return nullptr;
    source->shape.heads = static_cast<size_t>(said.number("heads"));
    source->shape.head_dim = static_cast<size_t>(said.number("head_dim"));
    source->shape.kv_heads = static_cast<size_t>(said.number("kv_heads"));
    source->shape.value_dim = static_cast<size_t>(said.number("value_dim"));
    source->shape.model_dim = static_cast<size_t>(said.number("model_dim"));
    source->place = said.text("place");
    source->key_place = said.text("key_place");
    source->folds = said.number("folds");
    source->own = (locus_encoding_traits(source->encoding.p) & LOCUS_TRAIT_OWN) != 0;
    return source;
}

/* The plan of these bytes; else `near` is one on the same positions with other parameters, if there is any. */
std::shared_ptr<const KeptPlan> PlanSource::find(const Wanted &wanted, std::shared_ptr<const KeptPlan> *near) {
    const Keys keys(wanted);
    std::lock_guard<std::mutex> held(lock);
    for (auto each = kept.begin(); each != kept.end(); ++each) {
        if (!keys.places.equals((*each)->places))
            continue;
        if (keys.values.equals((*each)->values)) {
            kept.splice(kept.begin(), kept, each);
            return kept.front();
        }
        if (!*near)
            *near = *each;
    }
    return nullptr;
}

void PlanSource::keep(const std::shared_ptr<const KeptPlan> &made) {
    std::list<std::shared_ptr<const KeptPlan>> gone; /* let go of without the lock */
    std::lock_guard<std::mutex> held(lock);
    kept.push_front(made);
    kept_bytes += made->bytes();
    while (kept.size() > 1 && (kept.size() > most || kept_bytes > most_bytes)) {
        kept_bytes -= kept.back()->bytes();
        gone.splice(gone.begin(), kept, std::prev(kept.end()));
    }
}

locus_status PlanSource::bind(const Wanted &wanted, Binding *binding, locus_error *error) {
    std::vector<locus_tensor> tensors(wanted.parameters.size());
    for (size_t i = 0; i < tensors.size(); i++) {
        const locus_status status = wanted.parameters[i]->tensor("a parameter", &tensors[i], error);
        if (status != LOCUS_OK)
            return status;
    }
    {
        std::lock_guard<std::mutex> held(lock);
        if (first.p)
            binding->p = locus_binding_retain(first.p);
    }
    if (binding->p)
        return tensors.empty()
                   ? LOCUS_OK
                   : locus_binding_update_with(&binding->p, tensors.data(), tensors.size(), wanted.execution, error);
    const locus_status status = locus_binding_create_with(&binding->p, encoding.p, &shape, tensors.data(),
                                                          tensors.size(), wanted.execution, error);
    std::lock_guard<std::mutex> held(lock);
    if (status == LOCUS_OK && !first.p)
        first.p = locus_binding_retain(binding->p);
    return status;
}

locus_status PlanSource::place_tokens(const Wanted &wanted, KeptPlan *made, locus_error *error) const {
    Positions queries, others;
    const Placing own = {group.p, place, wanted.places, wanted.offsets, wanted.batch, wanted.queries, folds};
    locus_status status = make_positions(own, &queries, &made->gaps, error);
    if (status == LOCUS_OK && !key_place.empty()) {
        const Part *packing = wanted.key_offsets || wanted.batch ? wanted.key_offsets : wanted.offsets;
        const Placing of_keys = {group.p, key_place, wanted.key_places, packing, wanted.batch, wanted.keys, folds};
        status = make_positions(of_keys, &others, &made->gaps, error);
    }
    if (status != LOCUS_OK)
        return status;
    locus_plan_options options = locus_plan_options_default();
    options.execution = wanted.execution;
    return locus_plan_create_with(&made->plan.p, made->binding.p, queries.p, others.p, &options, error);
}

std::shared_ptr<const KeptPlan> PlanSource::plan(const Wanted &wanted, locus_error *error) {
    std::shared_ptr<const KeptPlan> near;
    if (std::shared_ptr<const KeptPlan> found = find(wanted, &near))
        return found;
    auto made = std::make_shared<KeptPlan>();
    if (bind(wanted, &made->binding, error) != LOCUS_OK)
        return nullptr;
    locus_status status;
    if (near) {
        made->gaps = near->gaps;
        made->plan.p = locus_plan_retain(near->plan.p);
        status = locus_plan_refresh(&made->plan.p, made->binding.p, wanted.execution, error);
    } else {
        status = place_tokens(wanted, made.get(), error);
    }
    if (status != LOCUS_OK)
        return nullptr;
    plans_made++;
    const Keys keys(wanted);
    made->places = keys.places.text();
    made->values = keys.values.text();
    keep(made);
    return made;
}

} // namespace xla
