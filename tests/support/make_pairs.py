"""Writes pairs of sequences for a model with an encoder: the 32 targets are the first of the encoder's 40 bytes of text.

    make_pairs.py TEXT OUT.safetensors
"""
import json
import struct
import sys

text = open(sys.argv[1], "rb").read()
rows = [text[i:i + 40] for i in range(0, min(len(text), 4000) - 40, 40)]
header, data = {}, b""
for name, length in (("encoder_tokens", 40), ("targets", 32)):
    part = b"".join(row[:length] for row in rows)
    header[name] = dict(dtype="U8", shape=[len(rows), length], data_offsets=[len(data), len(data) + len(part)])
    data += part
header = json.dumps(header).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(header)) + header + data)
