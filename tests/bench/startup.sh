#!/usr/bin/env bash
# Start-up time of dslaunch: median time of `dslaunch --version`, of --dry-run and of a job with one local rank, compared with
# /bin/true, in turn.
# Usage: startup.sh [RUNS]   (DS_BIN: folder of the binaries; default build/release/bin)
set -eu
bin=${DS_BIN:-$(cd "$(dirname "$0")/../.." && pwd)/build/release/bin}
runs=${1:-200}
hosts=$(mktemp)
trap 'rm -f "$hosts"' EXIT
echo 'node[0001-1000] slots=8' >"$hosts"

# micros COMMAND...: prints the microseconds that a command takes, from fork to exit
micros() {
  local start=${EPOCHREALTIME/./} end
  "$@" >/dev/null
  end=${EPOCHREALTIME/./}
  echo $((end - start))
}

# summary: prints the median and the 10th and 90th percentile of the numbers on standard input
summary() {
  sort -n | awk '{v[NR] = $1} END {printf "%d %d %d\n", v[int((NR + 1) / 2)], v[int((NR + 9) / 10)], v[int((9 * NR + 9) / 10)]}'
}

for _ in $(seq "$runs"); do
  echo "true $(micros /bin/true)"
  echo "version $(micros "$bin/dslaunch" --version)"
  echo "dry_run $(micros "$bin/dslaunch" --hostfile "$hosts" --dry-run -- true)"
  echo "one_rank $(micros "$bin/dslaunch" -n 1 -- /bin/true)"
done | {
  samples=$(cat)
  base=$(awk '$1 == "true" {print $2}' <<<"$samples" | summary)
  printf '%-34s %8s %8s %8s   %s\n' "microseconds, $runs runs in turn" median p10 p90 'times /bin/true'
  for name in true version dry_run one_rank; do
    read -r median low high < <(awk -v n=$name '$1 == n {print $2}' <<<"$samples" | summary)
    case $name in
      true) label='/bin/true' ;;
      version) label='dslaunch --version' ;;
      one_rank) label='dslaunch -n 1 -- /bin/true' ;;
      dry_run) label='dslaunch --dry-run of 8000 ranks' ;;
    esac
    printf '%-34s %8d %8d %8d   %s\n' "$label" "$median" "$low" "$high" \
      "$(awk -v a="$median" -v b="${base%% *}" 'BEGIN {printf "%.1f", a / b}')"
  done
}
