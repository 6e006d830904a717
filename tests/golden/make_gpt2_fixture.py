#!/usr/bin/env python3
"""Creates the fixtures of the golden tests with PyTorch: logits, loss, every gradient, ten AdamW steps.

Run by hand (Debian: apt install python3-torch python3-numpy): tests/golden/make_gpt2_fixture.py
Writes fixtures/NAME.json (sizes, losses, offsets of arrays) and fixtures/NAME.bin (little-endian f32 and i32).
PyTorch does not draw weights and tokens: a formula over integers, also in fixture.h, gives them, so that
only PyTorch's results need to be committed.
"""
import json
import math
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

CASES = {
    # Small sizes keep the file small; 8 padded rows of the vocabulary, 3 heads, several chunks of everything.
    "gpt2_tiny": dict(layers=2, hidden=48, heads=3, vocab=128, valid_vocab=120, micro=4, seq_len=32, seed=1,
                      clip=1.0),
    # No size is a multiple of a vector: 10 elements per head, 13 positions, 61 tokens.
    "gpt2_odd": dict(layers=1, hidden=30, heads=3, vocab=64, valid_vocab=61, micro=3, seq_len=13, seed=2,
                     clip=1.5)  # clips some of its steps, but not all
}
STEPS = 10
OPTIMIZER = dict(lr=2e-3, beta1=0.9, beta2=0.95, eps=1e-8, weight_decay=0.1)


def mix(x):
    """Returns SplitMix64's finalizer of an array of counters."""
    with np.errstate(over="ignore"):
        z = x + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def uniform(stream, first, count):
    """Returns multiples of 2^-15 in [-1, 1), exact in f32 and wider types."""
    counters = np.arange(first, first + count, dtype=np.uint64) + np.uint64(stream << 32)
    return ((mix(counters) >> np.uint64(48)).astype(np.int64) - 32768).astype(np.float64) / 32768


def parameter_shapes(c):
    """Returns (name, shape, center, scale) in the engine's order; the scales are powers of two."""
    w, shapes = c["hidden"], []
    shapes += [("wte.weight", (c["vocab"], w), 0, 2**-3), ("wpe.weight", (c["seq_len"], w), 0, 2**-3)]
    for i in range(c["layers"]):
        h = f"h.{i}."
        for name, shape in [("ln_1", (w,)), ("attn.c_attn", (w, 3 * w)), ("attn.c_proj", (w, w)),
                            ("ln_2", (w,)), ("mlp.c_fc", (w, 4 * w)), ("mlp.c_proj", (4 * w, w))]:
            norm = len(shape) == 1
            shapes.append((h + name + ".weight", shape, 1 if norm else 0, 2**-2))
            shapes.append((h + name + ".bias", shape[-1:], 0, 2**-3))
    return shapes + [("ln_f.weight", (w,), 1, 2**-2), ("ln_f.bias", (w,), 0, 2**-3)]


def make_parameters(c, dtype):
    parameters, first = {}, 0
    for name, shape, centre, scale in parameter_shapes(c):
        count = math.prod(shape)
        values = centre + scale * uniform(c["seed"], first, count)
        parameters[name] = torch.tensor(values.reshape(shape), dtype=dtype, requires_grad=True)
        first += count
    return parameters


def make_batch(c, step):
    """Returns one of two alternating batches, so that ten steps learn something; about every 16th target is masked."""
    rows = c["micro"] * (c["seq_len"] + 1)
    draws = uniform(100 + c["seed"], (step % 2) * 2 * rows, 2 * rows)
    # Squared, so that some tokens are common and some never occur.
    window = np.floor(draws[:rows] ** 2 * c["valid_vocab"]).astype(np.int64).clip(0, c["valid_vocab"] - 1)
    window = window.reshape(c["micro"], -1)
    ignored = (np.abs(draws[rows:]) < 1 / 16).reshape(c["micro"], -1)
    targets = np.where(ignored[:, 1:], -1, window[:, 1:])
    return torch.tensor(window[:, :-1].copy()), torch.tensor(targets)


def more_inputs(c):
    """Returns the inputs of a model beside tokens and targets, by the engine's names; the same in every step."""
    return {}


def forward(p, tokens, c):
    """Computes GPT-2's logits: pre-norm blocks, fused qkv, tanh GELU, tied head."""
    heads, width = c["heads"], c["hidden"]

    def norm(x, name):
        return F.layer_norm(x, (width,), p[name + ".weight"], p[name + ".bias"], 1e-5)

    def linear(x, name):
        return x @ p[name + ".weight"] + p[name + ".bias"]

    B, T = tokens.shape
    x = p["wte.weight"][tokens] + p["wpe.weight"][:T]
    hidden_future = torch.full((T, T), float("-inf"), dtype=x.dtype).triu(1)
    for i in range(c["layers"]):
        h = f"h.{i}."
        qkv = linear(norm(x, h + "ln_1"), h + "attn.c_attn").view(B, T, 3, heads, width // heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(width // heads) + hidden_future, -1)
        x = x + linear((weights @ v).transpose(1, 2).reshape(B, T, width), h + "attn.c_proj")
        u = linear(norm(x, h + "ln_2"), h + "mlp.c_fc")
        # Written out, because PyTorch 1.13's tanh form is not more exact in double.
        u = 0.5 * u * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))
        x = x + linear(u, h + "mlp.c_proj")
    return norm(x, "ln_f") @ p["wte.weight"][: c["valid_vocab"]].T


def loss_sum(logits, targets):
    return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1), ignore_index=-1,
                           reduction="sum")


def optimizer_of(p):
    """Returns AdamW with two parameter groups: norms and biases, the tensors of one dimension, do not decay."""
    o = OPTIMIZER
    trained = [x for x in p.values() if x.requires_grad]
    groups = [dict(params=[x for x in trained if x.dim() > 1], weight_decay=o["weight_decay"]),
              dict(params=[x for x in trained if x.dim() == 1], weight_decay=0.0)]
    return torch.optim.AdamW(groups, lr=o["lr"], betas=(o["beta1"], o["beta2"]), eps=o["eps"])


def train(c, dtype):
    """Returns mean losses and unclipped gradient norms of ten steps, and the trained parameters."""
    p = make_parameters(c, dtype)
    optimizer = optimizer_of(p)
    losses, norms = [], []
    for step in range(STEPS):
        tokens, targets = make_batch(c, step)
        loss = loss_sum(forward(p, tokens, c), targets) / (targets >= 0).sum()
        optimizer.zero_grad()
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(p.values(), c["clip"]).item())
        optimizer.step()
        losses.append(loss.item())
    return losses, norms, p


def write(name, c, folder):
    p = make_parameters(c, torch.float64)
    tokens, targets = make_batch(c, 0)
    logits = forward(p, tokens, c)
    loss = loss_sum(logits, targets)
    loss.backward()
    arrays, blob = [], bytearray()

    def add(label, values, dtype):
        data = np.ascontiguousarray(values, dtype=dtype)
        arrays.append(dict(name=label, dtype=dtype, offset=len(blob), shape=list(data.shape)))
        blob.extend(data.tobytes())

    for step in range(2):
        batch = make_batch(c, step)
        add(f"tokens.{step}", batch[0].numpy(), "<i4")
        add(f"targets.{step}", batch[1].numpy(), "<i4")
        for label, values in more_inputs(c).items():
            add(f"{label}.{step}", values, "<i4")
    add("logits", logits.detach().numpy(), "<f4")
    for label, tensor in p.items():
        if tensor.requires_grad:
            add("grad." + label, tensor.grad.numpy(), "<f4")
    losses64, norms64, trained64 = train(c, torch.float64)
    losses32, _, _ = train(c, torch.float32)
    # A bias of keys shifts a query's scores equally and has the gradient 0: AdamW enlarges its rounding errors.
    trained = {n: x.norm().item() for n, x in trained64.items() if not n.endswith(("c_attn.bias", "qkv.bias"))}
    header = dict(made_by=f"{os.path.basename(sys.argv[0])}, PyTorch {torch.__version__}", model=c, optimizer=OPTIMIZER,
                  loss_sum=loss.item(), target_tokens=int((targets >= 0).sum()),
                  loss_mean=loss.item() / int((targets >= 0).sum()), losses_f64=losses64,
                  grad_norms_f64=norms64, losses_f32=losses32,
                  trained_norms_f64=trained,
                  parameters=[dict(name=n, shape=list(s), centre=m, scale=k)
                              for n, s, m, k in parameter_shapes(c)],
                  arrays=arrays)
    # One array or parameter per line keeps diffs short.
    text = json.dumps(header, indent=1)
    for short in ("parameters", "arrays"):
        rows = ",\n  ".join(json.dumps(row) for row in header[short])
        text = text.replace(json.dumps({short: header[short]}, indent=1)[3:-2], f'"{short}": [\n  {rows}\n ]')
    assert json.loads(text) == header
    with open(os.path.join(folder, name + ".json"), "w") as file:
        file.write(text + "\n")
    with open(os.path.join(folder, name + ".bin"), "wb") as file:
        file.write(blob)
    worst = max(abs(a - b) / b for a, b in zip(losses32, losses64))
    print(f"{name}: loss {losses64[0]:.4f} -> {losses64[-1]:.4f}, norm {norms64[0]:.2f} -> {norms64[-1]:.2f}, "
          f"PyTorch's own fp32 differs by {worst:.1e}, {len(blob) + len(text)} bytes")


def main():
    torch.set_num_threads(1)
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures")
    os.makedirs(here, exist_ok=True)
    for case in CASES:
        write(case, CASES[case], here)


if __name__ == "__main__":
    main()
