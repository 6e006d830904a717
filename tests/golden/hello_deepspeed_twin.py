#!/usr/bin/env python3
"""Trains the model of DeepSpeed's example HelloDeepSpeed with dslaunch and with PyTorch, and compares the losses.

By hand, in an environment with torch and transformers: tests/golden/hello_deepspeed_twin.py [OPTIONS] [KEY=VALUE ...]
6 layers, 256 wide, 8 heads, ffn 512, T 512, 8 sequences a rank, Adam with 1e-4, ZeRO stage 1 with the optimizer in host memory. Both
begin with the same folder of transformers' RobertaForMaskedLM. The twin, in fp32, takes all ranks' rows of a step as one batch:
those that dslaunch's ledger of samples names, or with --text those that `dslaunch data show --json` prints of that text, which
dslaunch tokenizes and masks. It leaves out the updates that dslaunch skips in fp16. fp32 losses must agree to 1e-4, those of other
types to 2 %, as means over --window steps.
"""
import argparse
import glob
import json
import os
import random
import struct
import sys
import tempfile

import torch
import transformers

import twin

MICRO = 8


def made_rows(count, length, mask):
    """Returns tokens and targets: a cycle of words that can be learned, 15 % masked."""
    draw, tokens, targets = random.Random(5), [], []
    for row in range(count):
        words = [5 + (row % 7 * 100 + i * i) % 997 for i in range(length)]
        counts = [draw.random() < 0.15 for _ in words]
        targets.append([word if counted else -100 for word, counted in zip(words, counts)])
        tokens.append([mask if counted and draw.random() < 0.8 else word for word, counted in zip(words, counts)])
    return tokens, targets


def write_samples(path, length, fields):
    header, data = {}, b""
    for name, rows in fields.items():
        part = b"".join(struct.pack(f"<{length}i", *row) for row in rows)
        header[name] = dict(dtype="I32", shape=[len(rows), length], data_offsets=[len(data), len(data) + len(part)])
        data += part
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def shown_batches(work, steps, ranks):
    """Yields the rows of each step as dslaunch reads them, and the document of each token (negative: padding)."""
    for samples in twin.shown_samples(work, steps, ranks):
        assert all(set(sample["documents"]) <= {0, -1} for sample in samples), "a row is a piece of the text"
        yield tuple([sample[name] for sample in samples] for name in ("tokens", "targets", "documents"))


def ledger_batches(work, tokens, targets):
    """Yields the rows of each step that the ledgers name, as shown_batches()."""
    rows = {}
    for name in glob.glob(f"{work}/run/samples-rank*.jsonl"):
        with open(name) as file:
            for line in map(json.loads, file):
                for taken in line["taken"]:
                    rows.setdefault(line["step"], []).extend(taken["offsets"])
    for step in sorted(rows):
        inputs = [tokens[row] for row in rows[step]]
        yield inputs, [targets[row] for row in rows[step]], [[0] * len(row) for row in inputs]


def words_of(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", type=os.path.abspath)
    parser.add_argument("--tokenizer", type=os.path.abspath, help="folder; by default a BPE of --vocab tokens is trained on the text")
    parser.add_argument("--vocab", type=int, default=50265)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--window", type=int, default=20)
    parser.add_argument("keys", nargs="*")
    return parser.parse_args(words)


def toml(words, data):
    return f"""[model]
from = "hf"
[data]
{data}
cache = "cache"
validation = 0
seq_len = {words.length}
[batch]
micro = {MICRO}
accum = 1
[optimizer]
type = "adamw"
lr = 1e-4
betas = [0.9, 0.999]
eps = 1e-8
weight_decay = 0.0
clip = 0
[schedule]
type = "constant"
[zero]
stage = 1
[offload.optimizer]
device = "cpu"
[train]
steps = {words.steps}
[log]
dir = "run"
every = 1
samples = true
"""


def main(*args):
    words = words_of(args)
    torch.manual_seed(1)
    model = transformers.RobertaForMaskedLM(transformers.RobertaConfig(
        vocab_size=words.vocab, hidden_size=256, num_hidden_layers=6, num_attention_heads=8, intermediate_size=512,
        max_position_embeddings=words.length + 2, type_vocab_size=1, layer_norm_eps=1e-5, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0))
    with tempfile.TemporaryDirectory() as work:
        model.save_pretrained(f"{work}/hf")
        if words.text:
            tokenizer = words.tokenizer or f"{work}/tokenizer"
            if not words.tokenizer:
                twin.write_tokenizer(tokenizer, words.text, words.vocab, "roberta")
            data = f'train = ["{words.text}"]\ntokenizer = "{tokenizer}"'
        else:
            tokens, targets = made_rows(words.ranks * MICRO * words.steps, words.length, words.vocab - 1)
            write_samples(f"{work}/samples", words.length, dict(tokens=tokens, targets=targets))
            data = 'train = ["samples"]\nformat = "samples"'
        losses, skipped = twin.train(work, toml(words, data), words.ranks, words.keys)
        seen = twin.Comparison(losses, skipped, words.window)
        batches = shown_batches(work, words.steps, words.ranks) if words.text else ledger_batches(work, tokens, targets)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
        for number, batch in enumerate(batches, 1):
            seen.add(loss_of(model, optimizer, *batch))
            if number not in skipped:
                optimizer.step()
    return seen.end(twin.is_fp32(words.keys))


def loss_of(model, optimizer, inputs, targets, documents):
    """Returns the mean loss of the targets of all rows of a step; the model has its gradients then."""
    loss, count = 0, sum(target >= 0 for row in targets for target in row)
    optimizer.zero_grad()
    for first in range(0, len(inputs), MICRO):
        wanted = torch.tensor(targets[first:first + MICRO])
        read = torch.tensor(inputs[first:first + MICRO])
        used = torch.tensor(documents[first:first + MICRO]) >= 0
        # transformers counts positions around its padding token, which padded rows do not hold here.
        positions = torch.arange(2, 2 + read.shape[1]).expand(read.shape)
        hidden = model.roberta(read, attention_mask=used.long(), position_ids=positions)[0]
        each = torch.nn.functional.cross_entropy(model.lm_head(hidden[wanted >= 0]), wanted[wanted >= 0], reduction="sum") / count
        each.backward()
        loss += each.item()
    return loss


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
