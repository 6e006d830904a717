#!/usr/bin/env python3
"""Writes traces/schedules.txt: the values of every schedule at every step, from the definitions.

A schedule is an object whose step() is called after each optimizer step, as in DeepSpeed. The engine
computes each step independently, so the two share no code and no structure. A case is a line of
config overrides and then one line per step: step, lr, beta1, beta2, momentum.
"""
import math
import os

LR, BETAS, MOMENTUM = 0.01, (0.9, 0.95), 0.9


class Scheduler:
    """Base class with the state of DeepSpeed's schedulers; values are read after each step."""

    def __init__(self, p):
        self.p, self.i = p, -1
        self.n = max(2, p.get("warmup", 1000))

    def ramp(self):
        if self.p.get("warmup_type", "log") == "log":
            return 1.0 / math.log(self.n) * math.log(self.i + 1)
        return self.i / self.n

    def step(self):
        self.i += 1

    def betas(self):
        return BETAS[0], BETAS[1], MOMENTUM


class Warmup(Scheduler):
    def after(self):
        return 1.0

    def lr(self):
        low = self.p.get("min_lr", 0.0)
        if self.i < 0:
            return low
        return low + (LR - low) * (self.ramp() if self.i < self.n else self.after())


class WarmupDecay(Warmup):
    def after(self):
        total = self.p["total"]
        return max(0.0, float(total - self.i) / float(max(1.0, total - self.n)))


class WarmupCosine(Scheduler):
    def lr(self):
        if self.i < 0:
            return 0.0
        if self.i < self.n:
            low = self.p.get("warmup_min_ratio", 0.0)
            return LR * (low + self.ramp() * (1.0 - low))
        low = self.p.get("cos_min_ratio", 1e-4)
        progress = min(1.0, (self.i - self.n + 1) / max(1, self.p["total"] - self.n))
        return LR * max(0.0, low + (1.0 - low) * ((1 + math.cos(math.pi * progress)) / 2))


class OneCycle(Scheduler):
    def __init__(self, p):
        super().__init__(p)
        self.first = p["first_steps"]
        self.second = p.get("second_steps", self.first)
        self.stairs1 = p.get("first_stairs", 0)
        self.stairs2 = p.get("second_stairs", self.stairs1)

    def height(self):
        at = self.i + 1
        if at <= self.first:
            part, stairs = at / self.first, self.stairs1
            whole = at * stairs // self.first
        else:
            left = self.first + self.second - at
            part, stairs = left / self.second, self.stairs2
            whole = left * stairs // self.second
        return whole / stairs if stairs else part

    def in_cycle(self):
        return self.i < self.first + self.second

    def factor(self, rate):
        size = self.p.get("decay_steps", 0)
        if size == 0 or rate == 0:
            return 1.0
        return 1 + rate * ((self.i - (self.first + self.second) + 1) / size)

    def lr(self):
        low = self.p.get("min_lr", 0.0)
        if self.i < 0:
            return low
        if self.in_cycle():
            return low + (LR - low) * self.height()
        return low / self.factor(self.p.get("decay_lr_rate", 0.0))

    def betas(self):
        if not self.p.get("cycle_momentum", True):
            return super().betas()
        low, high = self.p.get("min_momentum", 0.8), self.p.get("max_momentum", 0.9)
        deepspeed = self.p["origin"] == "deepspeed"
        if self.i < 0:
            value = low
        elif self.in_cycle():
            value = high - (high - low) * self.height()
        elif deepspeed:
            value = min(high * self.factor(self.p.get("decay_momentum_rate", 0.0)), 0.999999)
        else:
            value = high / self.factor(self.p.get("decay_momentum_rate", 0.0))
        return (value, 0.99, MOMENTUM) if deepspeed else (value, BETAS[1], value)


class RangeTest(Scheduler):
    def lr(self):
        if self.i < 0:
            return LR
        at = (self.i + 1) / self.p["range_steps"]
        at = math.floor(at) if self.p.get("range_staircase", False) else at
        return LR * (1 + self.p.get("range_rate", 1.0) * at)


class Wsd:
    """Warmup, stable and decay phases; `t` is the optimizer step."""

    def __init__(self, p):
        self.p, self.t = p, 0

    def step(self):
        self.t += 1

    def lr(self):
        p, t, low = self.p, self.t, self.p.get("min_lr", 0.0)
        if t <= p.get("warmup", 0):
            return LR * t / p["warmup"]
        if t >= p["total"]:
            return low
        start = p["total"] - p["decay"]
        if t <= start:
            return LR
        x = (t - start) / p["decay"]
        tail = {"linear": 1 - x, "sqrt": 1 - x**0.5, "cosine": 0.5 + 0.5 * math.cos(math.pi * x)}
        return low + (LR - low) * tail[p.get("tail", "linear")]

    def betas(self):
        return BETAS[0], BETAS[1], MOMENTUM


KINDS = {
    "warmup": Warmup,
    "warmup_decay": WarmupDecay,
    "warmup_cosine": WarmupCosine,
    "onecycle": OneCycle,
    "range_test": RangeTest,
    "wsd": Wsd,
}


def trace(kind, p, steps):
    rows, scheduler = [], KINDS[kind](p)
    clean = p.get("origin", "clean") == "clean"
    if clean and kind != "wsd":
        scheduler.step()  # i = 0; the step() below makes it i = t.
    for t in range(1, steps + 1):
        if clean:
            scheduler.step()
        rows.append((t, scheduler.lr(), *scheduler.betas()))
        if not clean:
            scheduler.step()
    return rows


def cases():
    for origin in ("deepspeed", "clean"):
        o = {"origin": origin}
        yield "warmup", {**o, "warmup": 5}, 9
        yield "warmup", {**o, "warmup": 5, "min_lr": 0.002, "warmup_type": "linear"}, 9
        yield "warmup", {**o, "warmup": 0}, 5
        yield "warmup_decay", {**o, "warmup": 3, "total": 10, "min_lr": 0.001}, 14
        yield "warmup_decay", {**o, "warmup": 4, "total": 4, "warmup_type": "linear"}, 8
        yield "warmup_cosine", {**o, "warmup": 4, "total": 12, "warmup_min_ratio": 0.25}, 16
        yield "warmup_cosine", {**o, "warmup": 10, "total": 10, "cos_min_ratio": 0.1}, 15  # 8142
        yield "onecycle", {**o, "first_steps": 4, "min_lr": 0.001}, 12
        yield "onecycle", {**o, "first_steps": 9, "second_steps": 6, "first_stairs": 3}, 17  # 8179
        yield "onecycle", {**o, "first_steps": 7, "second_steps": 3, "first_stairs": 7,
                           "second_stairs": 0, "min_lr": 0.001}, 12
        yield "onecycle", {**o, "first_steps": 3, "second_steps": 4, "decay_steps": 2,
                           "decay_lr_rate": 0.5, "min_lr": 0.004, "min_momentum": 0.7,
                           "max_momentum": 0.95, "decay_momentum_rate": 0.02}, 16
        yield "onecycle", {**o, "first_steps": 3, "cycle_momentum": False}, 8
        yield "range_test", {**o, "range_steps": 4, "range_rate": 2.5}, 10
        yield "range_test", {**o, "range_steps": 3, "range_staircase": True}, 10
    for tail in ("linear", "sqrt", "cosine"):
        yield "wsd", {"warmup": 3, "total": 12, "decay": 4, "min_lr": 0.001, "tail": tail}, 14


def override(key, value):
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return f"schedule.{key}={text}"


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "traces", "schedules.txt")
    with open(path, "w", encoding="ascii") as out:
        for kind, p, steps in cases():
            words = [f"schedule.type={kind}"] + [override(k, v) for k, v in p.items()]
            print("case", *words, file=out)
            for row in trace(kind, p, steps):
                print(row[0], *(f"{x:.17g}" for x in row[1:]), file=out)


if __name__ == "__main__":
    main()
