#!/usr/bin/env bash
# Runs the given scripts in parallel: each has its own Slurm in its own namespaces, and mostly waits.
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
pids=()
here=$(cd "$(dirname "$0")" && pwd)
for script in "$@"; do
  "$here/$script" > "$folder/$script" 2>&1 &
  pids+=($!)
done
skipped=0
failed=0
index=0
for script in "$@"; do
  status=0
  wait "${pids[$index]}" || status=$?
  index=$((index + 1))
  echo "== $script: $status"
  cat "$folder/$script"
  case $status in
    0) ;;
    77) skipped=$((skipped + 1)) ;;
    *) failed=1 ;;
  esac
done
[ $failed -eq 0 ] || exit 1
[ $skipped -eq 0 ] || exit 77
