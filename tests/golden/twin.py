"""What twins of a training share: dslaunch trains, PyTorch takes the rows that `dslaunch data show` prints, losses are compared."""
import json
import os
import subprocess

SOURCE = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
BIN = os.environ.get("DS_BIN") or os.path.join(SOURCE, "build/release/bin")


def write_tokenizer(folder, text, vocab, kind):
    """Trains a byte-level BPE of at most `vocab` tokens."""
    subprocess.run([f"{BIN}/dslaunch", "data", "train-tokenizer", text, "--out", folder, "--vocab", str(vocab), "--kind", kind], check=True)


def train(work, toml, ranks, keys):
    """Runs train.toml on `ranks` ranks and returns the loss of each step, and the steps that skipped their update (fp16)."""
    with open(f"{work}/train.toml", "w") as file:
        file.write(toml)
    subprocess.run([f"{BIN}/dslaunch", "-n", str(ranks), f"{work}/train.toml", *keys], check=True, cwd=work)
    with open(f"{work}/run/metrics.jsonl") as file:
        rows = [row for row in map(json.loads, file) if "loss" in row]
    skipped = [row["skipped_steps"] for row in rows]
    return [row["loss"] for row in rows], {i + 1 for i, count in enumerate(skipped) if count > (skipped[i - 1] if i else 0)}


def shown_samples(work, steps, ranks):
    """Yields the samples of each step: tokens, targets (negative: none), documents (negative: padding), and those of an encoder."""
    for step in range(1, steps + 1):
        text = subprocess.run([f"{BIN}/dslaunch", "data", "show", f"{work}/train.toml", "--step", str(step), "--ranks", str(ranks), "--json"],
                              check=True, capture_output=True, text=True).stdout
        yield json.loads(text)["samples"]


class Comparison:
    """Prints losses side by side; `window`: also compares means over so many steps."""

    def __init__(self, ours, skipped, window):
        self.ours, self.theirs, self.window = ours, [], window
        print(f"steps without an update: {sorted(skipped)}", flush=True)
        self.worst = self.worst_mean = 0

    def add(self, loss):
        self.theirs.append(loss)
        number = len(self.theirs)
        off = abs(self.ours[number - 1] / loss - 1)
        self.worst = max(self.worst, off)
        text = f"step {number}: dslaunch {self.ours[number - 1]:.6f}, PyTorch {loss:.6f}: off by {off:.1e}"
        if number >= self.window:
            ours, theirs = sum(self.ours[number - self.window:number]), sum(self.theirs[-self.window:])
            self.worst_mean = max(self.worst_mean, abs(ours / theirs - 1))
            text += f"; means of {self.window} off by {abs(ours / theirs - 1):.1e}"
        print(text, flush=True)

    def end(self, is_fp32):
        """Returns the exit code: fp32 losses must agree to 1e-4, other means to 2 %."""
        print(f"worst of {len(self.theirs)} steps: {self.worst:.1e}; of means over {self.window}: {self.worst_mean:.1e}")
        return int(self.worst > 1e-4 if is_fp32 else self.worst_mean > 0.02)


def is_fp32(keys):
    return not any(key.startswith("precision.dtype=") and key[16:] != "fp32" for key in keys)
