#!/usr/bin/env bash
# Configures and builds one preset; programs land in build/PRESET/bin.
#
#   scripts/build.sh [PRESET] [CMAKE OPTION ...]       default preset: release
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
preset=${1:-release}
shift || true
cd "$root"
# A new folder's build is from scratch, so in batches of files; -DDS_UNITY=OFF does without, for often changed files.
[ -e "build/$preset/CMakeCache.txt" ] || set -- -DDS_UNITY=ON "$@"
mkdir -p "build/$preset"
log=build/$preset/build.log
echo "build: $preset, $(nproc) jobs (log: $log)"
start=$SECONDS
if ! { cmake --preset "$preset" "$@" && cmake --build --preset "$preset" -j "$(nproc)"; } > "$log" 2>&1; then
  grep -E -A5 'error|Error|FAILED' "$log" | head -n 60 >&2 || true
  echo "build: failed; the whole log is $log" >&2
  exit 1
fi
echo "build: done in $((SECONDS - start)) s"
