#!/usr/bin/env python3
"""Creates the fixtures of BERT and RoBERTa for the golden tests with PyTorch, like make_gpt2_fixture.py for GPT-2.

Run by hand (Debian: apt install python3-torch python3-numpy): tests/golden/make_bert_fixture.py [CASE ...]
The model is written out below in double precision. If Hugging Face's transformers is installed (pip install
transformers==4.57.6, or 5.23), its class must give the same loss and gradients with the same weights, one
document at a time.
"""
import math
import sys

import numpy as np
import torch
import torch.nn.functional as F

import make_gpt2_fixture as base

# documents: lengths of the documents of each row; what remains of a row is padding.
CASES = {
    # Whole rows; 8 padded rows of the vocabulary; two types.
    "bert_tiny": dict(arch="bert", layers=2, hidden=36, heads=3, ffn=60, vocab=64, valid_vocab=56, micro=3, seq_len=20,
                      seed=11, clip=1.0, norm_eps=1e-12, activation="gelu", type_vocab=2, first_position=0),
    # No size is a multiple of a vector; two documents a row, and padding; three types.
    "bert_odd": dict(arch="bert", layers=1, hidden=30, heads=5, ffn=37, vocab=64, valid_vocab=61, micro=3, seq_len=13,
                     seed=12, clip=1.5, norm_eps=1e-12, activation="gelu_tanh", type_vocab=3, first_position=0,
                     documents=[[6, 7], [5, 4], [13]]),
    "bert_relu": dict(arch="bert", layers=2, hidden=24, heads=2, ffn=40, vocab=64, valid_vocab=64, micro=2, seq_len=17,
                      seed=13, clip=1.0, norm_eps=1e-5, activation="relu", type_vocab=2, first_position=0,
                      documents=[[11], [17]]),
    # Padding at the end of rows, where each row is one document.
    "roberta_tiny": dict(arch="roberta", layers=2, hidden=36, heads=4, ffn=52, vocab=64, valid_vocab=61, micro=3,
                         seq_len=18, seed=14, clip=1.0, norm_eps=1e-5, activation="gelu", type_vocab=1,
                         first_position=2, documents=[[18], [9], [14]]),
    "roberta_odd": dict(arch="roberta", layers=1, hidden=22, heads=2, ffn=31, vocab=64, valid_vocab=59, micro=4,
                        seq_len=11, seed=15, clip=1.0, norm_eps=1e-5, activation="gelu_tanh", type_vocab=1,
                        first_position=2),
    # The activation of the head is not that of the blocks; three documents in a row.
    "roberta_relu": dict(arch="roberta", layers=1, hidden=32, heads=4, ffn=44, vocab=64, valid_vocab=60, micro=2,
                         seq_len=24, seed=16, clip=1.0, norm_eps=1e-5, activation="relu", type_vocab=2,
                         first_position=5, documents=[[8, 3, 10], [1, 23]]),
}
HEADS = dict(bert=("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"),
             roberta=("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"))
TORCH_ACTIVATIONS = dict(gelu="gelu", gelu_tanh="gelu_new", relu="relu")


def parameter_shapes(c):
    """Returns (name, shape, center, scale) in the engine's order."""
    w, shapes = c["hidden"], []

    def layer(name, inputs, outputs):
        shapes.extend([(name + ".weight", (inputs, outputs), 0, 2**-2), (name + ".bias", (outputs,), 0, 2**-3)])

    def norm(name):
        shapes.extend([(name + ".weight", (w,), 1, 2**-2), (name + ".bias", (w,), 0, 2**-3)])

    for name, rows in (("word", c["vocab"]), ("position", c["first_position"] + c["seq_len"]),
                       ("token_type", c["type_vocab"])):
        shapes.append((f"embeddings.{name}_embeddings.weight", (rows, w), 0, 2**-2))
    norm("embeddings.LayerNorm")
    for i in range(c["layers"]):
        h = f"encoder.layer.{i}."
        layer(h + "attention.self.qkv", w, 3 * w)
        layer(h + "attention.output.dense", w, w)
        norm(h + "attention.output.LayerNorm")
        layer(h + "intermediate.dense", w, c["ffn"])
        layer(h + "output.dense", c["ffn"], w)
        norm(h + "output.LayerNorm")
    dense, head_norm, bias = HEADS[c["arch"]]
    layer(dense, w, w)
    norm(head_norm)
    return shapes + [(bias, (c["vocab"],), 0, 2**-3)]


def documents_of(c):
    """Returns the number of each position's document within its row (-1: padding), and its place in the document."""
    numbers = np.full((c["micro"], c["seq_len"]), -1)
    places = np.zeros_like(numbers)
    for row, lengths in enumerate(c.get("documents", [[c["seq_len"]]] * c["micro"])):
        at = 0
        for number, length in enumerate(lengths):
            numbers[row, at:at + length] = number
            places[row, at:at + length] = np.arange(length)
            at += length
    return numbers, places


def types_of(c):
    """Returns token types: runs of a few tokens."""
    return np.arange(c["micro"] * c["seq_len"]).reshape(c["micro"], -1) // 5 % c["type_vocab"]


def more_inputs(c):
    numbers, places = documents_of(c)
    inputs = dict(token_types=types_of(c), positions=places + c["first_position"])
    if "documents" in c:
        inputs["documents"] = numbers
    return inputs


def make_batch(c, step):
    """Returns tokens and targets: about one token in four is a target, and is mostly replaced by the last token."""
    rows = c["micro"] * c["seq_len"]
    draws = base.uniform(100 + c["seed"], (step % 2) * 2 * rows, 2 * rows).reshape(2, c["micro"], -1)
    tokens = np.floor(draws[0] ** 2 * c["valid_vocab"]).astype(np.int64).clip(0, c["valid_vocab"] - 1)
    # In transformers the padding token's embedding has no gradient, and RoBERTa's padding no position of its own.
    padding = max(c["first_position"] - 1, 0)
    tokens = np.where(tokens == padding, padding + 1, tokens)
    padded = documents_of(c)[0] < 0
    counts = (np.abs(draws[1]) < 1 / 4) & ~padded
    targets = np.where(counts, tokens, -1)
    tokens = np.where(counts & (draws[1] < 1 / 8), c["valid_vocab"] - 1, tokens)
    return torch.tensor(np.where(padded, padding, tokens)), torch.tensor(targets)


def activated(x, name):
    if name == "relu":
        return torch.relu(x)
    if name == "gelu":
        return F.gelu(x)
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def forward(p, tokens, c):
    """Computes BERT's logits: a norm after each branch, attention within documents, a head of two layers."""
    heads, width = c["heads"], c["hidden"]

    def norm(x, name):
        return F.layer_norm(x, (width,), p[name + ".weight"], p[name + ".bias"], c["norm_eps"])

    def linear(x, name):
        return x @ p[name + ".weight"] + p[name + ".bias"]

    B, T = tokens.shape
    numbers, places = (torch.tensor(x) for x in documents_of(c))
    words = p["embeddings.word_embeddings.weight"]
    x = words[tokens] + p["embeddings.position_embeddings.weight"][places + c["first_position"]]
    x = norm(x + p["embeddings.token_type_embeddings.weight"][torch.tensor(types_of(c))], "embeddings.LayerNorm")
    sees = (numbers[:, :, None] == numbers[:, None, :]) & (numbers[:, None, :] >= 0)
    blind = ~sees.any(-1)
    for i in range(c["layers"]):
        h = f"encoder.layer.{i}."
        qkv = linear(x, h + "attention.self.qkv").view(B, T, 3, heads, width // heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-1, -2) / math.sqrt(width // heads)).masked_fill(~sees[:, None], float("-inf"))
        weights = torch.softmax(scores.masked_fill(blind[:, None, :, None], 0), -1) * ~blind[:, None, :, None]
        attended = linear((weights @ v).transpose(1, 2).reshape(B, T, width), h + "attention.output.dense")
        x = norm(x + attended, h + "attention.output.LayerNorm")
        u = activated(linear(x, h + "intermediate.dense"), c["activation"])
        x = norm(x + linear(u, h + "output.dense"), h + "output.LayerNorm")
    dense, head_norm, bias = HEADS[c["arch"]]
    x = activated(linear(x, dense), "gelu" if c["arch"] == "roberta" else c["activation"])
    return norm(x, head_norm) @ words[: c["valid_vocab"]].T + p[bias][: c["valid_vocab"]]


def hugging_face_parts(c, name, tensor):
    """Returns the transformers' names of one of our tensors, and their values."""
    prefix = "" if name.startswith(("cls.", "lm_head.")) else c["arch"] + "."
    linear = tensor.dim() == 2 and "embeddings" not in name
    if ".self.qkv." not in name:
        return [(prefix + name, tensor.T if linear else tensor)]
    return [(prefix + name.replace("qkv", part), piece.T if linear else piece)
            for part, piece in zip(("query", "key", "value"), tensor.chunk(3, -1))]


def transformers_model(c):
    """Returns transformers' model of a case in double precision, with the case's weights."""
    import transformers
    family = dict(bert="Bert", roberta="Roberta")[c["arch"]]
    config = getattr(transformers, family + "Config")(
        vocab_size=c["vocab"], hidden_size=c["hidden"], num_hidden_layers=c["layers"],
        num_attention_heads=c["heads"], intermediate_size=c["ffn"], hidden_act=TORCH_ACTIVATIONS[c["activation"]],
        max_position_embeddings=c["first_position"] + c["seq_len"], type_vocab_size=c["type_vocab"],
        layer_norm_eps=c["norm_eps"], pad_token_id=max(c["first_position"] - 1, 0), hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, attn_implementation="eager")
    theirs = getattr(transformers, family + "ForMaskedLM")(config).double()
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
    types, numbers = types_of(c), documents_of(c)[0]
    their_loss = 0
    for row in range(c["micro"]):
        for number in range(numbers[row].max() + 1):
            at = torch.tensor(np.flatnonzero(numbers[row] == number))
            logits = theirs(tokens[row, at][None], token_type_ids=torch.tensor(types[row])[at][None],
                            attention_mask=torch.ones(1, len(at))).logits[..., : c["valid_vocab"]]
            their_loss = their_loss + base.loss_sum(logits, targets[row, at][None])
    their_loss.backward()
    loss = base.loss_sum(forward(p, tokens, c), targets)
    loss.backward()
    weights, worst = dict(theirs.named_parameters()), 0
    for ours_name, ours in p.items():
        for their_name, part in hugging_face_parts(c, ours_name, ours.grad):
            if part.norm() > 1e-9:  # the gradient of the keys' bias is 0
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
