#!/usr/bin/env bash
# Under a memory limit of a cgroup, a job whose state exceeds the limit is refused at stage 0, by the plan and at its start, and
# trains at stage 3 with weights and states in files under the same limit.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
skip() { echo "skipped: $1"; exit 77; }
if ldd "$dsrunner" | grep -q 'lib[at]san'; then skip "a sanitizer uses memory of its own"; fi
[ "$(id -u)" = 0 ] || skip "not root, so no memory cgroup can be made"

# Makes a cgroup below this process's own: version 1, or version 2 where its own delegates memory.
own1=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
own2=$(sed -n 's/^0:://p' /proc/self/cgroup)
box='' limit_file=''
make_box() {
  mkdir "$1/ds-plan-$$" 2>/dev/null || return 1
  box="$1/ds-plan-$$" limit_file=$2
  [ -e "$box/$limit_file" ] || { rmdir "$box"; return 1; }
}
{ [ -n "$own1" ] && make_box "/sys/fs/cgroup/memory$own1" memory.limit_in_bytes; } ||
  { [ -n "$own1" ] && make_box /sys/fs/cgroup/memory memory.limit_in_bytes; } ||
  make_box "/sys/fs/cgroup$own2" memory.max || skip "no memory cgroup can be made here"
leave_box() {
  while read -r pid; do kill -9 "$pid" 2>/dev/null; done <"$box/cgroup.procs"
  for _ in $(seq 100); do rmdir "$box" 2>/dev/null && break; sleep 0.05; done
  finish
}
trap leave_box EXIT

# Two ranks with 13.6 M parameters: stage 0 in bf16 needs 18 bytes per parameter and rank, 470 MiB in total; weights, gradients and
# states of the whole model once are 235 MiB. Each process takes 20 to 40 MiB besides.
ranks=2
model=(model.layers=17 model.hidden=256 model.heads=4 data.seq_len=32 batch.micro=1 precision.dtype=bf16
  zero.prefetch=1 train.steps=3)
files=(zero.stage=3 offload.optimizer.device=nvme offload.param.device=nvme "offload.optimizer.paths=[\"$work\"]"
  offload.optimizer.tile=65536)
limit=$((220 << 20))
echo $limit >"$box/$limit_file" 2>/dev/null || skip "a limit of $limit bytes is refused"
inside() { bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$box" "$@"; }

plan() { inside "$DS_BIN/dslaunch" plan "$work/train.toml" --slots $ranks "${model[@]}" "$@" >"$work/out" 2>"$work/err"; }
plan zero.stage=0
[ $? = 65 ] || fail "the plan of stage 0 exits with $?, not 65"
grep -qE 'memory per node, the limit is 2[0-9][0-9]\.' "$work/err" || fail "the plan says: $(cat "$work/err")"
grep -q ': zero.stage=[123]' "$work/err" || fail "no way out is named: $(cat "$work/err")"
needs=$(sed -n 's/.*the plan needs \([^,]*\),.*/\1/p' "$work/err")
plan "${files[@]}" || fail "the plan of stage 3 with files: $(cat "$work/err")"

# The launch reports the same before a rank starts.
launch() { inside "$DS_BIN/dslaunch" -n $ranks "$work/train.toml" "${model[@]}" "$@" >"$work/out" 2>"$work/err" </dev/null; }
launch zero.stage=0 log.dir="$work/refused"
[ $? = 65 ] || fail "the launch of stage 0 is not refused"
grep -q ': zero.stage=[123]' "$work/err" || fail "the launch says: $(cat "$work/err")"
[ ! -e "$work/refused" ] || fail "a run folder was made"
launch "${files[@]}" log.dir="$work/run" || fail "stage 3 with files under the limit: $(cat "$work/err" "$work/out")"
most=$(cat "$box/memory.max_usage_in_bytes" "$box/memory.peak" 2>/dev/null | head -1)
printf 'limit %d bytes, most used %s; stage 0 needs %s, the states of the model %d bytes\n' $limit "${most:-unknown}" \
  "$needs" $(($(summary_of run parameters) * 18))
[ "$(summary_of run steps)" = 3 ] || fail "three steps were to be made"
[ $(($(summary_of run parameters) * 18)) -gt $limit ] || fail "the model's state does not exceed the limit"

[ $failures = 0 ] && echo "under the limit: ok"
exit $((failures > 0))
