#!/usr/bin/env python3
"""Creates the fixtures of T5 for the golden tests with PyTorch, like make_gpt2_fixture.py for GPT-2.

Run by hand (Debian: apt install python3-torch python3-numpy): tests/golden/make_t5_fixture.py [CASE ...]
The model is written out below in double precision. If Hugging Face's transformers is installed (pip install
transformers==4.57.6, or 5.23), T5ForConditionalGeneration must give the same loss and gradients with the same
weights, one document at a time.
"""
import math
import sys

import numpy as np
import torch

import make_gpt2_fixture as base

# documents, encoder_documents: lengths of the documents of each row; what remains of a row is padding.
CASES = {
    # T5 1.0: ReLU, tied, scaled. More encoder than decoder, which has fewer layers; padding in the encoder.
    "t5_tiny": dict(arch="t5", layers=2, decoder_layers=1, hidden=36, heads=3, head_size=8, ffn=60, vocab=64,
                    valid_vocab=56, micro=3, encoder_len=20, seq_len=9, seed=21, clip=1.0, norm_eps=1e-6,
                    activation="relu", tied=True, scaled=True, buckets=32, distance=128,
                    documents=[[9], [6], [8]], encoder_documents=[[20], [13], [7]]),
    # T5 1.1: gated GELU, untied, not scaled. No size is a multiple of a vector; two documents a row; a decoder longer
    # than the encoder; few buckets, so that all kinds of them are used.
    "t5_odd": dict(arch="t5", layers=1, decoder_layers=2, hidden=30, heads=5, head_size=7, ffn=37, vocab=64,
                   valid_vocab=61, micro=3, encoder_len=11, seq_len=17, seed=22, clip=2.0, norm_eps=1e-6,
                   activation="gated_gelu", tied=False, scaled=False, buckets=8, distance=12,
                   documents=[[8, 9], [17], [4, 10]], encoder_documents=[[5, 6], [9], [3, 7]]),
    # As flan-t5: heads wider than the model, no documents.
    "t5_flan": dict(arch="t5", layers=2, decoder_layers=2, hidden=24, heads=4, head_size=10, ffn=44, vocab=64,
                    valid_vocab=64, micro=2, encoder_len=24, seq_len=24, seed=23, clip=1.0, norm_eps=1e-6,
                    activation="gated_gelu", tied=False, scaled=False, buckets=16, distance=20),
    # What transformers 5 makes of T5 1.1 without a head of its own: tied, but not scaled.
    "t5_tied": dict(arch="t5", layers=1, decoder_layers=1, hidden=20, heads=2, head_size=12, ffn=28, vocab=64,
                    valid_vocab=60, micro=2, encoder_len=6, seq_len=14, seed=24, clip=1.0, norm_eps=1e-6,
                    activation="gated_gelu", tied=True, scaled=False, buckets=32, distance=128,
                    encoder_documents=[[6], [4]]),
}


def parameter_shapes(c):
    """Returns (name, shape, center, scale) in the engine's order."""
    w, inner, shapes = c["hidden"], c["heads"] * c["head_size"], []

    def layer(name, inputs, outputs, scale=2**-2):
        shapes.append((name + ".weight", (inputs, outputs), 0, scale))

    def norm(name):
        shapes.append((name + "layer_norm.weight", (w,), 1, 2**-2))

    shapes.append(("shared.weight", (c["vocab"], w), 0, 2**-1))
    for stack in ("encoder", "decoder"):
        layer(f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias", c["buckets"], c["heads"], 1)
    for stack, layers in (("encoder", c["layers"]), ("decoder", c["decoder_layers"])):
        for i in range(layers):
            h = f"{stack}.block.{i}.layer."
            layer(h + "0.SelfAttention.qkv", w, 3 * inner)
            layer(h + "0.SelfAttention.o", inner, w)
            norm(h + "0.")
            if stack == "decoder":
                layer(h + "1.EncDecAttention.q", w, inner)
                layer(h + "1.EncDecAttention.kv", w, 2 * inner)
                layer(h + "1.EncDecAttention.o", inner, w)
                norm(h + "1.")
            last = h + ("2." if stack == "decoder" else "1.")
            layer(last + "DenseReluDense.wi", w, c["ffn"] * (2 if c["activation"] == "gated_gelu" else 1))
            layer(last + "DenseReluDense.wo", c["ffn"], w)
            norm(last)
        norm(f"{stack}.final_")
    if not c["tied"]:
        shapes.append(("lm_head.weight", (c["vocab"], w), 0, 2**-2))
    return shapes


def numbers_of(c, key, length):
    """Returns the number of each position's document within its row; -1: padding."""
    numbers = np.full((c["micro"], length), -1)
    for row, lengths in enumerate(c.get(key, [[length]] * c["micro"])):
        at = 0
        for number, one in enumerate(lengths):
            numbers[row, at:at + one] = number
            at += one
    return numbers


def both_numbers(c):
    """Returns the documents of the encoder's and of the decoder's positions."""
    return numbers_of(c, "encoder_documents", c["encoder_len"]), numbers_of(c, "documents", c["seq_len"])


def encoder_tokens(c):
    rows = c["micro"] * c["encoder_len"]
    draws = base.uniform(200 + c["seed"], 0, rows).reshape(c["micro"], -1)
    return np.floor(draws**2 * c["valid_vocab"]).astype(np.int64).clip(0, c["valid_vocab"] - 1)


def more_inputs(c):
    inputs = dict(encoder_tokens=encoder_tokens(c))
    if "documents" in c or "encoder_documents" in c:
        inputs["encoder_documents"], inputs["documents"] = both_numbers(c)
    return inputs


def make_batch(c, step):
    """Returns the decoder's inputs and targets: in each document, the inputs are the targets shifted right from 0."""
    rows = c["micro"] * c["seq_len"]
    draws = base.uniform(100 + c["seed"], (step % 2) * 2 * rows, 2 * rows).reshape(2, c["micro"], -1)
    words = np.floor(draws[0] ** 2 * c["valid_vocab"]).astype(np.int64).clip(0, c["valid_vocab"] - 1)
    numbers = both_numbers(c)[1]
    begins = np.ones_like(numbers, dtype=bool)
    begins[:, 1:] = numbers[:, 1:] != numbers[:, :-1]
    tokens = np.where(begins | (numbers < 0), 0, np.roll(words, 1, axis=1))
    targets = np.where((numbers < 0) | (np.abs(draws[1]) < 1 / 16), -1, words)
    return torch.tensor(tokens), torch.tensor(targets)


def bucket(distance, c, both_sides):
    """Returns the bucket of key - query, a definition with integers: i < half is exact, then logarithmic."""
    buckets, first = c["buckets"], 0
    if both_sides:
        buckets //= 2
        first = buckets if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return first + distance
    # As in transformers: f32, so that distances on an edge fall into the same bucket.
    scaled = np.float32(math.log(np.float32(distance) / exact)) / np.float32(math.log(c["distance"] / exact))
    return first + min(exact + int(scaled * np.float32(buckets - exact)), buckets - 1)


def bias_of(p, c, stack, length):
    """Returns (heads, queries, keys)."""
    table = p[f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
    numbers = [[bucket(k - q, c, stack == "encoder") for k in range(length)] for q in range(length)]
    return table[torch.tensor(numbers)].permute(2, 0, 1)


def forward(p, tokens, c):
    """Computes T5's logits: an encoder that sees both sides, a causal decoder that reads it."""
    heads, size, width = c["heads"], c["head_size"], c["hidden"]
    numbers, queries = (torch.tensor(x) for x in both_numbers(c))

    def norm(x, name):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + c["norm_eps"]) * p[name + "layer_norm.weight"]

    def split(x):
        return x.view(*x.shape[:2], -1, heads, size).permute(2, 0, 3, 1, 4)

    def attend(q, k, v, sees, bias):
        scores = (q @ k.transpose(-1, -2) + bias).masked_fill(~sees[:, None], float("-inf"))
        blind = ~sees.any(-1)[:, None, :, None]
        weights = torch.softmax(scores.masked_fill(blind, 0), -1) * ~blind
        return (weights @ v).transpose(1, 2).reshape(*q.shape[:1], q.shape[2], heads * size)

    def same(a, b):
        return (a[:, :, None] == b[:, None, :]) & (b[:, None, :] >= 0) & (a[:, :, None] >= 0)

    def feed(x, name):
        u = norm(x, name) @ p[name + "DenseReluDense.wi.weight"]
        if c["activation"] == "gated_gelu":
            gate, up = u.chunk(2, -1)
            u = 0.5 * gate * (1 + torch.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate**3))) * up
        else:
            u = torch.relu(u)
        return x + u @ p[name + "DenseReluDense.wo.weight"]

    def stack(kind, x, sees, encoded=None):
        bias = bias_of(p, c, kind, x.shape[1])
        for i in range(c["layers"] if encoded is None else c["decoder_layers"]):
            h = f"{kind}.block.{i}.layer."
            q, k, v = split(norm(x, h + "0.") @ p[h + "0.SelfAttention.qkv.weight"])
            x = x + attend(q, k, v, sees, bias) @ p[h + "0.SelfAttention.o.weight"]
            if encoded is not None:
                (q,) = split(norm(x, h + "1.") @ p[h + "1.EncDecAttention.q.weight"])
                k, v = split(encoded @ p[h + "1.EncDecAttention.kv.weight"])
                x = x + attend(q, k, v, same(queries, numbers), 0) @ p[h + "1.EncDecAttention.o.weight"]
            x = feed(x, h + ("1." if encoded is None else "2."))
        return norm(x, f"{kind}.final_")

    shared, T = p["shared.weight"], tokens.shape[1]
    encoded = stack("encoder", shared[torch.tensor(encoder_tokens(c))], same(numbers, numbers))
    earlier = torch.ones(T, T, dtype=torch.bool).tril()
    x = stack("decoder", shared[tokens], same(queries, queries) & earlier, encoded)
    if c["scaled"]:
        x = x * width**-0.5
    return x @ p["shared.weight" if c["tied"] else "lm_head.weight"][: c["valid_vocab"]].T


def hugging_face_parts(c, name, tensor):
    """Returns the transformers' names of one of our tensors, and their values."""
    for fused, letters in ((".qkv.", "qkv"), (".kv.", "kv")):
        if fused in name:
            pieces = tensor.chunk(len(letters), -1)
            return [(name.replace(fused, f".{x}."), piece.T) for x, piece in zip(letters, pieces)]
    if name.endswith("wi.weight") and c["activation"] == "gated_gelu":
        return [(name.replace(".wi.", f".wi_{i}."), piece.T) for i, piece in enumerate(tensor.chunk(2, -1))]
    is_linear = tensor.dim() == 2 and not name.endswith(("shared.weight", "lm_head.weight", "bias.weight"))
    return [(name, tensor.T if is_linear else tensor)]


def transformers_model(c):
    """Returns transformers' model of a case in double precision, with the case's weights."""
    import transformers
    config = transformers.T5Config(
        vocab_size=c["vocab"], d_model=c["hidden"], d_kv=c["head_size"], d_ff=c["ffn"], num_layers=c["layers"],
        num_decoder_layers=c["decoder_layers"], num_heads=c["heads"], layer_norm_epsilon=c["norm_eps"],
        relative_attention_num_buckets=c["buckets"], relative_attention_max_distance=c["distance"], dropout_rate=0.0,
        feed_forward_proj="gated-gelu" if c["activation"] == "gated_gelu" else "relu",
        tie_word_embeddings=c["scaled"], decoder_start_token_id=0, attn_implementation="eager")
    theirs = transformers.T5ForConditionalGeneration(config).double()
    # Version 5 ties every head until it loads another one, version 4 those that are scaled.
    theirs.lm_head.weight = theirs.shared.weight if c["tied"] else torch.nn.Parameter(theirs.shared.weight.clone())
    weights = dict(theirs.named_parameters())
    with torch.no_grad():
        for name, tensor in base.make_parameters(c, torch.float64).items():
            for their_name, part in hugging_face_parts(c, name, tensor):
                weights[their_name].copy_(part)
    return theirs


def check_against_transformers(name, c):
    """Compares loss and every gradient with Hugging Face's own model, which gets one document at a time."""
    try:
        theirs = transformers_model(c)
    except ImportError:
        print(f"{name}: not compared with transformers, which is not installed")
        return
    p = base.make_parameters(c, torch.float64)
    tokens, targets = make_batch(c, 0)
    sources, (numbers, queries) = torch.tensor(encoder_tokens(c)), both_numbers(c)
    their_loss = 0
    for row in range(c["micro"]):
        for number in range(queries[row].max() + 1):
            source = torch.tensor(np.flatnonzero(numbers[row] == number))
            at = torch.tensor(np.flatnonzero(queries[row] == number))
            logits = theirs(input_ids=sources[row, source][None],
                            decoder_input_ids=tokens[row, at][None]).logits[..., : c["valid_vocab"]]
            their_loss = their_loss + base.loss_sum(logits, targets[row, at][None])
    their_loss.backward()
    loss = base.loss_sum(forward(p, tokens, c), targets)
    loss.backward()
    weights, worst = dict(theirs.named_parameters()), 0
    for ours_name, ours in p.items():
        for their_name, part in hugging_face_parts(c, ours_name, ours.grad):
            worst = max(worst, ((weights[their_name].grad - part).norm() / part.norm()).item())
    off = abs(their_loss.item() / loss.item() - 1)
    print(f"{name}: transformers' {type(theirs).__name__}: loss off by {off:.1e}, worst gradient {worst:.1e}")
    assert off < 1e-6 and worst < 1e-5


if __name__ == "__main__":
    CASES = {name: CASES[name] for name in sys.argv[1:] or CASES}
    base.CASES, base.parameter_shapes, base.forward = CASES, parameter_shapes, forward
    base.make_batch, base.more_inputs = make_batch, more_inputs
    for case in CASES:
        check_against_transformers(case, CASES[case])
    base.main()
