#!/usr/bin/env bash
# Cost of a hashed known_hosts: the ssh transport logs in on N loopback addresses of one sshd, with a known_hosts of 1,000 lines in
# plain form and the same lines hashed by ssh-keygen -H, in turn.
# Usage: known_hosts.sh [--hosts 256] [--lines 1000] [--runs 5]
# Prints the client's CPU in ms per host for each form (medians with their spread), and the difference.
set -u
SOURCE=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
TESTS=${DS_TESTS:-$SOURCE/build/release/tests}
hosts=256 lines=1000 runs=5
while [ $# -gt 0 ]; do
  case $1 in
    --hosts) hosts=$2; shift 2 ;;
    --lines) lines=$2; shift 2 ;;
    --runs) runs=$2; shift 2 ;;
    *) sed -n '2,5p' "$0"; exit 64 ;;
  esac
done
. "$SOURCE/tests/support/sshd.sh"
sshd_need
dir=$(mktemp -d)
trap 'sshd_stop "$dir"; rm -rf "$dir"' EXIT
sshd_setup "$dir"
port=$(free_port)
addresses=()
for ((i = 0; i < lines; i++)); do addresses+=("127.0.$((1 + i / 250)).$((1 + i % 250))"); done
for address in "${addresses[@]}"; do known+=("[$address]:$port"); done
sshd_know "$dir" "${known[@]}"
cp "$dir/known_hosts" "$dir/plain"
ssh-keygen -q -H -f "$dir/known_hosts" > /dev/null 2>&1 || { echo "FAIL: ssh-keygen -H"; exit 1; }
cp "$dir/known_hosts" "$dir/hashed"
sshd_start "$dir" 0.0.0.0 "$port"

# cpu FORM: prints the client's CPU in ms per host
cpu() {
  cp "$dir/$1" "$dir/known_hosts"
  "$TESTS/ssh_probe" -F "$dir/ssh_config" -p "$port" -c true "${addresses[@]:0:hosts}" 2> "$dir/err" ||
    { echo "FAIL: $1: $(tail -n 3 "$dir/err")" >&2; exit 1; }
  sed -n 's/.* cpu_ms_per_host=\([0-9.]*\).*/\1/p' "$dir/err"
}
echo "$hosts hosts, $lines lines, $runs pairs, $(nproc) cores"
for ((run = 0; run < runs; run++)); do
  cpu plain >> "$dir/plain.ms" || exit 1
  cpu hashed >> "$dir/hashed.ms" || exit 1
done
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.3f", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
for form in plain hashed; do
  echo "$form: median $(median "$dir/$form.ms") ms a host, from $(sort -n "$dir/$form.ms" | head -n 1) to $(sort -n "$dir/$form.ms" | tail -n 1)"
done
awk "BEGIN { printf \"hashing costs %.3f ms a host\n\", $(median "$dir/hashed.ms") - $(median "$dir/plain.ms") }"
