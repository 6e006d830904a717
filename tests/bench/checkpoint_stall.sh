#!/usr/bin/env bash
# Cost of checkpoints: how long a save stops training compared with this machine's memory copy rate; the steps during the copy and
# during the writing; write and read rates compared with the disk. Prints ratios of one run and asserts nothing.
#   tests/bench/checkpoint_stall.sh [BUILD_BIN] [ROUNDS] [CASES...]     default: build/release/bin 5, all cases
# Cases: SHAPE-RANKS or SHAPE-RANKS-cpu (states in host memory), such as 124M-2. CHECKPOINT_DIR is the folder; PARTS selects stall,
# steps and disk. Needs: DS_TESTS.
#   stall   the longest stall of a rank for the snapshot, divided by the time to copy the snapshot's bytes at the rate at which as
#           many processes with as many threads copy as many bytes (copy_rate, before and after the job). Target: 1.2. One save
#           follows the other, six steps per round. Where all cores compute, the copy and the writing, which begins in the same
#           step, make that step longer; the added time divided by the same is printed too.
#   steps   step times during the writing divided by those of a job that saves nothing
#   disk    per round, in turn: dd writes and syncs, a save that training waits for; dd reads, a job resumes, both without the page
#           cache. Rates are divided by dd's rate of the same round.
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
bin=${1:-${DS_BIN:-$source/build/release/bin}}
rounds=${2:-5}
shift $(($# < 2 ? $# : 2))
[ $# -gt 0 ] || set -- 10.8M-1 10.8M-2 124M-1 124M-2 124M-1-cpu
steps=$((6 * rounds))
parts=${PARTS:-stall steps disk}
. "$source/tests/bench/pairs.sh"
tests=${DS_TESTS:-$source/build/release/tests}
if [ -n "${CHECKPOINT_DIR:-}" ]; then
  mkdir -p "$CHECKPOINT_DIR"
  folder=$(mktemp -d "$CHECKPOINT_DIR/stall.XXXXXX")
  trap 'rm -rf "$work" "$folder"' EXIT
else
  folder=$work/saves
fi

# run_job WORLD KEYS...: runs a job; output in $work/out.RANK, run folder $work/run
run_job() {
  local world=$1 rank pids=() failed=0
  shift
  rm -rf "$work/run"
  export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 10000))
  for ((rank = 0; rank < world; rank++)); do
    RANK=$rank WORLD_SIZE=$world LOCAL_RANK=$rank LOCAL_WORLD_SIZE=$world "$bin/dsrunner" "$work/train.toml" \
      batch.accum=1 precision.dtype=bf16 optimizer.lr=3e-4 log.every=1 log.dir="$work/run" device.threads="$threads" \
      checkpoint.dir="$folder/all" "$@" >"$work/out.$rank" 2>&1 </dev/null &
    pids+=($!)
  done
  for rank in "${pids[@]}"; do wait "$rank" || failed=1; done
  [ $failed = 0 ] || { tail -n 5 "$work"/out.* >&2; exit 1; }
}
# copy_rates WORLD BYTES: prints bytes per second of one of WORLD processes that each copy BYTES at the same time, a line per round
copy_rates() {
  local rank pids=()
  sleep 5  # a virtual machine returns freed memory to its host gradually, which would be counted here
  for ((rank = 0; rank < $1; rank++)); do
    "$tests/copy_rate" "$2" "$threads" 9 >>"$work/copies" &
    pids+=($!)
  done
  wait "${pids[@]}"
}
median() { sort -n "$@" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
# longer: prints for each step in which a save began how much longer it took than the median step during the writing
longer() {
  awk -F'[:,}]' '
    { delete f; for (i = 1; i < NF; i += 2) { k = $i; gsub(/[{"]/, "", k); f[k] = $(i + 1) } }
    /checkpoint_bytes/ { copied[f["step"] + 1] = 1; next }
    "loss" in f { end[f["step"]] = f["elapsed_s"]; last = f["step"] }
    END {
      for (s = 4; s < last; s++) if (!(s in copied)) plain[++n] = end[s] - end[s - 1]
      for (i = 1; i <= n; i++) for (j = i + 1; j <= n; j++) if (plain[j] < plain[i]) { t = plain[i]; plain[i] = plain[j]; plain[j] = t }
      for (s = 4; s < last; s++) if (s in copied) print end[s] - end[s - 1] - plain[int((n + 1) / 2)] }' "$work/run/metrics.jsonl"
}
# disk_rate write|read BYTES: prints bytes per second of dd on one file, without the page cache or synced
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
# drop_cache FILE...: removes the files from the page cache
drop_cache() {
  local file
  for file; do [ ! -e "$file" ] || dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 status=none; done
}
# field NAME: prints the field of every save in metrics.jsonl
field() { sed -n "/checkpoint_bytes/s/.*\"$1\":\([0-9.e+-]*\).*/\1/p" "$work/run/metrics.jsonl"; }
# step_time: prints the median of all steps but the first three, without stalls
step_time() {
  awk -F'[:,}]' '
    { delete f; for (i = 1; i < NF; i += 2) { k = $i; gsub(/[{"]/, "", k); f[k] = $(i + 1) } }
    /checkpoint_bytes/ { stood[f["step"]] = f["stall_s"] + f["flush_s"]; next }
    "loss" in f { end[f["step"]] = f["elapsed_s"]; last = f["step"] }
    END { for (s = 4; s <= last; s++) print end[s] - end[s - 1] - stood[s - 1] }' "$work/run/metrics.jsonl" | median
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'; }

echo "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $cores cores, $rounds rounds, $(findmnt -no FSTYPE -T "$work")"
mkdir -p "$folder"
# stall WORLD KEYS...: prints the stalls of the case
stall() {
  local world=$1 bytes rate
  rm -rf "$folder/all" "$work/copies"
  run_job "$@" train.steps=1
  bytes=$(($(field checkpoint_bytes | head -1) / world))
  copy_rates "$world" "$bytes"
  rm -rf "$folder/all"
  run_job "$@" train.steps=$steps checkpoint.every=1 checkpoint.keep=1 checkpoint.at_end=false
  # Training waits for the last save, so that one is left out.
  field stall_s | head -n -1 >"$work/stalls"
  copy_rates "$world" "$bytes"
  rate=$(median "$work/copies")
  awk -v rate="$rate" -v bytes="$bytes" '{ print $1 * rate / bytes }' "$work/stalls" >"$work/ratios"
  longer | awk -v rate="$rate" -v bytes="$bytes" '{ print $1 * rate / bytes }' >"$work/longer"
  echo "$case: $((bytes >> 20)) MiB per rank, copied at $(ratio "$rate" 1e9) GB/s; stall $(median "$work/stalls") s, over the bytes at that rate: $(spread <"$work/ratios") ($(wc -l <"$work/stalls") saves); the step during copy and writing is longer by $(spread <"$work/longer") times as much"
}
# beside WORLD KEYS...: prints the step times of the case; after stall
beside() {
  local with
  with=$(step_time)
  run_job "$@" train.steps=9 checkpoint.dir=
  echo "$case: steps $(step_time) s, during the writing $with s: $(ratio "$with" "$(step_time)")"
}
# disk WORLD KEYS...: prints the write and read rates of the case
disk() {
  local round bytes rate
  : >"$work/writes"
  : >"$work/reads"
  for ((round = 0; round < rounds; round++)); do
    rm -rf "$folder/all"
    run_job "$@" train.steps=1 checkpoint.async=false
    bytes=$(field checkpoint_bytes)
    rate=$(disk_rate write "$bytes")
    awk -v s="$(field written_s)" -v b="$bytes" -v r="$rate" '{ print b / s / r, b / s / 1e9, r / 1e9 }' <<<"" >>"$work/writes"
    drop_cache "$folder"/all/step-*/*.chunk
    run_job "$@" train.steps=1
    rate=$(disk_rate read "$bytes")
    awk -v s="$(sed -n 's/^resume .* read in \([0-9.e-]*\) s.*/\1/p' "$work/out.0")" -v b="$bytes" -v r="$rate" \
      '{ print b / s / r, b / s / 1e9, r / 1e9 }' <<<"" >>"$work/reads"
  done
  for what in writes reads; do
    echo "$case: $what $(cut -d ' ' -f 2 "$work/$what" | median) GB/s, dd $(cut -d ' ' -f 3 "$work/$what" | median) GB/s: $(cut -d ' ' -f 1 "$work/$what" | spread)"
  done
}
for case; do
  IFS=- read -r shape world where <<<"$case"
  threads=$((cores / world > 0 ? cores / world : 1))
  keys=$(shape_keys "$shape")
  [ "${where:-}" = cpu ] && keys="$keys offload.optimizer.device=cpu"
  # shellcheck disable=SC2086
  case " $parts " in *" stall "* | *" steps "*) stall "$world" $keys ;; esac
  # shellcheck disable=SC2086
  case " $parts " in *" steps "*) beside "$world" $keys ;; esac
  # shellcheck disable=SC2086
  case " $parts " in *" disk "*) disk "$world" $keys ;; esac
done
