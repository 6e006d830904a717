#!/usr/bin/env python3
"""Writes traces/loss_scale.txt: loss scales from the definition of DeepSpeed's dynamic scaler.

A case is a line of config overrides and then one line per step: whether its gradients overflowed, the
scale that the step used, and the scale and hysteresis after it ("fatal" if the job ends there).
"""
import os
import random

DEFAULTS = {"init_power": 16, "window": 1000, "hysteresis": 2, "consecutive": False, "min": 1.0,
            "at_min": "abort"}


def walk(options, overflows):
    o = {**DEFAULTS, **options}
    scale, left, it, last = 2.0 ** o["init_power"], o["hysteresis"], 0, -1
    for overflow in overflows:
        used = scale
        if overflow:
            if o["hysteresis"] == 1 or left == 1:
                if scale == o["min"] and o["at_min"] == "abort":
                    yield int(overflow), used, "fatal", left
                    return
                scale = max(scale / 2, o["min"])
            else:
                left -= 1
            last = it
        else:
            if o["consecutive"]:
                left = o["hysteresis"]
            stable = (it - last) - 1
            if stable > 0 and stable % o["window"] == 0:
                if not o["consecutive"]:
                    left = o["hysteresis"]
                scale *= 2
        it += 1
        yield int(overflow), used, scale, left


def cases():
    yield {}, [False] * 1005
    yield {"window": 4}, [c == "x" for c in "xx......x.x.....xxx.........."]
    yield {"window": 4, "consecutive": True}, [c == "x" for c in "x.x.x.xx......xxx......"]
    yield {"window": 3, "hysteresis": 1}, [c == "x" for c in "x....x.........xx...."]
    yield {"window": 3, "init_power": 2, "min": 0.5}, [True] * 8
    yield {"window": 2, "init_power": 2, "at_min": "continue"}, [True] * 7 + [False] * 6
    yield {"window": 2, "init_power": 3, "min": 3.0, "hysteresis": 1, "at_min": "continue"}, \
        [c == "x" for c in "xxx...x....."]
    dice = random.Random(8)
    yield {"window": 7, "hysteresis": 3}, [dice.random() < 0.15 for _ in range(200)]


def main():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "traces", "loss_scale.txt")
    with open(path, "w", encoding="ascii") as out:
        for options, overflows in cases():
            words = [f"precision.loss_scale.{k}={str(v).lower()}" for k, v in options.items()]
            print("case", "precision.dtype=fp16", *words, file=out)
            for row in walk(options, overflows):
                print(*row, file=out)


if __name__ == "__main__":
    main()
