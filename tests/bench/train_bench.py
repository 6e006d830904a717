#!/usr/bin/env python3
"""One measurement of PyTorch for train_bench.sh: training steps on the CPU, median tokens/s.

Usage: train_bench.py ARCH LAYERS WIDTH HEADS KV_HEADS FFN VOCAB BATCH SEQ_LEN MODE THREADS STEPS
ARCH: gpt2 | llama. MODE: amp | bf16 | amp-compiled | bf16-compiled.
`amp`: fp32 weights, bf16 in torch.autocast. `bf16`: weights, gradients and moments are bf16. `compiled`: torch.compile of the model.
The models are the engine's. gpt2: learned positions, LayerNorm, tanh GELU. llama: rotary positions, RMSNorm, SwiGLU, grouped heads.
Both: scaled_dot_product_attention, tied head, AdamW without decay of norms and biases, clipping.
"""
import statistics
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Gpt2Block(nn.Module):
    def __init__(self, width, heads, kv_heads, ffn):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc, self.down = nn.Linear(width, ffn), nn.Linear(ffn, width)

    def forward(self, x, rotation):
        B, T, C = x.shape
        q, k, v = self.qkv(self.ln_1(x)).view(B, T, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(attended.transpose(1, 2).reshape(B, T, C))
        return x + self.down(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


def rotate(x, rotation):
    cos, sin = rotation[0].to(x.dtype), rotation[1].to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, kv_heads, ffn):
        super().__init__()
        self.sizes = heads, kv_heads, width // heads
        self.norm_1, self.norm_2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.qkv = nn.Linear(width, (heads + 2 * kv_heads) * (width // heads), bias=False)
        self.proj = nn.Linear(width, width, bias=False)
        self.gate_up, self.down = nn.Linear(width, 2 * ffn, bias=False), nn.Linear(ffn, width, bias=False)

    def forward(self, x, rotation):
        B, T, C = x.shape
        heads, kv_heads, depth = self.sizes
        qkv = self.qkv(self.norm_1(x)).view(B, T, heads + 2 * kv_heads, depth).transpose(1, 2)
        q, k, v = qkv.split((heads, kv_heads, kv_heads), dim=1)
        attended = F.scaled_dot_product_attention(rotate(q, rotation), rotate(k, rotation), v, is_causal=True, enable_gqa=heads != kv_heads)
        x = x + self.proj(attended.transpose(1, 2).reshape(B, T, C))
        gate, up = self.gate_up(self.norm_2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Model(nn.Module):
    def __init__(self, arch, layers, width, heads, kv_heads, ffn, vocab, seq_len):
        super().__init__()
        gpt2 = arch == "gpt2"
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(seq_len, width) if gpt2 else None
        self.blocks = nn.ModuleList((Gpt2Block if gpt2 else LlamaBlock)(width, heads, kv_heads, ffn) for _ in range(layers))
        self.norm_f = nn.LayerNorm(width) if gpt2 else nn.RMSNorm(width, eps=1e-5)
        depth = width // heads
        angles = torch.outer(torch.arange(seq_len).float(), 10000.0 ** (-torch.arange(0, depth, 2).float() / depth))
        self.register_buffer("rotation", torch.stack((angles.cos(), angles.sin())), persistent=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, tokens, targets):
        x = self.wte(tokens)
        if self.wpe is not None:
            x = x + self.wpe.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x, self.rotation)
        logits = F.linear(self.norm_f(x), self.wte.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))


def main():
    arch, mode, threads, steps = sys.argv[1], sys.argv[10], int(sys.argv[11]), int(sys.argv[12])
    layers, width, heads, kv_heads, ffn, vocab, batch, seq_len = map(int, sys.argv[2:10])
    torch.manual_seed(1)
    torch.set_num_threads(threads)
    model = Model(arch, layers, width, heads, kv_heads, ffn, vocab, seq_len)
    if mode.startswith("bf16"):
        model = model.bfloat16()
    run = torch.compile(model) if mode.endswith("-compiled") else model
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95))
    seconds = []
    for _ in range(steps):
        tokens = torch.randint(0, min(vocab, 256), (batch, seq_len + 1))
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mode.startswith("amp")):
            loss = run(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    # The first step compiles, creates primitives and touches memory; the engine's median leaves it out too.
    steady = seconds[1:] or seconds
    print(f"{batch * seq_len / statistics.median(steady):.1f}")


if __name__ == "__main__":
    main()
