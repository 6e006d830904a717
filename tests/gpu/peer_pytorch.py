#!/usr/bin/env python3
"""Runs the same training step in PyTorch for run.sh; prints "tokens_per_s RATE ...", one rate per timed step.

Usage: peer_pytorch.py --shape gpt2|llama --mode master|pure --layers L --width C --heads H [--kv-heads G] [--ffn F]
                       --vocab V --time T --micro B --accum A [--warm-up N] [--windows N]
  master: weights, sums of gradients and moments in fp32, products and activations in bf16 (autocast), as in the engine.
  pure:   weights, gradients, their sums and moments in bf16: less memory and less work than in the engine.
Uses torch.compile, F.scaled_dot_product_attention, fused AdamW, clipping to norm 1, and tokens below 256 as in the engine.
Exits with 77 and the reason if PyTorch or its GPU is missing. Halves a micro-batch that does not fit in memory.
"""
import argparse
import statistics
import sys
import time

try:
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
except ImportError as error:
    print(f"skipped: PyTorch is not installed: {error}")
    sys.exit(77)


class LayerNorm(nn.LayerNorm):
    """Layer norm with statistics in fp32 and the result in the residual stream's type."""

    def forward(self, x):
        weight, bias = self.weight.float(), self.bias.float()
        return F.layer_norm(x.float(), self.normalized_shape, weight, bias, self.eps).to(x.dtype)


class Gpt2Block(nn.Module):
    def __init__(self, a):
        super().__init__()
        c = a.width
        self.heads = a.heads
        self.ln_1, self.ln_2 = LayerNorm(c), LayerNorm(c)
        self.qkv, self.proj = nn.Linear(c, 3 * c), nn.Linear(c, c)
        self.fc, self.down = nn.Linear(c, 4 * c), nn.Linear(4 * c, c)

    def forward(self, x, angles):
        B, T, C = x.shape
        q, k, v = (y.view(B, T, self.heads, -1).transpose(1, 2) for y in self.qkv(self.ln_1(x)).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.down(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.weight.to(x.dtype)


def rotate(x, angles):
    cos, sin = angles
    half = x.shape[-1] // 2
    a, b = x[..., :half].float(), x[..., half:].float()
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)


class LlamaBlock(nn.Module):
    def __init__(self, a):
        super().__init__()
        c, d = a.width, a.width // a.heads
        self.heads, self.kv_heads, self.depth = a.heads, a.kv_heads, d
        self.norm_1, self.norm_2 = RmsNorm(c), RmsNorm(c)
        self.qkv = nn.Linear(c, (a.heads + 2 * a.kv_heads) * d, bias=False)
        self.proj = nn.Linear(c, c, bias=False)
        self.up, self.down = nn.Linear(c, 2 * a.ffn, bias=False), nn.Linear(a.ffn, c, bias=False)

    def forward(self, x, angles):
        B, T, C = x.shape
        sizes = [n * self.depth for n in (self.heads, self.kv_heads, self.kv_heads)]
        q, k, v = (y.view(B, T, -1, self.depth).transpose(1, 2) for y in self.qkv(self.norm_1(x)).split(sizes, dim=2))
        y = F.scaled_dot_product_attention(rotate(q, angles), rotate(k, angles), v, is_causal=True, enable_gqa=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        gate, up = self.up(self.norm_2(x)).chunk(2, dim=2)
        return x + self.down(F.silu(gate) * up)


class Model(nn.Module):
    """GPT-2 (learned positions, tied head) or Llama (rotary positions, separate head)."""

    def __init__(self, a):
        super().__init__()
        self.wte = nn.Embedding(a.vocab, a.width)
        gpt2 = a.shape == "gpt2"
        self.wpe = nn.Embedding(a.time, a.width) if gpt2 else None
        self.blocks = nn.ModuleList((Gpt2Block if gpt2 else LlamaBlock)(a) for _ in range(a.layers))
        self.norm = LayerNorm(a.width) if gpt2 else RmsNorm(a.width)
        self.head = None if gpt2 else nn.Linear(a.width, a.vocab, bias=False)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=0.02)
        half = a.width // a.heads // 2
        angles = torch.arange(a.time)[:, None] * 500000.0 ** (-torch.arange(half) / half)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, tokens, targets):
        x = self.wte(tokens)
        if self.wpe is not None:
            x = x + self.wpe.weight[: tokens.shape[1]]
        x = x.to(torch.bfloat16)  # autocast would keep the residual stream in fp32
        for block in self.blocks:
            x = block(x, (self.cos.float(), self.sin.float()))
        weight = self.wte.weight if self.head is None else self.head.weight
        logits = F.linear(self.norm(x), weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.reshape(-1))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", choices=["gpt2", "llama"], required=True)
    parser.add_argument("--mode", choices=["master", "pure"], required=True)
    for name in ("layers", "width", "heads", "vocab", "time", "micro", "accum"):
        parser.add_argument("--" + name, type=int, required=True)
    for name, value in (("kv-heads", 0), ("ffn", 0), ("warm-up", 2), ("windows", 6)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--device", default="cuda", help="cpu: for trying out the script")
    return parser.parse_args()


def train(a):
    """Returns tokens/s of every timed step."""
    torch.manual_seed(1)
    with torch.device(a.device):
        if a.mode == "pure":
            torch.set_default_dtype(torch.bfloat16)
        model = Model(a)
        torch.set_default_dtype(torch.float32)
    fused = a.device == "cuda"
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
              {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95), fused=fused)
    forward = torch.compile(model) if a.device == "cuda" else model
    rates = []
    for step in range(a.warm_up + a.windows):
        data = torch.randint(0, min(a.vocab, 256), (a.accum, a.micro, a.time + 1), device=a.device)
        synchronize(a)
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=a.device)
        for tokens in data:
            with torch.autocast(a.device, dtype=torch.bfloat16, enabled=a.mode == "master"):
                loss = forward(tokens[:, :-1], tokens[:, 1:]) / a.accum
            loss.backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        last_loss = total.item()  # the engine also reports the loss of every step
        synchronize(a)
        if step >= a.warm_up:
            rates.append(a.accum * a.micro * a.time / (time.perf_counter() - start))
    print(f"loss {last_loss:.4f}; {sum(p.numel() for p in model.parameters())} parameters")
    return rates


def synchronize(a):
    if a.device == "cuda":
        torch.cuda.synchronize()


def main():
    a = arguments()
    if a.device == "cuda" and not torch.cuda.is_available():
        print("skipped: PyTorch finds no GPU")
        sys.exit(77)
    torch.set_float32_matmul_precision("high")
    while True:
        try:
            rates = train(a)
            break
        except torch.cuda.OutOfMemoryError as error:
            if a.micro == 1:
                print(f"out of memory: {str(error).splitlines()[0]}")
                sys.exit(1)
            a.micro, a.accum = a.micro // 2, a.accum * 2
            print(f"out of memory: micro-batches of {a.micro} from here on")
        torch.cuda.empty_cache()
        torch._dynamo.reset()
    print(f"torch {torch.__version__}, {a.mode}, micro-batch {a.micro}, median {statistics.median(rates):.1f}")
    print("tokens_per_s " + " ".join(f"{rate:.1f}" for rate in rates))


main()
