#!/usr/bin/env bash
# What checkpoints cost: for how long training stands while a save is copied, against the rate at which this machine copies
# memory; steps beside the writer; writing and reading against the disk. Ratios from one run. Asserts nothing.
#   tests/bench/checkpoint_stall.sh [BUILD_BIN] [SAVES] [CASES...]     default: build/release/bin 5, all cases
# Cases: SHAPE-RANKS or SHAPE-RANKS-cpu (states in host memory), as 124M-2. CHECKPOINT_DIR: the folder. Needs: DS_TESTS.
#   stall   longest of the ranks, from the end of a step to the next one's begin, over the bytes of the snapshot at the rate at
#           which as many processes with as many threads copy as many bytes (copy_rate, before and after the job). Target: 1.2.
#   beside  steps while a save is written over steps without; also those of a job that waits for the disk (async = false)
#   write   bytes from the begin of a save to its commit over what dd writes and syncs there; read: a resumed job's first step
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-${DS_BIN:-$source/build/release/bin}}
saves=${2:-5}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- 10.8M-1 10.8M-2 124M-1 124M-2 124M-1-cpu
rounds=1 steps=1
. "$source/tests/bench/pairs.sh"
tests=${DS_TESTS:-$source/build/release/tests}
if [ -n "${CHECKPOINT_DIR:-}" ]; then
  mkdir -p "$CHECKPOINT_DIR"
  folder=$(mktemp -d "$CHECKPOINT_DIR/stall.XXXXXX")
  trap 'rm -rf "$work" "$folder"' EXIT
else
  folder=$work/saves
fi

# run_job WORLD KEYS...: output in $work/out.RANK, the run folder is $work/run
run_job() {
  local world=$1 rank pids=() failed=0
  shift
  rm -rf "$work/run"
  export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 10000))
  for ((rank = 0; rank < world; rank++)); do
    RANK=$rank WORLD_SIZE=$world LOCAL_RANK=$rank LOCAL_WORLD_SIZE=$world "$bin/dsrunner" "$work/train.toml" "$@" \
      batch.accum=1 precision.dtype=bf16 optimizer.lr=3e-4 log.every=1 log.dir="$work/run" device.threads="$threads" \
      checkpoint.dir="$folder/all" >"$work/out.$rank" 2>&1 </dev/null &
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank" || failed=1; done
  [ $failed = 0 ] || { tail -n 5 "$work"/out.* >&2; exit 1; }
}
# copy_rates WORLD BYTES: bytes a second of one process of WORLD that copy BYTES each at the same time, a line a round
copy_rates() {
  local rank pids=()
  for ((rank = 0; rank < $1; rank++)); do
    "$tests/copy_rate" "$2" "$threads" 7 >>"$work/copies" &
    pids+=($!)
  done
  wait "${pids[@]}"
}
median() { sort -n "$@" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
# disk_rate write|read BYTES: bytes a second of dd, one file, past the page cache or synced
disk_rate() {
  local file=$folder/dd mib=$(($2 >> 20)) start end
  [ "$1" = write ] && rm -f "$file"
  drop_cache "$file"
  start=$(date +%s%N)
  if [ "$1" = write ]; then
    dd if=/dev/zero of="$file" bs=8M count=$((mib / 8 + 1)) conv=fsync status=none
  else
    dd if="$file" of=/dev/null bs=8M status=none
  fi
  end=$(date +%s%N)
  awk -v bytes=$(((mib / 8 + 1) << 23)) -v ns=$((end - start)) 'BEGIN { printf "%.0f\n", bytes / ns * 1e9 }'
}
# drop_cache FILE...: what of them is in the page cache
drop_cache() {
  local file
  for file; do [ ! -e "$file" ] || dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 status=none; done
}
# field NAME: of every save in metrics.jsonl
field() { sed -n "/checkpoint_bytes/s/.*\"$1\":\([0-9.e+-]*\).*/\1/p" "$work/run/metrics.jsonl"; }
# step_times: "beside SECONDS" or "alone SECONDS" of every step but the first two; stalls are left out
step_times() {
  awk -F'[:,}]' '
    { delete f; for (i = 1; i < NF; i += 2) { k = $i; gsub(/[{"]/, "", k); f[k] = $(i + 1) } }
    /checkpoint_bytes/ { saved[++n] = f["step"]; told[n] = f["elapsed_s"]; stood[f["step"]] = f["stall_s"] + f["flush_s"]; next }
    "loss" in f { end[f["step"]] = f["elapsed_s"]; last = f["step"] }
    END { for (s = 3; s <= last; s++) { where = "alone"
        for (i = 1; i <= n; i++) if (s > saved[i] && end[s - 1] < told[i]) where = "beside"
        print where, end[s] - end[s - 1] - stood[s - 1] } }' "$work/run/metrics.jsonl"
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }

echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $cores cores, $saves saves a case, $(findmnt -no FSTYPE -T "$work")"
for case; do
  IFS=- read -r shape world where <<<"$case"
  threads=$((cores / world > 0 ? cores / world : 1))
  keys=$(shape_keys "$shape")
  [ "${where:-}" = cpu ] && keys="$keys offload.optimizer.device=cpu"
  every=6
  [ "$shape" = 124M ] || every=25
  rm -rf "$folder/all" "$work/copies"
  mkdir -p "$folder"
  # shellcheck disable=SC2086
  run_job 1 $keys train.steps=1 checkpoint.dir="$folder/size"
  # shellcheck disable=SC2086
  bytes=$(du -b --apparent-size -s "$folder/all" | cut -f 1)
  rm -rf "$folder/all"
  copy_rates "$world" $((bytes / world))
  # shellcheck disable=SC2086
  run_job "$world" $keys train.steps=$((every * saves + every - 1)) checkpoint.every=$every checkpoint.keep=1 checkpoint.at_end=false
  copy_rates "$world" $((bytes / world))
  bytes=$(field checkpoint_bytes | head -1)
  rate=$(median "$work/copies")
  field stall_s | awk -v rate="$rate" -v bytes=$((bytes / world)) '{ print $1 * rate / bytes }' >"$work/ratios"
  echo "$case: snapshot of $((bytes / world >> 20)) MiB a rank, copied at $(ratio "$rate" 1e9) GB/s a rank: stall $(median <(field stall_s)) s"
  echo "$case: stall over bytes at the copy rate: $(spread <"$work/ratios")"
  step_times >"$work/steps"
  alone=$(sed -n 's/alone //p' "$work/steps" | median) beside=$(sed -n 's/beside //p' "$work/steps" | median)
  echo "$case: steps $alone s, beside the writer $beside s: $(ratio "${beside:-0}" "$alone")"
  : >"$work/disk"
  for _ in 1 2 3; do disk_rate write "$bytes" >>"$work/disk"; done
  disk=$(median "$work/disk")
  field written_s | awk -v disk="$disk" -v bytes="$bytes" '{ print bytes / $1 / disk }' >"$work/ratios"
  echo "$case: written at $(ratio "$(awk -v b="$bytes" '{ print b / $1 }' <(field written_s) | median)" 1e9) GB/s, dd at $(ratio "$disk" 1e9) GB/s: $(spread <"$work/ratios")"
done
