"""Checks token files in both directions with their other readers: Megatron's pairs with megatron-core, llm.c's shards by their header.

    python tests/golden/check_shards.py BIN      BIN: build/release/bin; needs numpy, torch, and pip's megatron-core (--no-deps suffices)

Ours: `dslaunch data pack` of random lines, for a text, and for prompts and answers; megatron-core reads the same documents and tokens that
tokenizing byte by byte gives. Theirs: pairs that megatron-core's builder writes, in each type, and shards of both versions; `dslaunch data
show` prints the tokens that were written. Prints what was compared; ends with 1 if anything differs.
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import warnings

import numpy

warnings.simplefilter("ignore")
from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder  # noqa: E402

program = sys.argv[1] + "/dslaunch"
draw = random.Random(5)
failures = 0


def check(what, given, wanted):
    global failures
    same = given == wanted
    failures += not same
    print(f"{'ok' if same else 'DIFFERS'}: {what}")


def run(*words):
    return subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=True).stdout


with tempfile.TemporaryDirectory() as work:
    os.environ["XDG_CACHE_HOME"] = work
    lines = [{"text": "".join(chr(draw.choice([65, 0xE9, 0x4E2D, 10])) for _ in range(draw.randrange(40))),
              "prompt": "p" * draw.randrange(1, 9), "response": "r" * draw.randrange(9)} for _ in range(500)]
    with open(f"{work}/a.jsonl", "w") as out:
        out.writelines(json.dumps(line) + "\n" for line in lines)
    with open(f"{work}/train.toml", "w") as out:
        out.write('[model]\npreset = "gpt-tiny"\n[data]\ntrain = "a.jsonl"\nformat = "jsonl"\nvalidation = 0\nseq_len = 64\n[batch]\nmicro = 1\n[train]\nsteps = 1\n')
    run("data", "pack", f"{work}/train.toml", "--out", f"{work}/text")
    ours = IndexedDataset(f"{work}/text")
    check(f"megatron-core reads {len(ours)} texts of ours", [list(each) for each in ours], [list(line["text"].encode()) for line in lines])
    run("data", "pack", f"{work}/train.toml", "data.task=response", "--out", f"{work}/answers")
    for multimodal in (False, True):
        ours = IndexedDataset(f"{work}/answers", multimodal=multimodal)
        given = [list(each[0] if multimodal else each) for each in ours]
        check(f"megatron-core reads {len(ours)} prompts and answers, multimodal={multimodal}", given,
              [list(line[key].encode()) for line in lines for key in ("prompt", "response")])
    check("their documents", list(ours.document_indices), list(range(0, 1001, 2)))
    check("their modes", list(ours.index.sequence_modes), [0, 1] * 500)

    for dtype in (numpy.uint8, numpy.int16, numpy.int32, numpy.int64, numpy.uint16):
        documents = [[draw.randrange(120) for _ in range(draw.randrange(1, 30))] for _ in range(200)]
        builder = IndexedDatasetBuilder(f"{work}/theirs.bin", dtype=dtype)
        for tokens in documents:
            import torch
            builder.add_item(torch.tensor(tokens))
            builder.end_document()
        builder.finalize(f"{work}/theirs.idx")
        keys = ("data.format=tokens", f'data.train="{work}/theirs.bin"', "data.tokenizer=none", "model.vocab=256")
        count = sum(map(len, documents))
        shown = json.loads(run("data", "show", f"{work}/train.toml", *keys, "data.rows=whole", "batch.micro=400", "--json"))
        rows = set()
        for sample in shown["samples"]:
            for number in set(sample["documents"]) - {-1}:
                where = [i for i, d in enumerate(sample["documents"]) if d == number]
                rows.add((*(sample["tokens"][i] for i in where), sample["targets"][where[-1]]))
        check(f"ours reads {len(documents)} documents of {numpy.dtype(dtype).name}, {count} tokens", rows, {tuple(d) for d in documents if len(d) > 1})

    for magic, version, kind in ((20240520, 1, "H"), (20240801, 7, "I")):
        tokens = [draw.randrange(50000) for _ in range(64 * 8 + 1)]
        with open(f"{work}/shard.bin", "wb") as out:
            out.write(struct.pack("<256i", magic, version, len(tokens), *[0] * 253) + struct.pack(f"<{len(tokens)}{kind}", *tokens))
        shown = json.loads(run("data", "show", f"{work}/train.toml", "data.format=tokens", f'data.train="{work}/shard.bin"', "model.vocab=50257",
                               "data.tokenizer=none", "batch.micro=8", "--json"))
        wrong = [s for s in shown["samples"] if s["tokens"] != tokens[s["place"]:s["place"] + 64] or s["targets"] != tokens[s["place"] + 1:s["place"] + 65]]
        check(f"ours reads a shard of llm.c, version {version}: {len(shown['samples'])} windows", wrong, [])
sys.exit(failures > 0)
