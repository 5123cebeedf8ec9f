# SPDX-License-Identifier: MIT
"""locus in models of the transformers library: the same logits, tokens and gradients; caches; other encodings; and taken
out again."""
import copy

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import locus
import locus.huggingface
from locus.huggingface import Cache, undo, use
from locus.huggingface.decoding import Kept  # noqa: E402
from locus.huggingface.tracks import Track  # noqa: E402

transformers.logging.set_verbosity_error()
SIZES = dict(vocab_size=99, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=256, pad_token_id=0, bos_token_id=1, eos_token_id=None)
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16}
SECTIONS = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}
FAMILIES = {
    "llama": {}, "llama yarn": {"rope_parameters": YARN}, "mistral": {"sliding_window": 6},
    "qwen2": {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 1}, "qwen3": {"head_dim": 16},
    "gemma2": {"head_dim": 16, "sliding_window": 6}, "gemma3_text": {"head_dim": 16, "sliding_window": 6},
    "phi3": {}, "phi": {"partial_rotary_factor": 0.5}, "gpt_neox": {"rotary_pct": 0.5}, "cohere": {}, "glm": {"head_dim": 16},
    "olmo2": {}, "qwen2_vl_text": {"rope_parameters": SECTIONS},
    "gpt_oss": {"head_dim": 16, "num_local_experts": 2, "num_experts_per_tok": 1, "sliding_window": 6},
    "deepseek_v3": {"num_key_value_heads": 4, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 12,
                    "q_lora_rank": 24, "kv_lora_rank": 16, "n_routed_experts": 2, "num_experts_per_tok": 1, "n_group": 1,
                    "topk_group": 1, "first_k_dense_replace": 1, "moe_intermediate_size": 32, "n_shared_experts": 1},
}


def make(family, **more):
    kind = transformers.models.auto.configuration_auto.CONFIG_MAPPING[family.split()[0]]
    config = kind(**{**SIZES, **FAMILIES[family], **more})
    torch.manual_seed(0)
    mapping = transformers.models.auto.modeling_auto
    classes = mapping.MODEL_FOR_CAUSAL_LM_MAPPING
    made = classes[type(config)] if type(config) in classes else mapping.MODEL_MAPPING[type(config)]
    model = made._from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:  # so large that positions matter
                parameter.normal_(0, 1.5 / parameter.shape[-1] ** 0.5)
            elif name.endswith("sinks"):
                parameter.normal_()
    return model


def outputs(model, tokens, **more):
    found = model(tokens, **more)
    return getattr(found, "logits", None) if getattr(found, "logits", None) is not None else found[0]


def text(batch=2, length=20, seed=1):
    return torch.randint(3, 99, (batch, length), generator=torch.Generator().manual_seed(seed))


def share(one, other):
    return float((one - other).detach().abs().max() / one.detach().abs().max())


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_padding_and_decoding(family):
    model, tokens = make(family), text()
    mask = torch.ones_like(tokens)
    mask[1, :4] = 0
    with torch.no_grad():
        wanted, padded = outputs(model, tokens), outputs(model, tokens, attention_mask=mask)
        assert share(wanted, outputs(model, tokens, position_ids=torch.zeros_like(tokens)[:1])) > 1e-2
        assert use(model) is model
        assert share(wanted, outputs(model, tokens)) < 1e-5
        assert share(padded[mask.bool()], outputs(model, tokens, attention_mask=mask)[mask.bool()]) < 1e-5
        cache = Cache(model)
        steps = [outputs(model, tokens[:, :12], past_key_values=cache, use_cache=True)]
        steps += [outputs(model, tokens[:, t:t + 1], past_key_values=cache, use_cache=True) for t in range(12, 20)]
        assert share(wanted, torch.cat(steps, 1)) < 1e-5
        undo(model)
        assert torch.equal(wanted, outputs(model, tokens))
    assert not any("locus" in name for name, _ in model.named_modules())


@pytest.mark.parametrize("how", [{}, {"num_beams": 3}, {"num_beams": 3, "num_return_sequences": 2},
                                 {"prompt_lookup_num_tokens": 3, "batch": 1}])
def test_generate_writes_the_same(how):
    batch = how.pop("batch", 2)
    model, tokens = make("llama"), text(batch, 9)
    mask = torch.ones_like(tokens)
    if batch > 1:
        mask[1, :3] = 0
    more = dict(attention_mask=mask, max_new_tokens=24, do_sample=False, **how)
    wanted = model.generate(tokens, **more)
    use(model)
    assert torch.equal(wanted, model.generate(tokens, **more))
    if "prompt_lookup_num_tokens" not in how:
        assert torch.equal(wanted, model.generate(tokens, past_key_values=Cache(model), **more))
    assert wanted.shape[1] == 33


def test_a_cache_is_cropped_copied_and_reordered():
    model, tokens = use(make("mistral")), text(3, 30)
    with torch.no_grad():
        wanted = outputs(model, tokens)
        cache = Cache(model)
        outputs(model, tokens[:, :20], past_key_values=cache, use_cache=True)
        outputs(model, tokens[:, 20:24], past_key_values=cache, use_cache=True)
        branch = copy.deepcopy(cache)
        cache.crop(-6)
        assert cache.get_seq_length() == 18 and branch.get_seq_length() == 24
        assert share(wanted[:, 18:], outputs(model, tokens[:, 18:], past_key_values=cache, use_cache=True)) < 1e-5
        branch.reorder_cache(torch.tensor([2, 0, 0]))
        ahead = outputs(model, tokens[[2, 0, 0], 24:25], past_key_values=branch, use_cache=True)
        assert share(wanted[[2, 0, 0], 24:25], ahead) < 1e-5
        branch.reset()
        assert branch.get_seq_length() == 0
        assert share(wanted, outputs(model, tokens, past_key_values=branch, use_cache=True)) < 1e-5


def test_a_length_to_keep_and_what_is_let_go_of():
    model, tokens = use(make("llama")), text(2, 20)
    with torch.no_grad():
        wanted = outputs(model, tokens)
        cache = Cache(model)
        outputs(model, tokens[:, :14], past_key_values=cache, use_cache=True)
        outputs(model, tokens[:, 14:16], past_key_values=cache, use_cache=True)
        cache.crop(30)
        assert cache.get_seq_length() == 16
        cache.crop(12)
        assert cache.get_seq_length() == 12
        assert share(wanted[:, 12:], outputs(model, tokens[:, 12:], past_key_values=cache, use_cache=True)) < 1e-5
    assert all(site.cache is site.positions is site.mark is None for site in model.locus_used.sites)
    assert not any(isinstance(layer, Kept) for layer in Cache(model.to("meta")).layers)


@pytest.mark.parametrize("family, spec", [
    ("mistral", "rope(pairs=half) + scores(window=3)"), ("mistral", "rope(pairs=half) + scores(window=9)"),
    ("gemma2", "rope(pairs=half) + scores(cap=3)"), ("gemma3_text", "rope(pairs=half) + scores(window=9, keep=2)")])
def test_what_a_spec_says_of_scores_and_what_the_model_says(family, spec):
    """Both windows hold, and the spec's cap: read at once, and decoded."""
    model, tokens = use(make(family), spec), text()
    mask = torch.ones_like(tokens)
    mask[1, :4] = 0
    with torch.no_grad():
        for more in ({}, {"attention_mask": mask}):
            wanted, cache = outputs(model, tokens, **more), Cache(model)
            begun = {name: x[:, :12] for name, x in more.items()}
            steps = [outputs(model, tokens[:, :12], past_key_values=cache, use_cache=True, **begun)]
            for t in range(12, 20):
                so_far = {name: x[:, :t + 1] for name, x in more.items()}
                steps.append(outputs(model, tokens[:, t:t + 1], past_key_values=cache, use_cache=True, **so_far))
            seen = mask.bool() if more else torch.ones_like(mask).bool()
            assert share(wanted[seen], torch.cat(steps, 1)[seen]) < 1e-5
    narrow = use(make("mistral"), "rope(pairs=half) + scores(window=6)")
    if family == "mistral":  # whose window is 6: the narrower one of both
        with torch.no_grad():
            apart = share(outputs(narrow, tokens), outputs(model, tokens))
        assert (apart < 1e-5) == ("window=9" in spec)


def test_a_position_bias_in_a_padded_batch():
    config = transformers.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)
    torch.manual_seed(0)
    model, tokens = use(transformers.T5EncoderModel(config).eval(), "alibi"), text(2, 12)
    mask = torch.ones_like(tokens)
    mask[1, 8:] = 0
    with torch.no_grad():
        found = outputs(model, tokens, attention_mask=mask)
        assert share(outputs(model, tokens[:1]), found[:1]) < 1e-5
        assert share(outputs(model, tokens[1:, :8]), found[1:, :8]) < 1e-5


def test_a_reset_cache_takes_the_next_text_s_length():
    model = use(make("llama", rope_parameters={"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0},
                     max_position_embeddings=16))
    long, short = text(1, 40), text(1, 20, 2)

    def decoded(cache, tokens):
        outputs(model, tokens[:, :-1], past_key_values=cache, use_cache=True)
        return outputs(model, tokens[:, -1:], past_key_values=cache, use_cache=True)

    with torch.no_grad():
        cache = Cache(model)
        decoded(cache, long)
        cache.reset()
        assert torch.equal(decoded(cache, short), decoded(Cache(model), short))


def test_sinks_go_where_the_spec_has_its_scores():
    model, tokens, found = make("gpt_oss"), text(), []
    for spec in ("scores(cap=3) + kerple", "kerple + scores(cap=3)", "scores(cap=3, sinks=on) + kerple"):
        use(model, spec)
        with torch.no_grad():
            for site in model.locus_used.sites:
                for name, parameter in site.learned().items():
                    parameter.copy_(torch.arange(1, len(parameter) + 1) / (2 if name.endswith("a") else 3))
            found.append(outputs(model, tokens))
    assert share(*found[:2]) < 1e-6 and share(found[0], found[2]) < 1e-6


def gradients(model, tokens):
    model.zero_grad()
    outputs(model, tokens).square().mean().backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("family", ["llama yarn", "mistral", "glm"])
def test_gradients(family):
    model, tokens = make(family).double(), text(2, 14)
    model.set_attn_implementation("sdpa")  # eager attention computes its softmax in float32
    wanted = gradients(model, tokens)
    use(model)
    found = gradients(model, tokens)
    assert wanted.keys() == found.keys() and len(found) > 20
    for name, value in wanted.items():
        assert (value - found[name]).norm() <= 1e-6 * value.norm() + 1e-12, name


def test_another_encoding():
    model, tokens = make("llama"), text()
    with torch.no_grad():
        wanted = outputs(make("llama yarn"), tokens)
        use(model, "rope(scaling=yarn, factor=4, original=16)")
        assert share(wanted, outputs(model, tokens)) < 1e-5
        whole = outputs(use(model, "2*none / alibi"), tokens)
        cache = Cache(model)
        parts = [outputs(model, part, past_key_values=cache, use_cache=True) for part in tokens.split(5, 1)]
        assert share(whole, torch.cat(parts, 1)) < 1e-5
    specs = [layer.self_attn.locus.spec for layer in model.model.layers]
    assert specs == ["none", "none", "alibi"]


def test_what_an_encoding_learns_is_trained():
    model = use(make("llama"), "algebraic(group=seq)")
    names = [name for name, _ in model.named_parameters() if "locus" in name]
    assert len(names) == 3
    optimizer = torch.optim.Adam([p for name, p in model.named_parameters() if "locus" in name], 0.02)
    tokens, losses = text(4, 16), []
    for _ in range(12):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(outputs(model, tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] - 0.05


def fails(*_, **__):
    raise AssertionError


def test_what_is_refused(monkeypatch):
    model = make("llama")
    with pytest.raises(locus.SpecError, match="alibbi"):
        use(model, "alibbi")
    with pytest.raises(TypeError, match="expected a transformers model, not Linear"):
        use(torch.nn.Linear(2, 2))
    with pytest.raises(locus.UnsupportedError, match="use was called with"):
        Cache(model)
    with pytest.raises(locus.UnsupportedError, match="of which locus has seen no token"):
        Track().last(0)
    falcon = transformers.FalconForCausalLM(transformers.FalconConfig(
        vocab_size=99, hidden_size=64, num_hidden_layers=1, num_attention_heads=4)).eval()
    before = outputs(falcon, text())
    with pytest.raises(locus.UnsupportedError, match="'falcon' does not attend through transformers' attention interface"):
        use(falcon)
    assert torch.equal(before, outputs(falcon, text()))
    monkeypatch.setattr(model.model.layers[0].mlp, "forward", fails)
    with pytest.raises(locus.UnsupportedError, match=r"^'llama': AssertionError: raise AssertionError \(test_hugg"):
        use(model)
    monkeypatch.undo()
    use(model)
    cache = Cache(model)
    outputs(model, text()[:, :5], past_key_values=cache, use_cache=True)
    with pytest.raises(locus.UnsupportedError, match="gradients do not go through locus.huggingface.Cache"):
        outputs(model, text()[:, 5:6], past_key_values=cache, use_cache=True)
