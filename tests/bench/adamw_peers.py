#!/usr/bin/env python3
"""Compares the optimizer's pass with DeepSpeed's CPUAdam and PyTorch's AdamW on the same threads.

DeepSpeed and PyTorch do what they do for master weights in host memory: unscale (and clip) by one
multiplication of the gradients, update, cast of the master to bf16. The engine does it in one pass,
timed by adamw_bench. Blocks run in turn; the output is medians and quartiles of the ratio. A peer
that cannot be imported or built is left out, with the reason.
Usage: adamw_peers.py [--bench PATH] [--threads 2] [--millions 64] [--blocks 4] [--rounds 7]
Needs PyTorch, and deepspeed for its part (which compiles its C++ at the first use).
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import time


def quartiles(values):
    ordered = sorted(values)
    at = lambda q: ordered[int(q * (len(ordered) - 1) + 0.5)]
    return at(0.25), at(0.5), at(0.75)


def ours(arguments):
    """Returns the median seconds of the update of one block."""
    sizes = [arguments.threads, arguments.millions, arguments.rounds]
    command = [arguments.bench] + [str(size) for size in sizes]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rate = float(re.search(r"AdamW \+ bf16 weights +([\d.]+) M/s", text).group(1))
    ratio = re.search(r"AdamW / triad: .*", text).group(0)
    print(f"  ours: {rate:.1f} M parameters/s; {ratio}", flush=True)
    return (arguments.millions << 20) / (rate * 1e6)


class Peer:
    """Runs unscale + update + cast."""

    def __init__(self, torch, name, make, n):
        self.torch, self.name = torch, name
        self.master = torch.nn.Parameter(torch.randn(n) * 0.02)
        self.gradient = torch.randn(n) * 0.02
        self.master.grad = self.gradient
        self.weights = self.master.data.bfloat16()
        self.optimizer = make([self.master])
        self.step()  # creates the moments

    def step(self):
        times = [time.perf_counter()]
        self.gradient.mul_(0.999)
        times.append(time.perf_counter())
        self.optimizer.step()
        times.append(time.perf_counter())
        self.weights.copy_(self.master.data)
        times.append(time.perf_counter())
        return [b - a for a, b in zip(times, times[1:])]

    def block(self, rounds):
        parts = list(zip(*(self.step() for _ in range(rounds))))
        unscale, update, cast = (statistics.median(p) for p in parts)
        seconds = statistics.median(sum(step) for step in zip(*parts))
        print(f"  {self.name}: {seconds * 1e3:.0f} ms = unscale {unscale * 1e3:.0f},"
              f" update {update * 1e3:.0f}, cast {cast * 1e3:.0f}", flush=True)
        return seconds


def deepspeed_adam():
    from deepspeed.ops.op_builder import CPUAdamBuilder
    import torch
    if torch.version.cuda is None:  # otherwise deepspeed searches for the CUDA version
        CPUAdamBuilder.is_cuda_enable = lambda self: "-D__DISABLE_CUDA__"
    plain = CPUAdamBuilder.cxx_args
    # Some versions take the flags from the environment.
    CPUAdamBuilder.cxx_args = lambda self: plain(self) + ["-O3"]
    from deepspeed.ops.adam import DeepSpeedCPUAdam
    return lambda p: DeepSpeedCPUAdam(p, lr=1e-4, weight_decay=0.1, adamw_mode=True)


def make_peers(torch, n):
    peers = []
    try:
        peers.append(Peer(torch, "DeepSpeed CPUAdam", deepspeed_adam(), n))
    except Exception as error:  # pylint: disable=broad-except
        print(f"left out: DeepSpeed CPUAdam: {type(error).__name__}: {error}")
    adamw = lambda p: torch.optim.AdamW(p, lr=1e-4, weight_decay=0.1, foreach=True)
    peers.append(Peer(torch, f"PyTorch {torch.__version__} AdamW (foreach)", adamw, n))
    return peers


def main():
    parser = argparse.ArgumentParser()
    here = os.path.dirname(os.path.abspath(__file__))
    default = os.path.join(here, "../../build/release/tests/adamw_bench")
    parser.add_argument("--bench", default=default)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--millions", type=int, default=64)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(arguments.threads)
    try:
        import torch
    except ImportError as error:
        print(f"DeepSpeed or PyTorch is not available: {error}")
        sys.exit(77)
    torch.set_num_threads(arguments.threads)
    peers = make_peers(torch, arguments.millions << 20)
    ratios = {peer.name: [] for peer in peers}
    for block in range(arguments.blocks):
        print(f"block {block + 1} of {arguments.blocks}")
        before = ours(arguments)
        seconds = {peer.name: peer.block(arguments.rounds) for peer in peers}
        own = (before + ours(arguments)) / 2
        for name, value in seconds.items():
            ratios[name].append(value / own)
    for name, values in ratios.items():
        low, middle, high = quartiles(values)
        print(f"{name} / ours, time: {middle:.2f}"
              f" (quartiles {low:.2f} .. {high:.2f}, {len(values)} blocks)")


if __name__ == "__main__":
    main()
