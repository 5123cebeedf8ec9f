/* SPDX-License-Identifier: MIT */
/* Groups, paths, positions. */
#include "binding.hpp"

static locus_group *parse_group(const std::string &text) {
    locus_group *group = nullptr;
    locus_error error{};
    check(locus_group_parse(text.c_str(), &group, &error), error);
    return group;
}

static std::string group_text(const locus_group *group) {
    return text_of([&](char *text, size_t size) { return locus_group_text(group, text, size); });
}

static Path parse_path(const std::string &group, const std::string &text) {
    Group own(parse_group(group));
    Path path;
    locus_error error{};
    check(locus_path_parse(own.p, text.c_str(), &path.p, &error), error);
    return path;
}

using PathOfTwo = locus_status(const locus_path *, const locus_path *, locus_path **, locus_error *);
template <PathOfTwo *function> static Path of_two(const Path &a, const Path &b) {
    Path path;
    locus_error error{};
    check(function(a.p, b.p, &path.p, &error), error);
    return path;
}

static Path inverse(const Path &a) {
    Path path;
    locus_error error{};
    check(locus_path_inverse(a.p, &path.p, &error), error);
    return path;
}

static int64_t length(const Path &a) {
    int64_t steps = 0;
    locus_error error{};
    check(locus_path_length(a.p, &steps, &error), error);
    return steps;
}

static int64_t distance(const Path &a, const Path &b) {
    int64_t steps = 0;
    locus_error error{};
    check(locus_path_distance(a.p, b.p, &steps, &error), error);
    return steps;
}

/* ---- positions ---- */

static locus_packing packing_of(const Sizes &offsets) {
    if (offsets.shape(0) == 0) {
        raise_status(LOCUS_ERROR_ARGUMENT,
                     "offsets must begin with 0 and have one number more than there are sequences");
    }
    return {sizeof(locus_packing), offsets.shape(0) - 1, offsets.data(), nullptr};
}

static Positions of_count(const std::string &group, Sizes offsets) {
    Group own(parse_group(group));
    const locus_packing packing = packing_of(offsets);
    Positions positions;
    locus_error error{};
    check(locus_positions_create(&positions.p, own.p, &packing, nullptr, &error), error);
    return positions;
}

static Positions of_integers(const std::string &group, Sizes offsets, Integers values) {
    Group own(parse_group(group));
    const locus_packing packing = packing_of(offsets);
    Positions positions;
    locus_error error{};
    check(locus_positions_create(&positions.p, own.p, &packing, values.data(), &error), error);
    return positions;
}

static Positions of_reals(const std::string &group, Sizes offsets, Reals values) {
    Group own(parse_group(group));
    const locus_packing packing = packing_of(offsets);
    Positions positions;
    locus_error error{};
    check(locus_positions_create_real(&positions.p, own.p, &packing, values.data(), &error), error);
    return positions;
}

static Positions of_column(const std::string &group, const Sizes &offsets, const locus_position_column &column) {
    Group own(parse_group(group));
    const locus_packing packing = packing_of(offsets);
    Positions positions;
    locus_error error{};
    check(locus_positions_create_columns(&positions.p, own.p, &packing, &column, &error), error);
    return positions;
}

static Positions of_words(const std::string &group, Sizes offsets, Integers branches, Sizes starts) {
    locus_position_column column{};
    column.size = sizeof column;
    column.branches = branches.data();
    column.starts = starts.data();
    return of_column(group, offsets, column);
}

static Positions of_nodes(const std::string &group, Sizes offsets, Integers nodes, Integers branches, Sizes parents) {
    locus_position_column column{};
    column.size = sizeof column;
    column.values = nodes.data();
    column.branches = branches.data();
    column.parents = parents.data();
    column.node_count = parents.shape(0);
    return of_column(group, offsets, column);
}

static Positions of_paths(const std::string &group, Sizes offsets, const std::vector<Path *> &paths) {
    Group own(parse_group(group));
    const locus_packing packing = packing_of(offsets);
    std::vector<const locus_path *> items;
    for (const Path *path : paths)
        items.push_back(path->p);
    Positions positions;
    locus_error error{};
    check(locus_positions_create_paths(&positions.p, own.p, &packing, items.data(), &error), error);
    return positions;
}

static Path path_of_token(const Positions &positions, size_t token) {
    Path path;
    locus_error error{};
    check(locus_positions_path(positions.p, token, &path.p, &error), error);
    return path;
}

static std::vector<std::pair<int, int64_t>> coordinates(const std::string &text) {
    Group group(parse_group(text));
    const size_t count = locus_group_coordinates(group.p);
    if (count > 4096)
        raise_status(LOCUS_ERROR_UNSUPPORTED, "group '" + text + "' has too many coordinates");
    std::vector<std::pair<int, int64_t>> all;
    for (size_t i = 0; i < count; i++) {
        const locus_coordinate coordinate = locus_group_coordinate(group.p, i);
        all.emplace_back(coordinate.kind, coordinate.size);
    }
    return all;
}

void places_open(nb::module_ &module) {
    module.def("group_text", [](const std::string &text) { return group_text(Group(parse_group(text)).p); });
    module.def("coordinates", &coordinates);
    nb::class_<Path>(module, "Path")
        .def("text",
             [](const Path &a) {
                 return text_of([&](char *text, size_t size) { return locus_path_text(a.p, text, size); });
             })
        .def("group", [](const Path &a) { return group_text(locus_path_group(a.p)); })
        .def("equal", [](const Path &a, const Path &b) { return locus_path_equal(a.p, b.p) != 0; })
        .def("length", &length)
        .def("inverse", &inverse)
        .def("compose", &of_two<locus_path_compose>)
        .def("relative", &of_two<locus_path_relative>)
        .def("distance", &distance);
    module.def("parse_path", &parse_path);
    nb::class_<Positions>(module, "Positions")
        .def("tokens", [](const Positions &x) { return locus_positions_tokens(x.p); })
        .def("sequences", [](const Positions &x) { return locus_positions_sequences(x.p); })
        .def("group", [](const Positions &x) { return group_text(locus_positions_group(x.p)); })
        .def("equal", [](const Positions &a, const Positions &b) { return locus_positions_equal(a.p, b.p) != 0; })
        .def("hash", [](const Positions &a) { return locus_positions_hash(a.p); })
        .def("path", &path_of_token);
    module.def("positions_count", &of_count);
    module.def("positions_integers", &of_integers);
    module.def("positions_reals", &of_reals);
    module.def("positions_words", &of_words);
    module.def("positions_nodes", &of_nodes);
    module.def("positions_paths", &of_paths);
}
