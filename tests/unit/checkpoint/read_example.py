#!/usr/bin/env python3
# Tests docs/examples/read_checkpoint.py on a checkpoint of the C++ code: all values, and damage if xxhash is installed.
import os
import subprocess
import sys
import tempfile

EXAMPLE = os.path.join(os.environ["DS_SOURCE"], "docs/examples/read_checkpoint.py")
UNIT = os.path.join(os.environ["DS_TESTS"], "unit_checkpoint")
LISTING = "step 40, saved by 2 ranks\nwte [6, 4] master\nh.0.w [4, 6] moment1\nerror [3] error\n"
# (tensor, state, group of its values (tests/unit/checkpoint/written.h), number of elements)
STATES = [("wte", "master", 0, 24), ("h.0.w", "moment1", 32, 24), ("error", "error", 65, 3)]


def has_xxhash(python):
    return os.path.exists(python) and subprocess.run([python, "-c", "import xxhash"], capture_output=True, timeout=60,
                                                     check=False).returncode == 0


# The system's Python is also tried, because system packages belong to it.
PYTHON = next(filter(has_xxhash, [sys.executable, "/usr/bin/python3"]), None)


def read(*words):
    result = subprocess.run([PYTHON or sys.executable, EXAMPLE, *words], capture_output=True, text=True, timeout=60,
                            check=False)
    return result.returncode, result.stdout, result.stderr


def expect(found, wanted, what):
    if found != wanted:
        sys.exit("FAILED: %s: %r instead of %r" % (what, found, wanted))


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([UNIT, "--test-case=a checkpoint for readers in other languages"], check=True, timeout=60,
                   env={**os.environ, "DS_CHECKPOINT_FOLDER": folder}, stdout=subprocess.DEVNULL)
    expect(read(folder), (0, LISTING, ""), "listing")
    for tensor, state, group, count in STATES:
        code, out, _ = read(folder, tensor, state, "1000")
        expect((code, [float(word) for word in out.split()]),
               (0, [(element + group * 4096) * 0.25 for element in range(count)]), tensor)
    expect(read(folder, "wte", "master", "2")[1], "0.0 0.25\n", "the first two values")
    expect(read(folder, "none")[0], 1, "a tensor that does not exist")
    chunk = os.path.join(folder, "rank-00000.chunk")
    with open(chunk, "r+b") as file:
        file.write(b"\x01")
    damaged = read(folder, "wte")
    if PYTHON:
        expect(("does not match" in damaged[2], damaged[0]), (True, 1), "a damaged piece")
    os.truncate(chunk, 1)
    expect(("too short" in read(folder, "wte")[2]), True, "a truncated chunk")
print("read_checkpoint.py read all values; checksums " + ("verified" if PYTHON else "not verified (no xxhash)"))
