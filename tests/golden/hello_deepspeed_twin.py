#!/usr/bin/env python3
"""Trains the model of DeepSpeed's example HelloDeepSpeed with dslaunch and with PyTorch, and compares the losses.

By hand, in an environment with torch and transformers: tests/golden/hello_deepspeed_twin.py [--text FILE] [STEPS [RANKS [KEY=VALUE ...]]]
6 layers, 256 wide, 8 heads, ffn 512, 50265 tokens, T 512, 8 sequences a rank, Adam with 1e-4, ZeRO stage 1 with the optimizer
in host memory. Both begin with the same folder of transformers' RobertaForMaskedLM, and the twin takes the rows that dslaunch's
ledger of samples names, all ranks' rows of a step as one batch. With --text, a byte-level BPE is trained on that file, dslaunch
tokenizes and masks it, and the twin takes the rows that `dslaunch data show --json` prints. fp32 losses must agree to 1e-4; with precision.dtype=bf16 or
fp16 the differences are only printed.
"""
import glob
import json
import os
import random
import struct
import subprocess
import sys
import tempfile

import torch
import transformers

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BIN = os.environ.get("DS_BIN") or os.path.join(SOURCE, "build/release/bin")
VOCAB, MASK, LENGTH, MICRO = 50265, 50264, 512, 8


def made_rows(count):
    """Returns tokens and targets: a cycle of words that can be learned, 15 % masked."""
    draw, tokens, targets = random.Random(5), [], []
    for row in range(count):
        words = [5 + (row % 7 * 100 + i * i) % 997 for i in range(LENGTH)]
        counts = [draw.random() < 0.15 for _ in words]
        targets.append([word if counted else -100 for word, counted in zip(words, counts)])
        tokens.append([MASK if counted and draw.random() < 0.8 else word for word, counted in zip(words, counts)])
    return tokens, targets


def write_samples(path, fields):
    header, data = {}, b""
    for name, rows in fields.items():
        part = b"".join(struct.pack(f"<{LENGTH}i", *row) for row in rows)
        header[name] = dict(dtype="I32", shape=[len(rows), LENGTH], data_offsets=[len(data), len(data) + len(part)])
        data += part
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def write_tokenizer(folder, text):
    import tokenizers
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    made.train([text], tokenizers.trainers.BpeTrainer(
        vocab_size=VOCAB, special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"], show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    os.mkdir(folder)
    made.save(f"{folder}/tokenizer.json")
    with open(f"{folder}/tokenizer_config.json", "w") as file:
        json.dump(dict(bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>", mask_token="<mask>"), file)


def shown_batches(work, steps, ranks):
    """Yields the rows of each step as `dslaunch data show` prints them: tokens and targets (negative: none)."""
    for step in range(1, steps + 1):
        text = subprocess.run([f"{BIN}/dslaunch", "data", "show", f"{work}/train.toml", "--step", str(step), "--ranks", str(ranks), "--json"],
                              check=True, capture_output=True, text=True).stdout
        samples = json.loads(text)["samples"]
        assert all(set(sample["documents"]) <= {0, -1} for sample in samples), "a row is a piece of the text"
        yield [sample["tokens"] for sample in samples], [sample["targets"] for sample in samples]


def ledger_batches(work, tokens, targets):
    """Yields the rows of each step that the ledgers name."""
    rows = {}
    for name in glob.glob(f"{work}/run/samples-rank*.jsonl"):
        with open(name) as file:
            for line in map(json.loads, file):
                for taken in line["taken"]:
                    rows.setdefault(line["step"], []).extend(taken["offsets"])
    for step in sorted(rows):
        yield [tokens[row] for row in rows[step]], [targets[row] for row in rows[step]]


def main(*words):
    text = os.path.abspath(words[1]) if words[:1] == ("--text",) else None
    words = words[2:] if text else words
    steps, ranks, keys = int(words[0]) if words else 20, int(words[1]) if len(words) > 1 else 4, words[2:]
    torch.manual_seed(1)
    config = transformers.RobertaConfig(
        vocab_size=VOCAB, hidden_size=256, num_hidden_layers=6, num_attention_heads=8, intermediate_size=512,
        max_position_embeddings=LENGTH + 2, type_vocab_size=1, layer_norm_eps=1e-5, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0)
    model = transformers.RobertaForMaskedLM(config)
    tokens, targets = made_rows(ranks * MICRO * steps)
    with tempfile.TemporaryDirectory() as work:
        model.save_pretrained(f"{work}/hf")
        write_samples(f"{work}/samples", dict(tokens=tokens, targets=targets))
        if text:
            write_tokenizer(f"{work}/tokenizer", text)
        data = f'train = ["{text}"]\ntokenizer = "tokenizer"' if text else 'train = ["samples"]\nformat = "samples"'
        with open(f"{work}/train.toml", "w") as file:
            file.write(f"""[model]
from = "hf"
[data]
{data}
cache = "cache"
validation = 0
seq_len = {LENGTH}
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
steps = {steps}
[log]
dir = "run"
every = 1
samples = true
""")
        subprocess.run([f"{BIN}/dslaunch", "-n", str(ranks), f"{work}/train.toml", *keys], check=True, cwd=work)
        with open(f"{work}/run/metrics.jsonl") as file:
            ours = [row["loss"] for row in map(json.loads, file) if "loss" in row][:steps]
        batches = list(shown_batches(work, steps, ranks) if text else ledger_batches(work, tokens, targets))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    worst = 0
    for number, (inputs, wanted_rows) in enumerate(batches[:steps]):
        loss = 0
        count = sum(target >= 0 for row in wanted_rows for target in row)
        optimizer.zero_grad()
        for first in range(0, len(inputs), MICRO):
            wanted = torch.tensor(wanted_rows[first:first + MICRO])
            read = torch.tensor(inputs[first:first + MICRO])
            # Padding is 0, which no text has: it is <s>, and nothing is put before a text.
            hidden = model.roberta(read, attention_mask=(read != 0).long() if text else None)[0]
            logits = model.lm_head(hidden[wanted >= 0])
            each = torch.nn.functional.cross_entropy(logits, wanted[wanted >= 0], reduction="sum") / count
            each.backward()
            loss += each.item()
        optimizer.step()
        off = abs(ours[number] / loss - 1)
        worst = max(worst, off)
        print(f"step {number + 1}: dslaunch {ours[number]:.6f}, PyTorch {loss:.6f}: off by {off:.1e}", flush=True)
    print(f"worst: {worst:.1e}")
    is_fp32 = not any(key.startswith("precision.dtype=") and key[16:] != "fp32" for key in keys)
    return int(is_fp32 and worst > 1e-4)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
