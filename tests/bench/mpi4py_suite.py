#!/usr/bin/env python3
"""Runs mpi4py's own test suite under dslaunch and under the launcher of the MPI library, and compares the results test by test.

  mpi4py_suite.py run ours|theirs --out FOLDER --library mpich|impi|openmpi --suite MPI4PY/test [--python VENV/bin/python] ...
  mpi4py_suite.py table FOLDER...

`run` starts each module of the suite as a job of its own and writes FOLDER/SIDE.tsv, a line per test. A job in which no test
has begun or ended for --stall seconds is ended, and the test that it waited in counts as hung. The other tests of the module then
run again without it. `table` prints a row per folder that has both sides, then the tests that differ.
SUITE is the folder test/ of mpi4py's source package, of the version that the Python of --python has. README: mpi4py_results.md.
"""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

RECORD = pathlib.Path(__file__).resolve().with_name("mpi4py_record.py")
WORST_FIRST = ["hung", "died", "error", "fail", "ok", "skip"]
MARK = "MPI4PY_SUITE_JOB"  # in the environment of all processes of a job
MAX_JOBS = 12              # of a module
# Ranks share processors, so they must not wait by polling alone. All messages are on this machine.
SETTINGS = {"openmpi": {"OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_MCA_btl_tcp_if_include": "lo",
                        "OMPI_MCA_btl_base_warn_component_unused": "0"},
            "impi": {"I_MPI_FABRICS": "shm", "I_MPI_THREAD_YIELD": "3"}, "mpich": {}}


def read_records(folder):
    """Returns the lines of each rank, as lists of (word, test)."""
    return [[tuple(line.split(" ", 1)) for line in path.read_text().splitlines() if " " in line]
            for path in sorted(folder.glob("rank*"))]


def results_of(ranks, size, ended_by_us):
    """Returns the result of each test that has one: the worst of all ranks. Of the tests that some rank has begun and not ended,
    the first is hung or died. The rest and the tests that some rank has not begun are left out."""
    found = {}
    for lines in ranks:
        for word, test in lines:
            if word != "start": found.setdefault(test, []).append(word)
    results = {test: min(words, key=WORST_FIRST.index) for test, words in found.items()}
    order = [test for lines in sorted(ranks, key=len) for word, test in lines if word == "start"]
    ends = [{test for word, test in lines if word != "start"} for lines in ranks]
    open_tests = [test for test in dict.fromkeys(order) if len(ends) < size or not all(test in done for done in ends)]
    for test in open_tests: results.pop(test, None)
    if open_tests: results[open_tests[0]] = "hung" if ended_by_us else "died"
    return results


def pids_of(mark, namespaces):
    """Returns the processes of a job that are left: those with its mark, and all on the hosts (network namespaces) but sshd."""
    wanted = f"{MARK}={mark}".encode()
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if wanted in path.read_bytes().split(b"\0"): found.add(int(path.parent.name))
        except OSError:
            pass
    for name in namespaces:
        for pid in subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=True).stdout.split():
            try:
                # The sshd of a session may outlive it.
                if pathlib.Path("/proc", pid, "comm").read_text() != "sshd\n": found.add(int(pid))
            except OSError:
                pass
    return found


def kill_left(mark, namespaces, patience):
    """Waits until no process of a job is left, at most so many seconds, then kills the others. Returns the number of those."""
    end = time.monotonic() + patience
    while (left := pids_of(mark, namespaces)) and time.monotonic() < end: time.sleep(0.2)
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return len(left)


def end_job(job, mark, namespaces):
    """Ends the launcher by TERM, which ends its ranks, then kills what is left of the job. Returns the number of those left."""
    job.terminate()
    try:
        job.wait(15)
    except subprocess.TimeoutExpired:
        pass
    left = kill_left(mark, namespaces, 0 if job.poll() is None else 5)
    job.wait()
    return left


def run_job(command, folder, stall, limit, namespaces):
    """Runs one job. Returns (exit code or None if it was ended here, seconds)."""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    begin = moved = time.monotonic()
    size = 0
    with open(folder / "output", "wb") as output:
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                               env={**os.environ, MARK: mark}, start_new_session=True)
        while job.poll() is None:
            time.sleep(0.1)
            now = time.monotonic()
            total = sum(path.stat().st_size for path in folder.glob("rank*"))
            if total != size: size, moved = total, now
            if now - moved > stall or now - begin > limit:
                left = end_job(job, mark, namespaces)
                output.write(f"\nmpi4py_suite: ended after {now - begin:.0f} s, {left} processes were left\n".encode())
                return None, now - begin
        seconds = time.monotonic() - begin
        if left := kill_left(mark, namespaces, 5): output.write(f"\nmpi4py_suite: {left} processes were left\n".encode())
    return job.returncode, seconds


def run_module(module, prefix, args, out):
    """Returns the results of a module, the exit code of its last job and the seconds of all."""
    results, seconds, code = {}, 0.0, 0
    for number in range(MAX_JOBS):
        folder = out / f"{module}.{number}"
        folder.mkdir(parents=True)
        (folder / "done").write_text("".join(f"*{test}\n" for test in results))
        command = prefix + [args.python, str(RECORD), str(folder), str(args.suite / "main.py"), "-v", "-i", f"^{module}\\.py$",
                            "--xfile", str(folder / "done")]
        code, took = run_job(command, folder, args.stall, args.limit, args.namespaces)
        seconds += took
        new = results_of(read_records(folder), args.ranks, code is None)
        if not new and code != 0 and not results: new = {f"{module} (no test began)": "hung" if code is None else "died"}
        results.update({test: word for test, word in new.items() if test not in results})
        unfinished = any(word in ("hung", "died") for word in new.values())
        if not new or not unfinished: break
    return results, code, seconds


def prefix_of(side, args):
    """Returns the start of the command line: the launcher and its options."""
    if side == "ours":
        wire = "pmix" if args.library == "openmpi" else "pmi1"
        return [args.dslaunch, "-n", str(args.ranks), "--mpi", wire, *args.options, "--"]
    path = pathlib.Path(args.python).parent
    if args.library == "openmpi":
        launcher = args.mpirun or str(path / "mpirun")
        return [launcher, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(args.ranks), *args.options]
    return [args.mpirun or str(path / "mpiexec.hydra"), "-n", str(args.ranks), *args.options]


def tally(results):
    count = {word: 0 for word in WORST_FIRST}
    for word in results.values(): count[word] += 1
    return count


def show(count):
    return ", ".join(f"{number} {word}" for word, number in count.items() if number) or "no test"


def run(args):
    os.environ.update({**SETTINGS[args.library], **os.environ})
    out = args.out / args.side
    if out.exists(): sys.exit(f"mpi4py_suite: {out} exists")
    modules = sorted(path.stem for path in args.suite.glob("test_*.py") if re.search(args.modules, path.stem))
    everything, lines = {}, []
    for module in modules:
        results, code, seconds = run_module(module, prefix_of(args.side, args), args, out)
        everything.update(results)
        text = "ended here" if code is None else f"exit {code}"
        lines.append(f"{module}\t{text}\t{seconds:.1f}")
        print(f"{module:28} {show(tally(results)):40} {text}, {seconds:.1f} s", flush=True)
    (args.out / f"{args.side}.tsv").write_text("".join(f"{test}\t{word}\n" for test, word in sorted(everything.items())))
    (args.out / f"{args.side}_modules.tsv").write_text("\n".join(lines) + "\n")
    print(f"{args.side}: {show(tally(everything))}")


def read_results(path):
    return dict(line.split("\t") for line in path.read_text().splitlines())


def table(args):
    print("| folder | launcher | tests | passed | failed | error | skipped | hung | died |\n|---|---|---|---|---|---|---|---|---|")
    sides = {folder: {side: read_results(folder / f"{side}.tsv") for side in ("ours", "theirs")} for folder in args.folders}
    for folder, both in sides.items():
        for side, name in (("theirs", "its own"), ("ours", "dslaunch")):
            count = tally(both[side])
            numbers = [count[word] for word in ("ok", "fail", "error", "skip", "hung", "died")]
            print(f"| {folder.name} | {name} | {len(both[side])} | " + " | ".join(map(str, numbers)) + " |")
    for folder, both in sides.items():
        for test in sorted({*both["ours"], *both["theirs"]}):
            ours, theirs = both["ours"].get(test, "not run"), both["theirs"].get(test, "not run")
            if ours != theirs: print(f"{folder.name}: {test}: dslaunch {ours}, its own {theirs}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.set_defaults(call=run)
    one.add_argument("side", choices=["ours", "theirs"])
    one.add_argument("--out", required=True, type=lambda text: pathlib.Path(text).resolve())
    one.add_argument("--library", required=True, choices=sorted(SETTINGS))
    one.add_argument("--suite", required=True, type=lambda text: pathlib.Path(text).resolve())
    one.add_argument("--python", default=sys.executable)
    one.add_argument("--dslaunch", default="dslaunch")
    one.add_argument("--mpirun", help="the library's own launcher [beside --python]")
    one.add_argument("--ranks", type=int, default=2)
    one.add_argument("--modules", default="", metavar="REGEX", help="only modules whose names match")
    one.add_argument("--stall", type=float, default=60, metavar="SECONDS")
    one.add_argument("--limit", type=float, default=600, metavar="SECONDS", help="of one job")
    one.add_argument("--namespaces", type=lambda text: text.split(","), default=[], metavar="NAME,...",
                     help="network namespaces that are the hosts: nothing but sshd runs there after a job")
    one.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="of the launcher; the last argument")
    both = commands.add_parser("table")
    both.set_defaults(call=table)
    both.add_argument("folders", nargs="+", type=pathlib.Path)
    args = parser.parse_args()
    args.call(args)


if __name__ == "__main__":
    main()
