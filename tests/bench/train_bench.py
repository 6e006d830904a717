#!/usr/bin/env python3
"""One measurement of PyTorch for train_bench.sh: runs training steps of GPT-2 on the CPU, prints tokens/s (median).

Usage: train_bench.py LAYERS WIDTH HEADS VOCAB BATCH SEQ_LEN MODE THREADS STEPS     MODE: autocast | pure
`autocast`: fp32 weights, bf16 in torch.autocast. `pure`: weights, gradients and moments are bf16.
The model is the engine's: learned positions, pre-norm, fused qkv, tanh GELU, tied head, AdamW, clipping.
"""
import math
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, mask):
        B, T, C = x.shape
        q, k, v = self.qkv(self.ln_1(x)).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) * (1 / math.sqrt(C // self.heads))).masked_fill(mask[:T, :T], float("-inf"))
        attended = F.softmax(weights, dim=-1).to(v.dtype) @ v
        x = x + self.proj(attended.transpose(1, 2).reshape(B, T, C))
        return x + self.down(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, layers, width, heads, vocab, seq_len):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(seq_len, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)
        self.register_buffer("mask", torch.ones(seq_len, seq_len, dtype=torch.bool).triu(1), persistent=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x, self.mask)
        logits = F.linear(self.ln_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def main():
    layers, width, heads, vocab, batch, seq_len = map(int, sys.argv[1:7])
    mode, threads, steps = sys.argv[7], int(sys.argv[8]), int(sys.argv[9])
    torch.manual_seed(1)
    torch.set_num_threads(threads)
    model = Gpt2(layers, width, heads, vocab, seq_len)
    if mode == "pure":
        model = model.bfloat16()
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95))
    seconds = []
    for _ in range(steps):
        tokens = torch.randint(0, min(vocab, 256), (batch, seq_len + 1))
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mode == "autocast"):
            loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    # The first step creates primitives and touches memory; the engine's median leaves it out too.
    steady = seconds[1:] or seconds
    print(f"{batch * seq_len / statistics.median(steady):.1f}")


main()
