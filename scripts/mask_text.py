#!/usr/bin/env python3
"""Writes samples for training BERT or RoBERTa on the bytes of a text: scripts/mask_text.py TEXT OUT [LENGTH [SEED]]

Every row holds LENGTH bytes (512 by default). As for BERT, 15 % of them are targets; of these, 80 % are replaced by the mask
(number 256), 10 % by a random byte, and 10 % stay. The model needs model.vocab=257 or more. Uses Python's standard
library only; docs/data.md describes the format.
"""
import array
import json
import random
import struct
import sys

MASK, NOTHING = 256, -100


def main(text, out, length="512", seed="1"):
    length, draw = int(length), random.Random(int(seed))
    with open(text, "rb") as file:
        data = file.read()
    rows = len(data) // length
    if rows == 0:
        sys.exit(f"mask_text.py: {text}: has {len(data)} bytes, fewer than one row of {length}")
    tokens = array.array("H", list(data[: rows * length]))
    targets = array.array("i", [NOTHING]) * len(tokens)
    for at, token in enumerate(tokens):
        if draw.random() >= 0.15:
            continue
        targets[at] = token
        kind = draw.random()
        tokens[at] = MASK if kind < 0.8 else draw.randrange(256) if kind < 0.9 else token
    if sys.byteorder == "big":
        tokens.byteswap()
        targets.byteswap()
    first, second = tokens.tobytes(), targets.tobytes()
    header = json.dumps({
        "tokens": {"dtype": "U16", "shape": [rows, length], "data_offsets": [0, len(first)]},
        "targets": {"dtype": "I32", "shape": [rows, length], "data_offsets": [len(first), len(first) + len(second)]},
    }).encode()
    with open(out, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header + first + second)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
