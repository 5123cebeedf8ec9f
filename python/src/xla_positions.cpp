/* SPDX-License-Identifier: MIT */
/* Positions of the arrays that XLA hands over. */
#include "xla_plans.hpp"

#include <cstring>

namespace xla {

/* ---- numbers of any type ---- */

template <typename To> static bool widened(const Part &part, std::vector<To> *to) {
    const size_t count = part.count();
    auto copy = [&](auto *from) {
        to->reserve(count);
        for (size_t i = 0; i < count; i++)
            to->push_back(static_cast<To>(from[i]));
        return true;
    };
    switch (part.element) {
    case S32:
        return copy(reinterpret_cast<const int32_t *>(part.data));
    case S64:
        return copy(reinterpret_cast<const int64_t *>(part.data));
    case F32:
        return copy(reinterpret_cast<const float *>(part.data));
    case F64:
        return copy(reinterpret_cast<const double *>(part.data));
    case U32: /* the halves of numbers of 64 bits, which JAX may not have */
        to->resize(count / 2);
        std::memcpy(to->data(), part.data, count / 2 * sizeof(To));
        return true;
    default:
        return false;
    }
}

static locus_status read_whole(const Part &part, const char *name, std::vector<int64_t> *to, locus_error *error) {
    if (part.element == F32 || part.element == F64 || !widened(part, to))
        return fail(error, LOCUS_ERROR_DTYPE, "%s must be whole numbers of 32 or 64 bits", name);
    return LOCUS_OK;
}

/* ---- packing ---- */

struct Packed {
    std::vector<size_t> offsets, lengths;
    size_t row = 0; /* tokens of one fold's positions */
    bool gaps = false;
    locus_packing packing() const {
        return {sizeof(locus_packing), offsets.size() - 1, offsets.data(), lengths.empty() ? nullptr : lengths.data()};
    }
};

static void pack_evenly(const Placing &placing, Packed *packed) {
    for (int64_t i = 0; i <= placing.batch; i++)
        packed->offsets.push_back(static_cast<size_t>(i * placing.tokens));
    packed->row = static_cast<size_t>(placing.batch / placing.folds * placing.tokens);
}

/* Whether one fold's cumulative lengths begin with 0, rise, and end within the buffer. */
static locus_status check_offsets(const int64_t *offsets, size_t count, int64_t most, locus_error *error) {
    if (offsets[0] != 0)
        return fail(error, LOCUS_ERROR_ARGUMENT, "offsets must begin with 0, not with %lld",
                    static_cast<long long>(offsets[0]));
    for (size_t i = 1; i < count; i++)
        if (offsets[i] < offsets[i - 1])
            return fail(error, LOCUS_ERROR_ARGUMENT, "offsets must not decrease: number %zu is %lld after %lld", i,
                        static_cast<long long>(offsets[i]), static_cast<long long>(offsets[i - 1]));
    if (most >= 0 && offsets[count - 1] > most)
        return fail(error, LOCUS_ERROR_ARGUMENT, "offsets end with %lld, but there are %lld tokens",
                    static_cast<long long>(offsets[count - 1]), static_cast<long long>(most));
    return LOCUS_OK;
}

/* Sequences of tensors with their sequences apart, of lengths of their own: positions have no gaps, tensors may. */
static locus_status pack_padded(const Placing &placing, const std::vector<int64_t> &own, size_t count, Packed *packed,
                                locus_error *error) {
    const size_t rows = own.size() / count;
    if (static_cast<int64_t>(count - 1) * placing.folds != placing.batch)
        return fail(error, LOCUS_ERROR_SHAPE, "a batch of %lld sequences has positions of %zu",
                    static_cast<long long>(placing.batch / placing.folds), count - 1);
    packed->offsets.push_back(0);
    for (size_t fold = 0; fold < static_cast<size_t>(placing.folds); fold++) {
        const int64_t *from = own.data() + fold % rows * count;
        for (size_t i = 1; i < count; i++) {
            const int64_t length = from[i] - from[i - 1];
            if (length > placing.tokens)
                return fail(error, LOCUS_ERROR_SHAPE, "sequence %zu has positions of %lld tokens, but a length of %lld",
                            i - 1, static_cast<long long>(length), static_cast<long long>(placing.tokens));
            packed->offsets.push_back(packed->offsets.back() + static_cast<size_t>(length));
            packed->gaps = packed->gaps || length < placing.tokens;
        }
    }
    packed->row = packed->offsets.back() / static_cast<size_t>(placing.folds);
    return LOCUS_OK;
}

/* Packed sequences; what stands behind the last one belongs to none. */
static void pack_ends(const Placing &placing, const std::vector<int64_t> &own, size_t count, Packed *packed) {
    const size_t rows = own.size() / count, row = static_cast<size_t>(placing.tokens / placing.folds);
    for (size_t fold = 0; fold < static_cast<size_t>(placing.folds); fold++) {
        const int64_t *from = own.data() + fold % rows * count;
        for (size_t i = 0; i + 1 < count; i++) {
            packed->offsets.push_back(fold * row + static_cast<size_t>(from[i]));
            packed->lengths.push_back(static_cast<size_t>(from[i + 1] - from[i]));
        }
        packed->gaps = packed->gaps || static_cast<size_t>(from[count - 1]) < row;
    }
    packed->offsets.push_back(static_cast<size_t>(placing.tokens));
    packed->row = row;
    if (!packed->gaps)
        packed->lengths.clear();
}

static locus_status pack(const Placing &placing, Packed *packed, locus_error *error) {
    if (!placing.offsets) {
        pack_evenly(placing, packed);
        return LOCUS_OK;
    }
    std::vector<int64_t> own;
    locus_status status = read_whole(*placing.offsets, "offsets", &own, error);
    const size_t count = static_cast<size_t>(placing.offsets->shape[placing.offsets->rank - 1]);
    if (status == LOCUS_OK && (count == 0 || own.empty()))
        status = fail(error, LOCUS_ERROR_SHAPE, "offsets must have one number more than there are sequences");
    const int64_t most = placing.batch ? -1 : placing.tokens / placing.folds;
    for (size_t i = 0; status == LOCUS_OK && i + count <= own.size(); i += count)
        status = check_offsets(own.data() + i, count, most, error);
    if (status != LOCUS_OK)
        return status;
    if (placing.batch)
        return pack_padded(placing, own, count, packed, error);
    pack_ends(placing, own, count, packed);
    return LOCUS_OK;
}

/* ---- values ---- */

/* Rows of `columns` numbers, again and again until each token has one. */
template <typename T>
static locus_status repeat(std::vector<T> *rows, size_t columns, size_t tokens, locus_error *error) {
    const size_t count = columns ? rows->size() / columns : 0;
    if (count == tokens)
        return LOCUS_OK;
    if (count == 0 || tokens % count != 0)
        return fail(error, LOCUS_ERROR_SHAPE, "there are positions of %zu tokens for %zu tokens", count, tokens);
    const size_t numbers = rows->size();
    rows->resize(tokens * columns);
    for (size_t at = numbers; at < rows->size(); at++)
        (*rows)[at] = (*rows)[at - numbers];
    return LOCUS_OK;
}

static locus_status place_words(const Placing &placing, const Packed &packed, Positions *positions,
                                locus_error *error) {
    std::vector<int64_t> rows, branches;
    const locus_packing packing = packed.packing();
    const size_t depth = static_cast<size_t>(placing.values->shape[placing.values->rank - 1]);
    const size_t tokens = packed.offsets.back();
    const int64_t arity = locus_group_coordinate(placing.group, 0).size;
    locus_status status = read_whole(*placing.values, "positions on a tree", &rows, error);
    if (status == LOCUS_OK && depth > 0)
        status = repeat(&rows, depth, tokens, error);
    if (status != LOCUS_OK)
        return status;
    std::vector<size_t> starts(1, 0);
    for (size_t token = 0; token < tokens; token++) {
        const int64_t *row = rows.data() + token * depth;
        bool ended = false;
        for (size_t i = 0; i < depth; i++) {
            if (row[i] < -1 || row[i] >= arity)
                return fail(error, LOCUS_ERROR_POSITION,
                            "token %zu has branch %lld; a tree of %lld branches has 0 … %lld, and -1 behind the end "
                            "of a row",
                            token, static_cast<long long>(row[i]), static_cast<long long>(arity),
                            static_cast<long long>(arity - 1));
            if (ended && row[i] >= 0)
                return fail(error, LOCUS_ERROR_POSITION,
                            "token %zu has a branch behind a -1; only the end of a row is padded", token);
            ended = row[i] < 0;
            if (!ended)
                branches.push_back(row[i] + 1);
        }
        starts.push_back(branches.size());
    }
    branches.push_back(0); /* so that there is an address */
    locus_position_column column{};
    column.size = sizeof column;
    column.branches = branches.data();
    column.starts = starts.data();
    return locus_positions_create_columns(&positions->p, placing.group, &packing, &column, error);
}

/* A text for each token, a line each; what is behind the last one is filled with 0. */
static locus_status place_texts(const Placing &placing, const Packed &packed, Positions *positions,
                                locus_error *error) {
    std::vector<Path> paths;
    const char *at = placing.values->data, *end = at + strnlen(at, placing.values->bytes);
    while (at < end) {
        const void *line_end = std::memchr(at, '\n', static_cast<size_t>(end - at));
        const char *next = line_end ? static_cast<const char *>(line_end) : end;
        Path path;
        const locus_status status = locus_path_parse(placing.group, std::string(at, next).c_str(), &path.p, error);
        if (status != LOCUS_OK)
            return status;
        paths.push_back(std::move(path));
        at = next + 1;
    }
    std::vector<const locus_path *> items;
    for (const Path &path : paths)
        items.push_back(path.p);
    const locus_packing packing = packed.packing();
    const locus_status status = repeat(&items, 1, packed.offsets.back(), error);
    if (status != LOCUS_OK)
        return status;
    return locus_positions_create_paths(&positions->p, placing.group, &packing, items.data(), error);
}

static locus_status place_numbers(const Placing &placing, const Packed &packed, Positions *positions,
                                  locus_error *error) {
    const locus_packing packing = packed.packing();
    const size_t columns = locus_group_coordinates(placing.group), tokens = packed.offsets.back();
    if (placing.place == "whole") {
        std::vector<int64_t> values;
        locus_status status = read_whole(*placing.values, "positions", &values, error);
        status = status == LOCUS_OK ? repeat(&values, columns, tokens, error) : status;
        values.push_back(0); /* so that there is an address, which NULL is not */
        return status == LOCUS_OK ? locus_positions_create(&positions->p, placing.group, &packing, values.data(), error)
                                  : status;
    }
    std::vector<double> values;
    if (!widened(*placing.values, &values))
        return fail(error, LOCUS_ERROR_DTYPE, "positions must be numbers of 32 or 64 bits");
    const locus_status status = repeat(&values, columns, tokens, error);
    values.push_back(0);
    return status == LOCUS_OK
               ? locus_positions_create_real(&positions->p, placing.group, &packing, values.data(), error)
               : status;
}

locus_status make_positions(const Placing &placing, Positions *positions, bool *gaps, locus_error *error) {
    Packed packed;
    const locus_status status = pack(placing, &packed, error);
    if (status != LOCUS_OK)
        return status;
    *gaps = *gaps || packed.gaps;
    if (placing.place == "count" || !placing.values) {
        const locus_packing packing = packed.packing();
        return locus_positions_create(&positions->p, placing.group, &packing, nullptr, error);
    }
    if (placing.place == "words")
        return place_words(placing, packed, positions, error);
    if (placing.place == "texts")
        return place_texts(placing, packed, positions, error);
    return place_numbers(placing, packed, positions, error);
}

} // namespace xla
