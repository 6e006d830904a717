#!/usr/bin/env python3
"""Reads the event files of a run with TensorBoard itself and compares them with metrics.jsonl.

    check_event_files.py RUN_FOLDER

Needs Python's tensorboard (tried with 2.21). RUN_FOLDER is that of a job with log.tensorboard = true, resumed or not. Checked are
the library's reader (EventAccumulator), the same on files cut at every byte, and the curves that the program `tensorboard` serves
with both of its readers. Exit code 1: something differs.
"""
import json
import math
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

from tensorboard.backend.event_processing import event_accumulator


def expected(run):
    """Returns {step: line of metrics.jsonl}; lines of a resume replace those of the run before it."""
    earlier = sorted(run.glob("previous-*"), key=lambda folder: int(folder.name.split("-")[1]))
    steps = {}
    for folder in [*earlier, run]:
        lines = [json.loads(line) for line in open(folder / "metrics.jsonl")]
        lines = [line for line in lines if "loss" in line]
        if not lines:
            continue
        steps = {step: line for step, line in steps.items() if step < lines[0]["step"]}
        steps.update({line["step"]: line for line in lines})
    return steps


def load(folder):
    events = event_accumulator.EventAccumulator(str(folder), size_guidance={"scalars": 0}, purge_orphaned_data=True)
    events.Reload()
    return events


def curve(events, tag):
    return [(point.step, point.value) for point in events.Scalars(tag)]


def same(found, wanted):
    """Compares curves; None in metrics.jsonl is a number that is not finite."""
    return [step for step, _ in found] == [step for step, _ in wanted] and all(
        not math.isfinite(a) if b is None else abs(a - b) <= 1e-6 * abs(b) for (_, a), (_, b) in zip(found, wanted))


def check(what, good):
    print(f"{'ok' if good else 'FAILED'}: {what}")
    return good


def cut_files(folder):
    """Cuts the newest event file of a folder at every byte, as a killed job or a full disk would."""
    newest = max(folder.glob("*tfevents*"))
    whole = newest.read_bytes()
    counts = []
    with tempfile.TemporaryDirectory() as name:
        for size in range(0, min(len(whole), 4000)):
            (Path(name) / newest.name).write_bytes(whole[:size])
            events = load(name)
            counts.append(len(events.Scalars("train/loss")) if "train/loss" in events.Tags()["scalars"] else 0)
    return counts == sorted(counts) and counts[-1] > 1


def served(folder, run, tag, fast):
    """Returns the curve that the program `tensorboard` draws."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = Path(sys.executable).parent / "tensorboard"
    server = subprocess.Popen([str(program), "--logdir", str(folder), "--port", str(port), "--host", "127.0.0.1",
                               "--load_fast", "true" if fast else "false", "--samples_per_plugin", "scalars=100000"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    query = urllib.parse.urlencode({"run": run, "tag": tag})
    try:
        for _ in range(60):
            time.sleep(0.5)
            try:
                url = f"http://127.0.0.1:{port}/data/plugin/scalars/scalars?{query}"
                points = json.load(urllib.request.urlopen(url))
                return [(step, value) for _, step, value in points]
            except OSError:
                continue
        return []
    finally:
        server.terminate()
        server.wait()


def main():
    run = Path(sys.argv[1])
    lines = expected(run)
    losses = [(step, lines[step]["loss"]) for step in sorted(lines)]
    by_step, by_sample = load(run / "tensorboard"), load(run / "tensorboard" / "samples")
    good = check(f"train/loss of {len(losses)} steps", same(curve(by_step, "train/loss"), losses))
    for tag, key in (("lr", "lr"), ("grad_norm", "grad_norm"), ("tokens_per_s", "tokens_per_s")):
        wanted = [(step, lines[step][key]) for step in sorted(lines)]
        good &= check(f"train/{tag}", same(curve(by_step, f"train/{tag}"), wanted))
    for phase in lines[max(lines)].get("phases", {}):
        wanted = [(step, lines[step]["phases"][phase]) for step in sorted(lines)]
        found = curve(by_step, f"phases/{phase}")
        good &= check(f"phases/{phase}", [s for s, _ in found] == [s for s, _ in wanted] and
                      all(abs(a - b) < 1e-6 for (_, a), (_, b) in zip(found, wanted)))
    twin = curve(by_sample, "Train/Samples/train_loss")
    steps = [samples / twin[0][0] for samples, _ in twin]
    good &= check("Train/Samples/train_loss", steps == [step for step, _ in losses] and
                  same(list(zip(steps, (value for _, value in twin))), losses))
    good &= check("a file cut at every byte", cut_files(run / "tensorboard"))
    for fast in (True, False):
        found = served(run / "tensorboard", ".", "train/loss", fast)
        good &= check(f"the program tensorboard, load_fast={fast}", same(found, losses))
        found = served(run / "tensorboard", "samples", "Train/Samples/train_loss", fast)
        good &= check(f"the program tensorboard, over samples, load_fast={fast}", same(found, twin))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
