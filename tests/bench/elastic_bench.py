#!/usr/bin/env python3
"""From a kill to the first new step: dslaunch's elastic trainings, and torchrun's restart with a checkpoint every step, in turn.

elastic_bench.py [--rounds N] [--kinds process,agent,silent,planned] [--nodes N] [--per-node N] [--torch PYTHON]

The model is the GPT of 10.8 M parameters of configs/gpt_10m.toml (sequences of 64, to keep steps short). `process`: kill -9 of one rank.
`agent`: kill -9 of a node's agent (the node is lost; it joins again by a pause). `silent`: SIGSTOP of all processes of a node, as after a
power loss, which ends no connection; --node-timeout is 2 s. `planned`: `dslaunch scale` to one node less, then to all nodes again. A time
is from the event to the end of the second step after the last one that was seen, because one step may be under way at the event; steps
that are done again are included. Needs DS_BIN (default: build/release/bin). Prints medians, p99 and the ratio to torchrun.
"""
import argparse
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("DS_BIN", ROOT + "/build/release/bin")
PEER = '''
import os, sys, time, torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
sys.path.insert(0, sys.argv[1])
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank = dist.get_rank()
layer = nn.TransformerEncoderLayer(384, 6, 1536, batch_first=True, norm_first=True)
model = nn.Sequential(nn.Embedding(256, 384), nn.TransformerEncoder(layer, 6), nn.Linear(384, 256))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
path, step = sys.argv[2] + "/checkpoint.pt", 0
if os.path.exists(path):
    saved = torch.load(path)
    model.load_state_dict(saved["model"]); optimizer.load_state_dict(saved["optimizer"]); step = saved["step"]
parallel = DistributedDataParallel(model)
log = open(sys.argv[2] + "/steps", "a", buffering=1)
while True:
    x = torch.randint(256, (1, 64), generator=torch.Generator().manual_seed(step * 64 + rank))
    loss = nn.functional.cross_entropy(parallel(x).flatten(0, 1), x.flatten())
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    step += 1
    if rank == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, path + ".new")
        os.rename(path + ".new", path)
        log.write('{"step": %d}\\n' % step)
'''


def children(pid):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = open(f"/proc/{entry}/stat").read()
        except OSError:
            continue
        if int(stat.rsplit(")", 1)[1].split()[1]) == pid:
            found.append(int(entry))
    return found


def descendants(pid):
    found, todo = [], [pid]
    while todo:
        for child in children(todo.pop()):
            found.append(child)
            todo.append(child)
    return found


def name_of(pid):
    try:
        return open(f"/proc/{pid}/comm").read().strip()
    except OSError:
        return ""


class Steps:
    """Follows a file of lines with "step": the newest step, and the time of the first line of each new highest step."""

    def __init__(self, path):
        self.path, self.at, self.highest, self.rest = path, 0, 0, ""

    def poll(self):
        try:
            with open(self.path) as file:
                file.seek(self.at)
                text = self.rest + file.read()
                self.at = file.tell()
        except OSError:
            return
        *whole, self.rest = text.split("\n")
        for line in whole:
            match = re.search(r'"step": *(\d+)', line)
            if match and '"event"' not in line:
                self.highest = max(self.highest, int(match[1]))

    def wait_above(self, step, seconds):
        end = time.monotonic() + seconds
        while self.highest <= step:
            if time.monotonic() > end:
                raise TimeoutError(f"no step after {step} within {seconds} s")
            time.sleep(0.002)
            self.poll()
        return time.monotonic()


class Dslaunch:
    def __init__(self, folder, nodes, per_node):
        self.folder = folder
        text = folder + "/text"
        with open(text, "w") as file:
            file.write(open(ROOT + "/docs/config.md").read() * 4)
        config = open(ROOT + "/configs/gpt_10m.toml").read()
        with open(folder + "/train.toml", "w") as file:
            file.write(config)
        hosts = ",".join(f"127.0.0.{i + 1}:{per_node}" for i in range(nodes))
        env = self.env = dict(os.environ, DSLAUNCH_CUDA_PLUGIN="none", DSLAUNCH_RUNTIME_DIR=folder + "/runtime")
        world = nodes * per_node
        self.nodes, self.now = nodes, nodes
        self.job = subprocess.Popen(
            [BIN + "/dslaunch", "-H", hosts, "--transport", "local", "--nodes", f"1:{nodes}", "--node-timeout", "2s",
             "--max-restarts", "100000", folder + "/train.toml", f"data.train={text}", "data.validation=0", "data.seq_len=64",
             "batch.micro=1", f"batch.global={world}", "train.steps=1000000", "train.validate_every=0", "sample.tokens=0",
             f"log.dir={folder}/run", "log.every=1", "device.threads=1", "zero.stage=1", "elastic.every=1"],
            env=env, cwd=folder, stdout=open(folder + "/out", "w"), stderr=open(folder + "/err", "w"), stdin=subprocess.DEVNULL)
        self.steps = Steps(folder + "/run/metrics.jsonl")

    def victims(self):
        return [pid for pid in descendants(self.job.pid) if name_of(pid) == "dsrunner"]

    def agents(self):
        """The grandparents of ranks: a shim is between."""
        parent = lambda pid: int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
        return sorted({parent(parent(pid)) for pid in self.victims()})

    def kill_process(self):
        os.kill(random.choice(self.victims()), signal.SIGKILL)

    def kill_agent(self):
        os.kill(random.choice(self.agents()), signal.SIGKILL)

    def silence(self):
        """Returns what ends the stopped processes, so that the node can come back."""
        agent = random.choice(self.agents())
        node = [agent] + descendants(agent)
        for pid in node:
            os.kill(pid, signal.SIGSTOP)
        return lambda: [os.kill(pid, signal.SIGKILL) for pid in node if os.path.exists(f"/proc/{pid}")]

    def scale(self):
        self.now = self.nodes - 1 if self.now == self.nodes else self.nodes
        subprocess.run([BIN + "/dslaunch", "scale", "--nodes", str(self.now)], env=self.env, check=True, stdout=subprocess.DEVNULL)


class Torchrun:
    def __init__(self, folder, world, python):
        self.folder = folder
        open(folder + "/peer.py", "w").write(PEER)
        self.job = subprocess.Popen(
            [python, "-m", "torch.distributed.run", "--nnodes=1", f"--nproc-per-node={world}", "--max-restarts=100000",
             "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--monitor-interval=0.1", folder + "/peer.py", folder, folder],
            # With the store of the agent, which keeps the addresses of ended workers, they never connect again.
            env=dict(os.environ, TORCH_DISABLE_SHARE_RDZV_TCP_STORE="1"),
            cwd=folder, stdout=open(folder + "/out", "w"), stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        self.steps = Steps(folder + "/steps")

    def kill_process(self):
        os.kill(random.choice(children(self.job.pid)), signal.SIGKILL)


def end(job):
    pids = descendants(job.pid)
    job.send_signal(signal.SIGINT)
    try:
        job.wait(20)
    except subprocess.TimeoutExpired:
        job.kill()
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def one(job, kind):
    job.steps.wait_above(job.steps.highest + 8, 120)
    step_s = []
    for _ in range(5):
        begin = time.monotonic()
        step = job.steps.highest
        step_s.append((job.steps.wait_above(step, 60) - begin))
    happens = {"process": "kill_process", "agent": "kill_agent", "silent": "silence", "planned": "scale"}[kind]
    job.steps.poll()
    before = job.steps.highest
    begin = time.monotonic()
    clean_up = getattr(job, happens)()
    after = job.steps.wait_above(before + 1, 120)
    if clean_up:
        clean_up()
    return after - begin, statistics.median(step_s)


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--rounds", type=int, default=20)
    words.add_argument("--kinds", default="process,agent,silent,planned")
    words.add_argument("--nodes", type=int, default=4)
    words.add_argument("--per-node", type=int, default=1)
    words.add_argument("--torch")
    words = words.parse_args()
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in words.kinds.split(","):
            os.mkdir(f"{folder}/{kind}")
            job = Dslaunch(f"{folder}/{kind}", words.nodes, words.per_node)
            try:
                figures[kind] = []
                for _ in range(words.rounds):
                    figures[kind].append(one(job, kind))
            except (TimeoutError, IndexError) as error:
                print(kind, error, open(job.folder + "/err").read()[-2000:], file=sys.stderr)
            finally:
                end(job.job)
        if words.torch:
            os.mkdir(folder + "/torch")
            job = Torchrun(folder + "/torch", words.nodes * words.per_node, words.torch)
            try:
                figures["torchrun"] = [one(job, "process") for _ in range(words.rounds)]
            finally:
                end(job.job)
    print(f"{'kind':10} {'kills':>5} {'median s':>9} {'p99 s':>7} {'step s':>7}")
    for kind, values in figures.items():
        times = sorted(v[0] for v in values)
        print(f"{kind:10} {len(times):5} {statistics.median(times):9.2f} {times[min(len(times) - 1, len(times) * 99 // 100)]:7.2f} "
              f"{statistics.median(v[1] for v in values):7.3f}")
    if "torchrun" in figures and "process" in figures:
        ratio = statistics.median(v[0] for v in figures["torchrun"]) / statistics.median(v[0] for v in figures["process"])
        print(f"torchrun takes {ratio:.1f} times as long after the kill of a process")


main()
