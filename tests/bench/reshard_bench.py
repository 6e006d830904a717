#!/usr/bin/env python3
"""Time of re-sharding kept states 4 -> 3 -> 16 -> 1 ranks against the bytes over this machine's rates.

reshard_bench.py [--rounds N] [--preset NAME] [KEYS ...]      needs DS_BIN, DS_TESTS (default: build/release/bin and tests)

elastic_agents stands for the agents of 4, 3, 2 and 1 nodes: one node leaves at a time, because each state is on two. The time of a change is from the built programs to the loaded states
(loaded_s - built_s of metrics.jsonl): asking the agents, moving pieces, verifying and reading them. The ideal is moved bytes at the rate of
one loopback connection plus read bytes at the rate of memcpy with 2 threads, both measured here before each round. `new memory` is what the
first use of the new ranks' memory adds to it: all states, and the moved bytes, at the rate of memcpy to new memory. Asserts nothing.
"""
import argparse
import json
import os
import socket
import statistics
import subprocess
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("DS_BIN", ROOT + "/build/release/bin")
TESTS = os.environ.get("DS_TESTS", ROOT + "/build/release/tests")
HISTORY = "a,b,c,d:1 lose d at 3; a,b,c:1 pause at 5; a,b:8 pause at 7; a:1 end"


def loopback_rate(size=1 << 30):
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(listener.getsockname())
    receiver, _ = listener.accept()
    block = bytes(1 << 20)
    thread = threading.Thread(target=lambda: [sender.sendall(block) for _ in range(size >> 20)])
    buffer = bytearray(1 << 20)
    begin, left = time.monotonic(), size
    thread.start()
    while left > 0:
        left -= receiver.recv_into(buffer)
    took = time.monotonic() - begin
    thread.join()
    return size / took


def copy_rate(*words):
    out = subprocess.run([TESTS + "/copy_rate", str(1 << 28), "2", "5", *words], check=True, capture_output=True, text=True).stdout
    return statistics.median(map(float, out.split()))


def one_round(folder, keys):
    run = folder + "/run"
    subprocess.run(["rm", "-rf", run], check=True)
    env = dict(os.environ, DSLAUNCH_CUDA_PLUGIN="none", DSLAUNCH_JOB_ID="bench", MASTER_ADDR="127.0.0.1", DSLAUNCH_ELASTIC_RANKS="1:16")
    subprocess.run([TESTS + "/elastic_agents", folder + "/out", HISTORY, BIN + "/dsrunner", folder + "/train.toml", "log.dir=" + run] + keys,
                   env=env, check=True, stdout=open(folder + "/agents", "w"), stderr=subprocess.STDOUT)
    return [line for line in map(json.loads, open(run + "/metrics.jsonl")) if line.get("event") == "epoch"]


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--preset", default="gpt-10m")
    options.add_argument("keys", nargs="*")
    options = options.parse_args()
    keys = ["model.preset=" + options.preset, "data.validation=0", "data.seq_len=64", "batch.micro=1", "batch.global=16", "train.steps=8",
            "determinism.virtual_ranks=16", "elastic.every=1", "log.every=1", "device.threads=1", "zero.stage=3", "debug.slow_data=0:100"]
    ratios, rows = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/text", "w") as file:
            file.write(open(ROOT + "/docs/config.md").read() * 4)
        with open(folder + "/train.toml", "w") as file:
            file.write('[data]\ntrain = "text"\n')
        for _ in range(options.rounds):
            loopback, copy, new = loopback_rate(), copy_rate(), copy_rate("new")
            lines = one_round(folder, keys + options.keys)
            states = min(line["read_bytes"] for line in lines)  # one rank reads each byte once
            for line in lines:
                change = f'{line["ranks_before"]} -> {line["ranks"]}'
                took = line["loaded_s"] - line["built_s"]
                ideal = line["moved_bytes"] / loopback + line["read_bytes"] / copy
                ratios.setdefault(change, []).append(took / ideal)
                first_use = (states + line["moved_bytes"]) * (1 / new - 1 / copy)
                rows.setdefault(change, []).append((took, ideal, first_use, line["moved_bytes"], line["read_bytes"]))
    print(f"{'ranks':10} {'moved MiB':>9} {'read MiB':>9} {'took s':>7} {'ideal s':>8} {'new memory s':>13} {'ratio':>6} {'range':>14}")
    for change, values in rows.items():
        took, ideal, first_use, moved, read = map(statistics.median, zip(*values))
        spread = f"{min(ratios[change]):.2f} to {max(ratios[change]):.2f}"
        print(f"{change:10} {moved / 2**20:9.1f} {read / 2**20:9.1f} {took:7.3f} {ideal:8.3f} {first_use:13.3f} {statistics.median(ratios[change]):6.2f} {spread:>14}")


main()
