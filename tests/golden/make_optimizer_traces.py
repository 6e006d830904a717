#!/usr/bin/env python3
"""Writes traces/optimizers.txt: one weight under each optimizer, in exact decimal arithmetic.

The formulas are the papers' (AdamW arXiv:1711.05101, Adam arXiv:1412.6980, SGD with momentum as
torch.optim.SGD states it, Lion arXiv:2302.06675), not the engine's order of operations. A case is a
line of config overrides and then one line per step: gradient, weight, first moment, second moment.
Gradients and the first weight are multiples of 2^-10, so they are exact in fp32.
"""
import os
import random
from decimal import Decimal, getcontext

getcontext().prec = 60
ZERO = Decimal(0)


def adam(o, decoupled):
    b1, b2, eps, wd, lr = o["b1"], o["b2"], o["eps"], o["weight_decay"], o["lr"]

    def step(t, g, w, m, v):
        g = g if decoupled else g + wd * w
        m = b1 * m + (1 - b1) * g
        v = b2 * v + (1 - b2) * g * g
        unbiased_m, unbiased_v = m / (1 - b1**t), v / (1 - b2**t)
        decay = lr * wd * w if decoupled else ZERO
        return w - decay - lr * unbiased_m / (unbiased_v.sqrt() + eps), m, v

    return step


def sgd(o):
    def step(_t, g, w, m, v):
        g = g + o["weight_decay"] * w
        m = o["momentum"] * m + g
        direction = g + o["momentum"] * m if o["nesterov"] else m
        return w - o["lr"] * direction, m, v

    return step


def lion(o):
    def step(_t, g, w, m, v):
        c = o["b1"] * m + (1 - o["b1"]) * g
        sign = (c > 0) - (c < 0)
        w = w - o["lr"] * (sign + o["weight_decay"] * w)
        return w, o["b2"] * m + (1 - o["b2"]) * g, v

    return step


def cases():
    base = {"lr": "0.0078125", "b1": "0.875", "b2": "0.9375", "eps": "0.0009765625",
            "momentum": "0.875", "nesterov": False}
    for decay in ("0", "0.125"):
        for kind in ("adamw", "adam_l2", "sgd", "lion"):
            yield kind, {**base, "weight_decay": decay}
    yield "sgd", {**base, "weight_decay": "0.125", "nesterov": True}
    yield "sgd", {**base, "weight_decay": "0", "momentum": "0"}


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "traces", "optimizers.txt")
    dice = random.Random(4)
    with open(path, "w", encoding="ascii") as out:
        for kind, options in cases():
            o = {k: v if isinstance(v, bool) else Decimal(v) for k, v in options.items()}
            step = {"adamw": adam(o, True), "adam_l2": adam(o, False), "sgd": sgd(o),
                    "lion": lion(o)}[kind]
            print("case", f"optimizer.type={kind}", f"optimizer.lr={o['lr']}",
                  f"optimizer.betas=[{o['b1']},{o['b2']}]", f"optimizer.eps={o['eps']}",
                  f"optimizer.momentum={o['momentum']}",
                  f"optimizer.nesterov={str(o['nesterov']).lower()}",
                  f"optimizer.weight_decay={o['weight_decay']}", file=out)
            w, m, v = Decimal(dice.randint(-1024, 1024)) / 1024, ZERO, ZERO
            print(0, f"{w:.17g}", 0, 0, file=out)
            for t in range(1, 13):
                g = Decimal(dice.randint(-2048, 2048)) / 1024 if t != 5 else ZERO
                w, m, v = step(t, g, w, m, v)
                print(g, f"{w:.17g}", f"{m:.17g}", f"{v:.17g}", file=out)


if __name__ == "__main__":
    main()
