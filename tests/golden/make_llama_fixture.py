#!/usr/bin/env python3
"""Creates the fixtures of Llama's family for the golden tests with PyTorch, like make_gpt2_fixture.py for GPT-2.

Run by hand (Debian: apt install python3-torch python3-numpy): tests/golden/make_llama_fixture.py [CASE ...]
The model is written out below in double precision. If Hugging Face's transformers is installed (pip install
transformers==4.57.6, or 5.23), its class must give the same loss and gradients with the same weights, to
about 1e-6 because it computes norms and angles in single precision.
"""
import math
import sys

import torch

import make_gpt2_fixture as base

CASES = {
    # Grouped keys, a separate head, 8 padded rows of the vocabulary.
    "llama_tiny": dict(arch="llama", layers=2, hidden=48, heads=6, kv_heads=2, ffn=80, vocab=128, valid_vocab=120,
                       micro=4, seq_len=32, seed=3, clip=1.0, rope_theta=10000.0, norm_eps=1e-5, tied=False),
    # No size is a multiple of a vector; one head of keys for all; the head is tied to the embedding.
    "llama_odd": dict(arch="llama", layers=1, hidden=30, heads=3, kv_heads=1, ffn=37, vocab=64, valid_vocab=61,
                      micro=3, seq_len=13, seed=4, clip=1.5, rope_theta=500000.0, norm_eps=1e-6, tied=True),
    # Biases of queries, keys and values; heads are not the width cut evenly.
    "qwen2_tiny": dict(arch="qwen2", layers=2, hidden=48, heads=4, kv_heads=2, head_size=20, ffn=72, vocab=64,
                       valid_vocab=61, micro=3, seq_len=24, seed=5, clip=1.0, rope_theta=1000000.0, norm_eps=1e-6,
                       tied=True),
    # Waves that are kept, divided and between; lengths below and above the first training's.
    "llama_scaled": dict(arch="llama", layers=1, hidden=32, heads=4, kv_heads=1, head_size=16, ffn=40, vocab=64,
                         valid_vocab=64, micro=2, seq_len=40, seed=6, clip=1.0, rope_theta=10000.0, norm_eps=1e-5,
                         tied=False, rope_scaling="llama3", rope_factor=8.0, rope_low=1.0, rope_high=4.0,
                         rope_trained=32),
    "mistral_linear": dict(arch="mistral", layers=1, hidden=36, heads=6, kv_heads=3, head_size=10, ffn=44, vocab=64,
                           valid_vocab=59, micro=2, seq_len=19, seed=7, clip=1.0, rope_theta=10000.0, norm_eps=1e-5,
                           tied=False, rope_scaling="linear", rope_factor=2.5),
    # Norms of queries and keys; heads are not the width cut evenly.
    "qwen3_tiny": dict(arch="qwen3", layers=2, hidden=40, heads=4, kv_heads=2, head_size=12, ffn=56, vocab=64,
                       valid_vocab=60, micro=2, seq_len=24, seed=8, clip=1.0, rope_theta=1000000.0, norm_eps=1e-6,
                       tied=False),
    # No size is a multiple of a vector; one head of keys for all; tied.
    "qwen3_odd": dict(arch="qwen3", layers=1, hidden=30, heads=3, kv_heads=1, head_size=14, ffn=37, vocab=64,
                      valid_vocab=61, micro=3, seq_len=13, seed=9, clip=1.5, rope_theta=10000.0, norm_eps=1e-5,
                      tied=True),
    # As many heads of keys as of queries, and the width cut evenly.
    "qwen3_even": dict(arch="qwen3", layers=1, hidden=32, heads=4, kv_heads=4, head_size=8, ffn=48, vocab=64,
                       valid_vocab=64, micro=2, seq_len=17, seed=10, clip=1.0, rope_theta=10000.0, norm_eps=1e-6,
                       tied=False),
    # Windows shorter than a row: in every layer, and in all but the first.
    "mistral_window": dict(arch="mistral", layers=2, hidden=24, heads=4, kv_heads=2, ffn=40, vocab=64, valid_vocab=61,
                           micro=2, seq_len=21, seed=11, clip=1.0, rope_theta=10000.0, norm_eps=1e-5, tied=False,
                           window=5),
    "qwen2_window": dict(arch="qwen2", layers=2, hidden=24, heads=4, kv_heads=2, ffn=40, vocab=64, valid_vocab=61,
                         micro=2, seq_len=21, seed=12, clip=1.0, rope_theta=1000000.0, norm_eps=1e-6, tied=True,
                         window=7, full_layers=1),
    "qwen3_window": dict(arch="qwen3", layers=2, hidden=24, heads=4, kv_heads=2, head_size=10, ffn=40, vocab=64,
                         valid_vocab=61, micro=2, seq_len=21, seed=13, clip=1.0, rope_theta=1000000.0, norm_eps=1e-6,
                         tied=True, window=4, full_layers=1),
}
CLASSES = dict(llama="Llama", mistral="Mistral", qwen2="Qwen2", qwen3="Qwen3")


def head_size(c):
    return c.get("head_size", c["hidden"] // c["heads"])


def parameter_shapes(c):
    """Returns (name, shape, center, scale) in the engine's order."""
    w, row = c["hidden"], head_size(c) * (c["heads"] + 2 * c["kv_heads"])
    shapes = [("embed_tokens.weight", (c["vocab"], w), 0, 2**-3)]
    for i in range(c["layers"]):
        h = f"layers.{i}."
        shapes += [(h + "input_layernorm.weight", (w,), 1, 2**-2),
                   (h + "self_attn.qkv_proj.weight", (w, row), 0, 2**-2)]
        if c["arch"] == "qwen2":
            shapes.append((h + "self_attn.qkv_proj.bias", (row,), 0, 2**-2))
        if c["arch"] == "qwen3":
            shapes += [(h + f"self_attn.{x}_norm.weight", (head_size(c),), 1, 2**-2) for x in "qk"]
        shapes += [(h + "self_attn.o_proj.weight", (c["heads"] * head_size(c), w), 0, 2**-2),
                   (h + "post_attention_layernorm.weight", (w,), 1, 2**-2),
                   (h + "mlp.gate_up_proj.weight", (w, 2 * c["ffn"]), 0, 2**-2),
                   (h + "mlp.down_proj.weight", (c["ffn"], w), 0, 2**-2)]
    shapes.append(("norm.weight", (w,), 1, 2**-2))
    if not c["tied"]:
        shapes.append(("lm_head.weight", (c["vocab"], w), 0, 2**-3))
    return shapes


def split_qkv(qkv, c):
    """Returns queries, keys and values with the last axis split into heads."""
    d = head_size(c)
    cuts = [c["heads"] * d, c["kv_heads"] * d, c["kv_heads"] * d]
    return [part.unflatten(-1, (-1, d)) for part in qkv.split(cuts, -1)]


def scaled(rates, c):
    """Returns the radians a position, scaled as in Llama 3.1 or by one factor."""
    if "rope_scaling" not in c:
        return rates
    if c["rope_scaling"] == "linear":
        return rates / c["rope_factor"]
    waves = c["rope_trained"] * rates / (2 * math.pi)  # in the first training's length
    kept = ((waves - c["rope_low"]) / (c["rope_high"] - c["rope_low"])).clamp(0, 1)
    return kept * rates + (1 - kept) * rates / c["rope_factor"]


def turned(x, c):
    """Applies rotary positions to (B, T, H, D): rotates element i with element i + D/2."""
    half, T = x.shape[-1] // 2, x.shape[1]
    rates = scaled(c["rope_theta"] ** (-torch.arange(half, dtype=torch.float64) / half), c)
    angles = torch.arange(T, dtype=torch.float64)[:, None] * rates
    cos, sin = angles.cos().to(x.dtype)[:, None], angles.sin().to(x.dtype)[:, None]
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def forward(p, tokens, c):
    """Computes Llama's logits: RMS norms before each branch, rotary positions, grouped keys, SwiGLU."""
    def norm(x, name):  # over the last axis: the width, or the elements of a head
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + c["norm_eps"]) * p[name + ".weight"]

    B, T = tokens.shape
    x = p["embed_tokens.weight"][tokens]
    hidden_future = torch.full((T, T), float("-inf"), dtype=x.dtype).triu(1)
    hidden_past = torch.zeros_like(hidden_future)
    if "window" in c:
        hidden_past += torch.full((T, T), float("-inf"), dtype=x.dtype).tril(-c["window"])
    for i in range(c["layers"]):
        h = f"layers.{i}."
        qkv = norm(x, h + "input_layernorm") @ p[h + "self_attn.qkv_proj.weight"]
        if c["arch"] == "qwen2":
            qkv = qkv + p[h + "self_attn.qkv_proj.bias"]
        q, k, v = split_qkv(qkv, c)
        if c["arch"] == "qwen3":
            q, k = norm(q, h + "self_attn.q_norm"), norm(k, h + "self_attn.k_norm")
        q, k = turned(q, c), turned(k, c)
        # Each head of keys serves the next heads / kv_heads query heads.
        k, v = [y.repeat_interleave(c["heads"] // c["kv_heads"], 2) for y in (k, v)]
        q, k, v = [y.transpose(1, 2) for y in (q, k, v)]
        hidden = hidden_future + (hidden_past if i >= c.get("full_layers", 0) else 0)
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + hidden, -1)
        x = x + (weights @ v).transpose(1, 2).reshape(B, T, -1) @ p[h + "self_attn.o_proj.weight"]
        gate, up = (norm(x, h + "post_attention_layernorm") @ p[h + "mlp.gate_up_proj.weight"]).chunk(2, -1)
        x = x + (gate * torch.sigmoid(gate) * up) @ p[h + "mlp.down_proj.weight"]
    head = p["embed_tokens.weight" if c["tied"] else "lm_head.weight"]
    return norm(x, "norm") @ head[: c["valid_vocab"]].T


def hugging_face_names(c, name):
    """Returns the transformers' names for one of our tensors, and how many of our columns each has."""
    d = head_size(c)
    if ".qkv_proj." in name:
        cuts = dict(q_proj=c["heads"] * d, k_proj=c["kv_heads"] * d, v_proj=c["kv_heads"] * d)
        return [("model." + name.replace("qkv_proj", part), n) for part, n in cuts.items()]
    if name.endswith("gate_up_proj.weight"):
        return [("model." + name.replace("gate_up_proj", part), c["ffn"]) for part in ("gate_proj", "up_proj")]
    return [(name if name == "lm_head.weight" else "model." + name, None)]


def scaling_of(c):
    """Returns rope_scaling as config.json has it."""
    if "rope_scaling" not in c:
        return None
    scaling = dict(rope_type=c["rope_scaling"], factor=c["rope_factor"])
    if c["rope_scaling"] == "llama3":
        scaling.update(low_freq_factor=c["rope_low"], high_freq_factor=c["rope_high"],
                       original_max_position_embeddings=c["rope_trained"])
    return scaling


def check_against_transformers(name, c):
    """Compares loss and every gradient with Hugging Face's own model."""
    try:
        import transformers
    except ImportError:
        print(f"{name}: not compared with transformers, which is not installed")
        return
    family = CLASSES[c["arch"]]
    more = dict(sliding_window=c.get("window")) if c["arch"] != "llama" else {}
    if c["arch"].startswith("qwen"):
        more.update(use_sliding_window="window" in c, max_window_layers=c.get("full_layers", 0))
    config = getattr(transformers, family + "Config")(
        vocab_size=c["vocab"], hidden_size=c["hidden"], intermediate_size=c["ffn"], num_hidden_layers=c["layers"],
        num_attention_heads=c["heads"], num_key_value_heads=c["kv_heads"], rope_theta=c["rope_theta"],
        rope_scaling=scaling_of(c), head_dim=head_size(c), rms_norm_eps=c["norm_eps"], tie_word_embeddings=c["tied"],
        max_position_embeddings=c["seq_len"], attn_implementation="eager", **more)
    theirs = getattr(transformers, family + "ForCausalLM")(config).double()
    p = base.make_parameters(c, torch.float64)
    weights = dict(theirs.named_parameters())
    parts = lambda tensor, cuts: [tensor] if cuts[0][1] is None else tensor.split([n for _, n in cuts], -1)
    linear = lambda ours: len(ours.shape) == 2 and "_proj" in ours_name
    with torch.no_grad():
        for ours_name, ours in p.items():
            cuts = hugging_face_names(c, ours_name)
            for (their_name, _), part in zip(cuts, parts(ours, cuts)):
                weights[their_name].copy_(part.T if linear(ours) else part)
    tokens, targets = base.make_batch(c, 0)
    logits = theirs(tokens).logits.double()[..., : c["valid_vocab"]]
    their_loss = base.loss_sum(logits, targets)
    their_loss.backward()
    loss = base.loss_sum(forward(p, tokens, c), targets)
    loss.backward()
    worst = 0
    for ours_name, ours in p.items():
        cuts = hugging_face_names(c, ours_name)
        for (their_name, _), part in zip(cuts, parts(ours.grad, cuts)):
            grad = weights[their_name].grad
            grad = grad.T if linear(ours) else grad
            worst = max(worst, ((grad - part).norm() / part.norm()).item())
    off = abs(their_loss.item() / loss.item() - 1)
    print(f"{name}: transformers' {family}ForCausalLM: loss off by {off:.1e}, worst gradient {worst:.1e}")
    assert off < 1e-6 and worst < 1e-5


if __name__ == "__main__":
    CASES = {name: CASES[name] for name in sys.argv[1:] or CASES}
    base.CASES, base.parameter_shapes, base.forward = CASES, parameter_shapes, forward
    for case in CASES:
        check_against_transformers(case, CASES[case])
    base.main()
