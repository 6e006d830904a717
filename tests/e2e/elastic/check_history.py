#!/usr/bin/env python3
"""Compares a disturbed run with an undisturbed one: check_history.py REFERENCE RUN [OPTIONS]

Each step's loss and gradient norm, also of steps that ran again, and the hash of the weights must be equal. Prints the changes of
membership by source. Exits 1 at a difference.
"""
import argparse
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


def figures_of(folder):
    """Returns all (loss, gradient norm) of each step, and the changes of membership."""
    figures, epochs = collections.defaultdict(set), []
    for entry in lines(folder + "/metrics.jsonl"):
        if "loss" in entry and "grad_norm" in entry:
            figures[entry["step"]].add((entry["loss"], entry["grad_norm"]))
        elif entry.get("event") == "epoch":
            epochs.append(entry)
    return figures, epochs


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


def sample_problems(reference, run, batch):
    samples, expected = samples_of(run), samples_of(reference)
    for step in sorted(expected):
        if samples.get(step) != expected[step] or len(expected[step]) != batch:
            yield f"samples of step {step}: {samples.get(step)}, not {expected[step]}"


def print_times(path):
    by_kind = collections.defaultdict(list)
    for line in open(path):
        kind, ms = line.split()
        by_kind[kind].append(int(ms))
    print(f"{'kind':14}  {'faults':>6}  {'p50 ms':>7}  {'p99 ms':>7}")
    for kind, values in sorted(by_kind.items()):
        values.sort()
        print(f"{kind:14}  {len(values):6}  {values[len(values) // 2]:7}  {values[min(len(values) - 1, len(values) * 99 // 100)]:7}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("reference")
    options.add_argument("run")
    options.add_argument("--batch", type=int, help="compare the ledgers too: each sample of each step once, BATCH samples a step")
    options.add_argument("--times", help="file with a line KIND MILLISECONDS for each fault, printed by kind")
    options.add_argument("--disk", default="0:", metavar="MIN:MAX", help="how many changes of membership may begin from the disk")
    options = options.parse_args()
    want, _ = figures_of(options.reference)
    got, epochs = figures_of(options.run)
    problems = [f"step {step}: {sorted(got.get(step, []))}, not {sorted(want.get(step, []))}"
                for step in sorted(want.keys() | got.keys()) if want.get(step) != got.get(step)]
    hashes = [json.load(open(f + "/summary.json"))["weights_hash"] for f in (options.reference, options.run)]
    if hashes[0] != hashes[1] or len(hashes[0]) != 32:
        problems.append(f"weights_hash {hashes[1]}, not {hashes[0]}")
    if options.batch:
        problems.extend(sample_problems(options.reference, options.run, options.batch))
    print(f"{len(want)} steps compared, {len(problems)} differ")
    sources = collections.Counter(e.get("source") for e in epochs)
    least, _, most = options.disk.partition(":")
    not_memory = sum(sources.values()) - sources["memory"]
    if not int(least) <= not_memory <= int(most or len(epochs)):
        problems.append(f"{not_memory} changes began from the disk, not {options.disk}")
    redone = sum(e.get("redone_steps", 0) for e in epochs)
    print(f"{len(epochs)} changes: {dict(sources)}, {redone} steps redone")
    for problem in problems[:5]:
        print("BAD:", problem)
    if options.times:
        print_times(options.times)
    return 1 if problems else 0


sys.exit(main())
