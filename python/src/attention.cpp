/* SPDX-License-Identifier: MIT */
/* Attention over a plan: forward, backward, weights. */
#include "attention.hpp"

#include <cstring>

Options::Options(bool causal, const Kind *kind, double scale, nb::handle bias_array, const nb::tuple &rest) {
    options = locus_attention_default();
    options.mask = causal ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
    options.kind = kind ? kind->p : nullptr;
    options.scale = scale;
    if (!bias_array.is_none()) {
        bias.emplace(Array::read(bias_array, "bias"));
        options.bias = &bias->tensor;
    }
    if (rest.size() > 0) { /* dropout, seed, cap, window, keep, prefix */
        options.dropout = nb::cast<double>(rest[0]);
        options.dropout_key = {nb::cast<uint64_t>(rest[1]), LOCUS_RANDOM_USER, 0};
        options.cap = nb::cast<double>(rest[2]);
        options.window = nb::cast<size_t>(rest[3]);
        options.keep = nb::cast<size_t>(rest[4]);
        prefix = nb::cast<std::vector<size_t>>(rest[5]);
        if (!prefix.empty()) {
            options.mask = LOCUS_MASK_PREFIX;
            options.prefix = prefix.data();
        }
    }
}

static Kind parse_kind(const std::string &text) {
    Kind kind;
    locus_error error{};
    check(locus_attention_kind_parse(text.c_str(), &kind.p, &error), error);
    return kind;
}

static locus_dtype sums_type(locus_dtype dtype) {
    return dtype == LOCUS_FLOAT64 ? LOCUS_FLOAT64 : LOCUS_FLOAT32;
}

static nb::object attention(const Plan &plan, nb::handle query, nb::handle key, nb::handle value, bool causal,
                            const Kind *kind, double scale, nb::handle bias, nb::tuple rest, bool with_sums) {
    const Array q = Array::read(query, "q"), k = Array::read(key, "k"), v = Array::read(value, "v");
    const bool apart = q.tensor.rank == 4;
    const Options own(causal, kind, scale, bias, rest);
    Array output = make_like(q.tensor, v.tensor.rank ? v.tensor.shape[v.tensor.rank - 1] : 0, 0, q.tensor.dtype, apart);
    std::optional<Array> sums;
    if (with_sums)
        sums.emplace(make_like(q.tensor, 0, 1, sums_type(q.tensor.dtype), apart));
    const locus_attention_tensors tensors = {sizeof tensors, &q.tensor,      &k.tensor,
                                             &v.tensor,      &output.tensor, sums ? &sums->tensor : nullptr};
    Call call;
    call.lend(locus_attention_workspace(plan.p, &own.options, q.tensor.dtype, LOCUS_PASS_FORWARD, &call.execution));
    call.run([&] { return locus_attention_forward(plan.p, &own.options, &tensors, &call.execution, &call.error); });
    return sums ? nb::object(nb::make_tuple(output.object, sums->object)) : output.object;
}

/* `forward` is (output, log_sum_exp), `gradient` dL/doutput and dL/dlog_sum_exp (or None), `parameters` what gradients
 * are added to. */
static nb::object attention_backward(const Plan &plan, nb::tuple inputs, nb::tuple forward, nb::tuple gradient,
                                     bool causal, const Kind *kind, double scale, nb::handle bias, nb::tuple rest,
                                     nb::list parameters, bool with_bias) {
    const Array q = Array::read(inputs[0], "q"), k = Array::read(inputs[1], "k"), v = Array::read(inputs[2], "v");
    const Array output = Array::read(forward[0], "output"), sums = Array::read(forward[1], "lse");
    const Array upstream = Array::read(gradient[0], "gradient");
    const Options own(causal, kind, scale, bias, rest);
    std::optional<Array> upstream_sums, of_bias;
    if (!gradient[1].is_none())
        upstream_sums.emplace(Array::read(gradient[1], "lse_gradient"));
    if (with_bias && own.bias)
        of_bias.emplace(make_like(own.bias->tensor, 0, 0, own.bias->tensor.dtype, false));
    const std::vector<Array> held = write_all(parameters, "parameters");
    const std::vector<locus_tensor> of_parameters = tensors_of(held);
    Array dq = make_like(q.tensor, 0, 0, q.tensor.dtype, q.tensor.rank == 4),
          dk = make_like(k.tensor, 0, 0, k.tensor.dtype, k.tensor.rank == 4);
    Array dv = make_like(v.tensor, 0, 0, v.tensor.dtype, v.tensor.rank == 4);
    const locus_attention_tensors tensors = {sizeof tensors, &q.tensor,      &k.tensor,
                                             &v.tensor,      &output.tensor, &sums.tensor};
    locus_attention_gradients gradients{};
    gradients.size = sizeof gradients;
    gradients.output = &upstream.tensor;
    gradients.query = &dq.tensor;
    gradients.key = &dk.tensor;
    gradients.value = &dv.tensor;
    gradients.parameters = of_parameters.empty() ? nullptr : of_parameters.data();
    gradients.parameter_count = of_parameters.size();
    gradients.log_sum_exp = upstream_sums ? &upstream_sums->tensor : nullptr;
    gradients.bias = of_bias ? &of_bias->tensor : nullptr;
    Call call;
    call.lend(locus_attention_workspace(plan.p, &own.options, q.tensor.dtype, LOCUS_PASS_BACKWARD, &call.execution));
    call.run([&] {
        return locus_attention_backward(plan.p, &own.options, &tensors, &gradients, &call.execution, &call.error);
    });
    return nb::make_tuple(dq.object, dk.object, dv.object, of_bias ? of_bias->object : nb::none());
}

/* [heads, queries, keys] of one sequence, which has `queries` and `keys` tokens. */
static nb::object weights(const Plan &plan, nb::handle query, nb::handle key, size_t sequence, size_t queries,
                          size_t keys, bool causal, double scale, nb::handle bias, nb::tuple rest) {
    const Array q = Array::read(query, "q"), k = Array::read(key, "k");
    const Options own(causal, nullptr, scale, bias, rest);
    const int64_t heads = q.tensor.rank == 4 ? q.tensor.shape[1] : q.tensor.rank == 3 ? q.tensor.shape[1] : 0;
    const int64_t shape[] = {heads, static_cast<int64_t>(queries), static_cast<int64_t>(keys)};
    Array to = Array::make(sums_type(q.tensor.dtype), 3, shape);
    locus_attention_weights_call asked{};
    asked.size = sizeof asked;
    asked.query = &q.tensor;
    asked.key = &k.tensor;
    asked.weights = &to.tensor;
    asked.sequence = sequence;
    Call call;
    call.lend(locus_attention_weights_workspace(plan.p, &own.options, q.tensor.dtype, &call.execution));
    call.run([&] { return locus_attention_weights(plan.p, &own.options, &asked, &call.execution, &call.error); });
    return to.object;
}

void attention_open(nb::module_ &module) {
    nb::class_<Kind>(module, "Kind").def("text", [](const Kind &kind) {
        return text_of([&](char *text, size_t size) { return locus_attention_kind_text(kind.p, text, size); });
    });
    module.def("kind", &parse_kind);
    module.def("attention", &attention, nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg(),
               nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg());
    module.def("attention_backward", &attention_backward, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
               nb::arg().none(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg());
    module.def("weights", &weights, nb::arg(), nb::arg().none(), nb::arg().none(), nb::arg(), nb::arg(), nb::arg(),
               nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
}
