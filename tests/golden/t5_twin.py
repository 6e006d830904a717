#!/usr/bin/env python3
"""Trains a toy T5 on pairs of JSONL with dslaunch and with PyTorch, and compares the losses.

By hand, in an environment with torch and transformers: tests/golden/t5_twin.py --text data/english.txt [OPTIONS] [KEY=VALUE ...]
2 and 2 layers, 128 wide, 4 heads, ffn 512, 512 tokens of the encoder and 150 of the decoder, 2 rows a rank, AdamW with 3e-4 and
clipping, ZeRO stage 2. scripts/make_jsonl.sh makes the pairs, of which several stand in a row. Both begin with the same folder of
transformers' T5ForConditionalGeneration. The twin, in fp32, takes each pair by itself from what `dslaunch data show --json` prints.
fp32 losses must agree to 1e-4, those of other types to 2 %, as means over --window steps.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import torch
import transformers

import twin


def words_of(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", type=os.path.abspath, required=True)
    parser.add_argument("--tokenizer", type=os.path.abspath, help="folder; by default a BPE of --vocab tokens is trained on the text")
    parser.add_argument("--vocab", type=int, default=8192)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--window", type=int, default=20)
    parser.add_argument("keys", nargs="*")
    return parser.parse_args(words)


def toml(words, tokenizer):
    return f"""[model]
from = "hf"
[data]
train = ["pairs.jsonl"]
format = "jsonl"
tokenizer = "{tokenizer}"
cache = "cache"
validation = 0
encoder_len = 512
seq_len = 150
[batch]
micro = 2
accum = 1
[optimizer]
type = "adamw"
lr = 3e-4
betas = [0.9, 0.95]
eps = 1e-8
weight_decay = 0.1
no_decay = []
clip = 1.0
[schedule]
type = "constant"
[zero]
stage = 2
[train]
steps = {words.steps}
[log]
dir = "run"
every = 1
"""


def pairs_of(samples):
    """Yields each pair of a step: tokens of the encoder, inputs of the decoder, targets."""
    for sample in samples:
        for document in sorted(set(sample["documents"]) - {-1}):
            at = [i for i, number in enumerate(sample["documents"]) if number == document]
            yield ([token for token, number in zip(sample["encoder_tokens"], sample["encoder_documents"]) if number == document],
                   [sample["tokens"][i] for i in at], [sample["targets"][i] for i in at])


def padded(rows, value):
    longest = max(map(len, rows))
    return torch.tensor([row + [value] * (longest - len(row)) for row in rows])


def step(model, optimizer, pairs):
    """Trains on all pairs of a step and returns the mean loss of their targets."""
    loss, count = 0, sum(target >= 0 for _, _, targets in pairs for target in targets)
    optimizer.zero_grad()
    for first in range(0, len(pairs), 8):
        sources, inputs, targets = zip(*pairs[first:first + 8])
        mask = padded([[1] * len(source) for source in sources], 0)
        logits = model(input_ids=padded(sources, 0), attention_mask=mask, decoder_input_ids=padded(inputs, 0)).logits
        wanted = padded(targets, -100)
        each = torch.nn.functional.cross_entropy(logits[wanted >= 0], wanted[wanted >= 0], reduction="sum") / count
        each.backward()
        loss += each.item()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss


def main(*args):
    words = words_of(args)
    torch.manual_seed(1)
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(
        vocab_size=words.vocab, d_model=128, d_kv=32, d_ff=512, num_layers=2, num_heads=4, dropout_rate=0.0))
    with tempfile.TemporaryDirectory() as work:
        model.save_pretrained(f"{work}/hf")
        subprocess.run([f"{twin.SOURCE}/scripts/make_jsonl.sh", words.text, work], check=True)
        tokenizer = words.tokenizer or f"{work}/tokenizer"
        if not words.tokenizer:
            twin.write_tokenizer(tokenizer, words.text, words.vocab, "t5")
        losses, skipped = twin.train(work, toml(words, tokenizer), words.ranks, words.keys)
        seen = twin.Comparison(losses, skipped, words.window)
        optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
        for samples in twin.shown_samples(work, words.steps, words.ranks):
            seen.add(step(model, optimizer, list(pairs_of(samples))))
    return seen.end(twin.is_fp32(words.keys))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
