/* SPDX-License-Identifier: MIT */
/* Plans for calls that XLA makes: of an encoding and sizes, which are known when a function is traced, and of positions
 * and parameters, which arrive with each call. Plans are kept by the bytes of these, so that a backward finds its
 * forward's, and a step of training makes anew what depends on parameters only. No code here needs Python's lock. */
#ifndef LOCUS_PYTHON_XLA_PLANS_HPP
#define LOCUS_PYTHON_XLA_PLANS_HPP

#include "binding.hpp"
#include "xla_frame.hpp"

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

namespace xla {

/* Fills the error's message and returns the status. */
locus_status fail(locus_error *error, locus_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What locus/jax says of a call: lines "name=value". */
class Said {
  public:
    explicit Said(std::string_view text);
    const std::string &text(const char *name) const; /* "" if it is not there */
    int64_t number(const char *name) const;          /* 0 if it is not there */
    double real(const char *name) const;             /* said by the bits of a double, as a number */

  private:
    std::map<std::string, std::string, std::less<>> values;
};

/* Things made of what is said, kept by the text; those not used for the longest time go. */
template <typename T> class Known {
  public:
    std::shared_ptr<T> find(std::string_view text, locus_error *error) {
        {
            std::lock_guard<std::mutex> held(lock);
            auto found = entries.find(text);
            if (found != entries.end()) {
                found->second.used = ++clock;
                return found->second.thing;
            }
        }
        std::shared_ptr<T> made = T::make(Said(text), error);
        std::lock_guard<std::mutex> held(lock);
        if (made)
            entries[std::string(text)] = {made, ++clock};
        while (entries.size() > most)
            drop_oldest();
        return made;
    }
    void clear() {
        std::lock_guard<std::mutex> held(lock);
        entries.clear();
    }

  private:
    struct Entry {
        std::shared_ptr<T> thing;
        uint64_t used = 0;
    };
    static constexpr size_t most = 256;
    std::mutex lock;
    std::map<std::string, Entry, std::less<>> entries;
    uint64_t clock = 0;

    void drop_oldest() {
        auto oldest = entries.begin();
        for (auto entry = entries.begin(); entry != entries.end(); ++entry)
            if (entry->second.used < oldest->second.used)
                oldest = entry;
        entries.erase(oldest);
    }
};

/* An operand or a result, or the part of it that one turn of a loop works on. */
struct Part {
    int32_t element = 0;
    char *data = nullptr;
    size_t rank = 0, bytes = 0;
    int64_t shape[LOCUS_MAX_RANK + 1] = {0};

    size_t count() const; /* of elements */
    locus_status tensor(const char *name, locus_tensor *tensor, locus_error *error) const;
};

/* What a plan is made for; parts are NULL where nothing is said. */
struct Wanted {
    int64_t batch = 0;             /* sequences, or 0: packed by offsets */
    int64_t queries = 0, keys = 0; /* of each sequence, or of all of them */
    const Part *places = nullptr, *key_places = nullptr, *offsets = nullptr, *key_offsets = nullptr;
    std::vector<const Part *> parameters;
    const locus_execution *execution = nullptr; /* how what is missing is made; its workspace is not used */
};

/* A plan, by the bytes of what it was made for. */
struct KeptPlan {
    std::string places, values;
    Binding binding;
    Plan plan;
    bool gaps = false; /* rows of tensors that belong to no sequence */
    size_t bytes() const;
};

/* All plans of an encoding and sizes. */
class PlanSource {
  public:
    static std::shared_ptr<PlanSource> make(const Said &said, locus_error *error);
    std::shared_ptr<const KeptPlan> plan(const Wanted &wanted, locus_error *error);
    bool own = false;                        /* has callbacks in Python */
    static std::atomic<uint64_t> plans_made; /* for tests */

  private:
    static constexpr size_t most = 64, most_bytes = size_t{256} << 20;
    Encoding encoding;
    locus_shape shape = locus_shape_default();
    Group group;
    std::string place, key_place;
    int64_t folds = 1;
    std::mutex lock;
    std::list<std::shared_ptr<const KeptPlan>> kept; /* the last used one first */
    size_t kept_bytes = 0;
    Binding first; /* what others are updated from */

    std::shared_ptr<const KeptPlan> find(const Wanted &wanted, std::shared_ptr<const KeptPlan> *near);
    void keep(const std::shared_ptr<const KeptPlan> &made);
    locus_status bind(const Wanted &wanted, Binding *binding, locus_error *error);
    locus_status place_tokens(const Wanted &wanted, KeptPlan *made, locus_error *error) const;
};

/* ---- xla_positions.cpp ---- */

/* Positions of `tokens` tokens (packed), or of `batch` sequences of that many: `place` says how `values` are to be read
 * (count, whole, real, words, texts), `offsets` may be NULL. All of it `folds` times, one after the other, where the
 * values are those of one time. `gaps` is set if rows of tensors belong to no sequence. */
struct Placing {
    const locus_group *group;
    const std::string &place;
    const Part *values, *offsets;
    int64_t batch, tokens, folds;
};
locus_status make_positions(const Placing &placing, Positions *positions, bool *gaps, locus_error *error);

} // namespace xla

#endif
