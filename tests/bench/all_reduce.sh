#!/usr/bin/env bash
# Compares the engine's all-reduce with Gloo's, in turn: processes of this machine, inside the node and over TCP.
# Usage: tests/bench/all_reduce.sh [MEGABYTES [TURNS]]. DS_TESTS names the folder of the programs. Without libgloo-dev at build
# time only the engine's times are printed.
set -u
programs=${DS_TESTS:-build/release/tests}
megabytes=${1:-100} turns=${2:-7}
[ -x "$programs/all_reduce_mesh" ] || { echo "build $programs/all_reduce_mesh first"; exit 1; }
gloo=1
[ -x "$programs/all_reduce_gloo" ] || { gloo=0; echo "Gloo: skipped, libgloo-dev was not installed when the tests were built"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for ranks in 2 4; do
  for ((turn = 0; turn < turns; turn++)); do
    "$programs/all_reduce_mesh" $ranks "$megabytes" 5 >>"$work/node.$ranks" || exit 1
    "$programs/all_reduce_mesh" $ranks "$megabytes" 5 tcp >>"$work/tcp.$ranks" || exit 1
    [ $gloo = 0 ] || "$programs/all_reduce_gloo" $ranks "$megabytes" 5 >>"$work/gloo.$ranks" || exit 1
  done
done
python3 - "$work" "$megabytes" <<'END'
import pathlib, statistics, sys
work = pathlib.Path(sys.argv[1])
for ranks in (2, 4):
    times = {p.name.split(".")[0]: sorted(map(float, p.read_text().split())) for p in work.glob(f"*.{ranks}")}
    for name in ("node", "tcp", "gloo"):
        if name not in times: continue
        t = times[name]
        line = f"{ranks} processes, {sys.argv[2]} MB, {name:5} median {statistics.median(t):7.1f} ms  (from {t[0]:.1f} to {t[-1]:.1f}, {len(t)} times)"
        if name != "gloo" and "gloo" in times:
            line += f"  {statistics.median(times['gloo']) / statistics.median(t):.2f} times Gloo's speed"
        print(line)
END
