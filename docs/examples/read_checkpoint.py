#!/usr/bin/env python3
"""Reads a checkpoint of dslaunch (docs/checkpoint.md) with only Python's standard library.

read_checkpoint.py FOLDER                        lists its tensors
read_checkpoint.py FOLDER TENSOR [STATE [COUNT]] prints the first COUNT values (default: 8 values of state master)
Verifies checksums if the module xxhash is installed (pip install xxhash).
"""
import json
import os
import struct
import sys

try:
    import xxhash
except ImportError:
    xxhash = None

VERSION = 1  # the newest format version that this program understands
SEAL = '  "checksum": "'  # start of the line with the checksum of all bytes before it
LETTERS = {"f32": "f", "f64": "d", "f16": "e", "bf16": "H", "i64": "q", "i32": "i", "i16": "h", "u8": "B"}


def read_manifest(folder):
    with open(os.path.join(folder, "manifest.json"), "rb") as file:
        text = file.read()
    manifest = json.loads(text)
    if xxhash:
        body = text[:text.rfind(SEAL.encode())]
        if xxhash.xxh3_128_hexdigest(body) != manifest["checksum"]:
            sys.exit("manifest.json: the checksum does not match, the file was changed after it was written")
    if manifest["version"] > VERSION:
        sys.exit("manifest.json: format version %d is too new, this program reads up to version %d" % (manifest["version"], VERSION))
    return manifest


def read_piece(folder, manifest, dtype, piece):
    """Returns the piece's values: elements [first, first + elements) of its box."""
    size = piece["elements"] * struct.calcsize("<" + LETTERS[dtype])
    with open(os.path.join(folder, manifest["chunks"][piece["chunk"]]["name"]), "rb") as file:
        file.seek(piece["at"])
        data = file.read(size)
    if len(data) != size:
        sys.exit("chunk is too short for piece %s" % piece)
    if xxhash and xxhash.xxh3_64_hexdigest(data) != piece["checksum"]:
        sys.exit("checksum of piece %s does not match" % piece)
    values = struct.unpack("<%d%s" % (piece["elements"], LETTERS[dtype]), data)
    if dtype == "bf16":  # the upper half of a float
        values = struct.unpack("<%df" % len(values), struct.pack("<%dI" % len(values), *(v << 16 for v in values)))
    return values


def element_in_tensor(shape, piece, element):
    """Returns the index in the tensor of an element of the piece's box; both are row-major."""
    index, stride = 0, 1
    for extent, offset, taken in reversed(list(zip(shape, piece["offset"], piece["extent"]))):
        index += (offset + element % taken) * stride
        element //= taken
        stride *= extent
    return index


def read_tensor(folder, manifest, tensor, state, rank=None):
    """Returns all values of a state in the tensor's row-major order. rank: the owner, for states of class per_rank."""
    count = 1
    for extent in tensor["shape"]:
        count *= extent
    values = [None] * count
    for piece in state["pieces"]:
        if piece.get("rank") == rank:
            for number, value in enumerate(read_piece(folder, manifest, state["dtype"], piece)):
                values[element_in_tensor(tensor["shape"], piece, piece["first"] + number)] = value
    if None in values:
        sys.exit("the checkpoint lacks elements of this tensor")
    return values


def main(folder, name=None, state_name="master", count="8"):
    manifest = read_manifest(folder)
    if name is None:
        print("step %d, saved by %d ranks" % (manifest["state"]["step"], manifest["world_size"]))
        for tensor in manifest["tensors"]:
            print(tensor["name"], tensor["shape"], " ".join(state["name"] for state in tensor["states"]))
        return
    for tensor in manifest["tensors"]:
        for state in tensor["states"]:
            if (tensor["name"], state["name"]) == (name, state_name):
                rank = 0 if state["class"] == "per_rank" else None
                print(*read_tensor(folder, manifest, tensor, state, rank)[:int(count)])
                return
    sys.exit("unknown tensor or state '%s %s'" % (name, state_name))


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
