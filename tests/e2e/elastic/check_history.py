#!/usr/bin/env python3
"""Compares a disturbed run with an undisturbed one: check_history.py REFERENCE RUN TIMES BATCH

Each step's loss and gradient norm (the last time the step ran) and the hash of the weights must be equal, and the ledgers must hold each
sample of each step once. Prints the changes of membership by source, and the times by kind of fault. Exits 1 at a difference.
"""
import collections
import glob
import json
import sys


def lines(path):
    for line in open(path):
        try:
            yield json.loads(line)
        except ValueError:
            pass  # cut off by a kill


def steps_of(folder):
    last, epochs = {}, []
    for entry in lines(folder + "/metrics.jsonl"):
        if "loss" in entry and "grad_norm" in entry:
            last[entry["step"]] = (entry["loss"], entry["grad_norm"])
        elif entry.get("event") == "epoch":
            epochs.append(entry)
    return last, epochs


def samples_of(folder):
    """By step: the samples of the last epoch that ran it."""
    by_step = collections.defaultdict(lambda: (-1, []))
    for path in glob.glob(folder + "/samples-rank*.jsonl"):
        for entry in lines(path):
            epoch = entry.get("epoch", 0)
            numbers = [n for part in entry["taken"] for n in part["samples"]]
            known = by_step[entry["step"]]
            if epoch > known[0]:
                by_step[entry["step"]] = (epoch, numbers)
            elif epoch == known[0]:
                known[1].extend(numbers)
    return {step: sorted(numbers) for step, (_, numbers) in by_step.items()}


def main():
    reference, run, times, batch = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    problems = []
    want, _ = steps_of(reference)
    got, epochs = steps_of(run)
    for step in sorted(want):
        if want[step] != got.get(step):
            problems.append(f"step {step}: {got.get(step)}, not {want[step]}")
    hashes = [json.load(open(f + "/summary.json"))["weights_hash"] for f in (reference, run)]
    if hashes[0] != hashes[1]:
        problems.append(f"weights_hash {hashes[1]}, not {hashes[0]}")
    samples = samples_of(run)
    expected = samples_of(reference)
    for step in sorted(expected):
        if samples.get(step) != expected[step] or len(expected[step]) != batch:
            problems.append(f"samples of step {step}: {samples.get(step)}, not {expected[step]}")
    for problem in problems[:5]:
        print("BAD:", problem)
    sources = collections.Counter(e.get("source") for e in epochs)
    redone = sum(e.get("redone_steps", 0) for e in epochs)
    print(f"{len(want)} steps compared, {len(problems)} differ; {len(epochs)} changes: "
          f"{dict(sources)}, {redone} steps redone")
    by_kind = collections.defaultdict(list)
    for line in open(times):
        kind, ms = line.split()
        by_kind[kind].append(int(ms))
    print(f"{'kind':14}  {'faults':>6}  {'p50 ms':>7}  {'p99 ms':>7}")
    for kind, values in sorted(by_kind.items()):
        values.sort()
        print(f"{kind:14}  {len(values):6}  {values[len(values) // 2]:7}  {values[min(len(values) - 1, len(values) * 99 // 100)]:7}")
    return 1 if problems else 0


sys.exit(main())
