#!/usr/bin/env bash
# Configures and builds one preset, with programs in build/PRESET/bin.
#
#   scripts/build.sh [PRESET] [CMAKE OPTION ...]       default preset: release
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
preset=${1:-release}
shift || true
cd "$root"
# A new build folder is compiled in batches of files, because everything must be compiled. -DDS_UNITY=OFF compiles file by file, which is faster after small changes.
[ -e "build/$preset/CMakeCache.txt" ] || set -- -DDS_UNITY=ON "$@"
mkdir -p "build/$preset"
log=build/$preset/build.log
echo "build: $preset, $(nproc) jobs (log: $log)"
start=$SECONDS
if ! { cmake --preset "$preset" "$@" && cmake --build --preset "$preset" -j "$(nproc)"; } > "$log" 2>&1; then
  grep -E -A5 'error|Error|FAILED' "$log" | head -n 60 >&2 || true
  echo "build: failed; see the full log in $log" >&2
  exit 1
fi
echo "build: done in $((SECONDS - start)) s"
