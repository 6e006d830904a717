#!/usr/bin/env python3
"""The peer of models_bench.sh: random samples, and training steps of transformers' models on the CPU.

    models_bench.py samples SHAPE FILE                     writes 64 samples of token numbers
    models_bench.py run SHAPE FILE MODE THREADS STEPS      prints the median sequences/s; MODE: amp | bf16
"""
import statistics
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
import transformers
from safetensors.numpy import load_file, save_file

SAMPLES = 64
# Batch, length, vocabulary.
SHAPES = {"bert-base": (8, 128, 30522), "t5-small": (8, 128, 32128), "qwen2.5-6-layers": (2, 512, 151936)}
ENCODER = 512  # T5's


def make_samples(shape, path):
    _, length, vocab = SHAPES[shape]
    random = np.random.default_rng(1)
    tokens = random.integers(1, vocab, (SAMPLES, length), dtype=np.int32)
    fields = {"tokens": tokens}
    if shape == "bert-base":
        counted = random.random(tokens.shape) < 0.15
        fields = {"tokens": np.where(counted, 103, tokens).astype(np.int32), "targets": np.where(counted, tokens, -100).astype(np.int32)}
    if shape == "t5-small":
        fields = {"targets": tokens, "encoder_tokens": random.integers(1, vocab, (SAMPLES, ENCODER), dtype=np.int32)}
    save_file(fields, path)


def make_model(shape):
    vocab = SHAPES[shape][2]
    if shape == "bert-base":
        return transformers.BertForMaskedLM(transformers.BertConfig(hidden_dropout_prob=0, attention_probs_dropout_prob=0))
    if shape == "t5-small":
        return transformers.T5ForConditionalGeneration(transformers.T5Config(
            d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_heads=8, vocab_size=vocab, dropout_rate=0, decoder_start_token_id=0))
    return transformers.Qwen2ForCausalLM(transformers.Qwen2Config(
        num_hidden_layers=6, hidden_size=896, num_attention_heads=14, num_key_value_heads=2, intermediate_size=4864, vocab_size=vocab,
        tie_word_embeddings=True, rope_theta=1e6, rms_norm_eps=1e-6))


def loss_of(model, shape, batch):
    if shape == "t5-small":
        return model(input_ids=batch["encoder_tokens"], labels=batch["targets"]).loss
    if shape == "qwen2.5-6-layers":
        return model(input_ids=batch["tokens"], labels=batch["tokens"]).loss
    counted = batch["targets"] >= 0
    hidden = model.bert(batch["tokens"]).last_hidden_state[counted]
    return F.cross_entropy(model.cls(hidden).float(), batch["targets"][counted])


def run(shape, path, mode, threads, steps):
    torch.manual_seed(1)
    torch.set_num_threads(threads)
    size = SHAPES[shape][0]
    fields = {name: torch.from_numpy(array).long() for name, array in load_file(path).items()}
    model = make_model(shape).train()
    if mode == "bf16":
        model = model.bfloat16()
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95))
    seconds = []
    for step in range(steps):
        first = step * size % SAMPLES
        batch = {name: values[first:first + size] for name, values in fields.items()}
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mode == "amp"):
            loss = loss_of(model, shape, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    print(f"{size / statistics.median(seconds[1:] or seconds):.4f}")


if __name__ == "__main__":
    if sys.argv[1] == "samples":
        make_samples(sys.argv[2], sys.argv[3])
    else:
        run(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), int(sys.argv[6]))
