#!/usr/bin/env python3
"""Joins the sample ledgers of a run in parts: ledger.py FOLDER STEPS UNBROKEN

FOLDER is a log.dir (parts in previous-1, previous-2, ..., the last one in FOLDER itself), UNBROKEN that of a run that was
never interrupted. Every sample that a counted step took was taken once, in the order of the unbroken run. If several parts
have a step, the last one counts; the first step of a part says where the part continues.
"""
import json
import pathlib
import re
import sys


def number_of(folder):
    return int(folder.name.removeprefix("previous-"))


def parts_of(folder):
    """Returns the folders of the parts, oldest first."""
    return sorted(folder.glob("previous-*"), key=number_of) + [folder]


def lines_of(folder):
    """Returns {step: [(micro_step, virtual_rank, sample, offset), ...]} of all ranks."""
    steps = {}
    for path in folder.glob("samples-rank*.jsonl"):
        text = path.read_bytes().decode()
        lines = text.split("\n")
        if lines.pop():
            sys.exit(f"FAILED: {path}: the last line has no end")
        before = None
        for line in lines:
            entry = json.loads(line)
            if before is not None and entry["step"] != before + 1:
                sys.exit(f"FAILED: {path}: step {entry['step']} after step {before}")
            before = entry["step"]
            for batch in entry["taken"]:
                taken = [(batch["micro_step"], batch["virtual_rank"], sample, offset)
                         for sample, offset in zip(batch["samples"], batch["offsets"], strict=True)]
                steps.setdefault(before, []).extend(taken)
    return steps


def counted(folder):
    """Returns what each step took in its last run, and how many steps ran again."""
    steps, again, seen = {}, 0, 0
    for part in parts_of(folder):
        lines = lines_of(part)
        if not lines:
            continue  # ended before its first step
        seen += 1
        first = min(lines)
        if first > max(steps, default=0) + 1:
            sys.exit(f"FAILED: {part} begins at step {first}, and nothing has step {first - 1}")
        lost = [step for step in steps if step >= first]
        again += len(lost)
        for step in lost:
            del steps[step]
        steps.update(lines)
    return steps, again, seen


def in_order(steps):
    return [(sample, offset) for step in sorted(steps) for _, _, sample, offset in sorted(steps[step])]


def main():
    folder, last, unbroken = pathlib.Path(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
    steps, again, parts = counted(folder)
    if sorted(steps) != list(range(1, last + 1)):
        sys.exit(f"FAILED: steps {sorted(steps)}, not 1 to {last}")
    taken = in_order(steps)
    numbers = [sample for sample, _ in taken]
    if numbers != list(range(len(numbers))):
        odd = next(i for i, number in enumerate(numbers) if number != i)
        sys.exit(f"FAILED: sample {numbers[odd]} is taken where sample {odd} is due")
    offsets = dict(in_order(counted(unbroken)[0]))
    for sample, offset in taken:
        if sample in offsets and offsets[sample] != offset:
            sys.exit(f"FAILED: sample {sample} begins at {offset}, not at {offsets[sample]}")
    common = sum(1 for number in numbers if number in offsets)
    if common < len(numbers) / 2:
        sys.exit(f"FAILED: only {common} samples are in the unbroken run too")
    print(f"ledger: {parts} parts, {last} steps of {len(numbers)} samples, each once and in order; "
          f"{again} steps were run again")


if __name__ == "__main__":
    main()
