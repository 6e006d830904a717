#!/usr/bin/env python3
"""Times a program that calls MPI_Init and MPI_Finalize on this machine, in turn under dslaunch and the launcher of its library.

  DS_BIN=build/release/bin tests/bench/mpi_local.py [--rounds 5] [--ranks 2,6,64]

Prints the median of the whole run and of MPI_Init in the slowest rank, both ways, and the median ratio with its spread. Compiles
with mpicc.mpich and mpicc.openmpi, as far as they are installed.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
int main(int argc, char** argv) {
  double begin = now(), span;
  MPI_Init(&argc, &argv);
  span = now() - begin;
  printf("init %.6f\n", span);
  return MPI_Finalize();
}
"""
LAUNCHERS = {"mpich": ["mpiexec.hydra", "-n"], "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np"]}


def run(command):
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    total = time.perf_counter() - begin
    spans = [float(line.split("init ")[1]) for line in done.stdout.splitlines() if "init " in line]
    return total, max(spans)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--ranks", default="2,6,64")
    given = options.parse_args()
    dslaunch = os.path.join(os.environ.get("DS_BIN", "build/release/bin"), "dslaunch")
    print("| library | ranks | dslaunch, ms | MPI_Init, ms | its launcher, ms | MPI_Init, ms | its launcher / dslaunch (from, to) |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "program.c")
        open(source, "w").write(PROGRAM)
        for library, launcher in LAUNCHERS.items():
            if not shutil.which("mpicc." + library) or not shutil.which(launcher[0]):
                print(f"not measured: {library} is not installed", file=sys.stderr)
                continue
            program = os.path.join(folder, library)
            subprocess.run(["mpicc." + library, "-O1", "-o", program, source], check=True)
            for ranks in given.ranks.split(","):
                ours, theirs = [], []
                for _ in range(given.rounds):
                    ours.append(run([dslaunch, "-n", ranks, "--", program]))
                    theirs.append(run(launcher + [ranks, program]))
                ratios = [t[0] / o[0] for o, t in zip(ours, theirs)]
                median = lambda list_, i: 1e3 * statistics.median(x[i] for x in list_)
                print(f"| {library} | {ranks} | {median(ours, 0):.0f} | {median(ours, 1):.0f} | {median(theirs, 0):.0f} | "
                      f"{median(theirs, 1):.0f} | {statistics.median(ratios):.2f} ({min(ratios):.2f}, {max(ratios):.2f}) |", flush=True)


main()
