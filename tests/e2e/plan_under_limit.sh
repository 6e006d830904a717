#!/usr/bin/env bash
# Under a memory limit of a cgroup: a job whose state exceeds it is refused at stage 0, by the plan and at its start, and
# trains at stage 3 under that very limit.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
skip() { echo "skipped: $1"; exit 77; }
if ldd "$dsrunner" | grep -q 'lib[at]san'; then skip "a sanitizer has memory of its own"; fi
[ "$(id -u)" = 0 ] || skip "not root, so no memory cgroup can be made"

# A cgroup below this process's own: version 1, or version 2 where its own hands memory down.
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

# Four ranks: 4 * 18 bytes a parameter at stage 0 are 690 MiB; each process has 30 to 50 MiB of its own besides.
ranks=4
model=(model.layers=12 model.hidden=256 model.heads=4 data.seq_len=64 batch.micro=1 precision.dtype=bf16
  zero.prefetch=1 train.steps=3)
limit=$((640 << 20))
echo $limit >"$box/$limit_file" 2>/dev/null || skip "a limit of $limit bytes is refused"
inside() { bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$box" "$@"; }

plan() { inside "$DS_BIN/dslaunch" plan "$work/train.toml" --slots $ranks "${model[@]}" "$@" >"$work/out" 2>"$work/err"; }
plan zero.stage=0
[ $? = 65 ] || fail "the plan of stage 0 exits with $?, not 65"
grep -q 'memory a node, the limit is 6[0-9][0-9]\.' "$work/err" || fail "the plan says: $(cat "$work/err")"
grep -q 'zero.stage=3 needs' "$work/err" || fail "stage 3 is not named: $(cat "$work/err")"
plan zero.stage=3 || fail "the plan of stage 3: $(cat "$work/err")"

# The launch says the same before a rank starts.
launch() { inside "$DS_BIN/dslaunch" -n $ranks "$work/train.toml" "${model[@]}" "$@" >"$work/out" 2>"$work/err" </dev/null; }
launch zero.stage=0 log.dir="$work/refused"
[ $? = 65 ] || fail "the launch of stage 0 is not refused"
grep -q 'zero.stage=3 needs' "$work/err" || fail "the launch says: $(cat "$work/err")"
[ ! -e "$work/refused" ] || fail "a run folder was made"
launch zero.stage=3 log.dir="$work/run" || fail "stage 3 under the limit: $(cat "$work/err" "$work/out")"
most=$(cat "$box/memory.max_usage_in_bytes" "$box/memory.peak" 2>/dev/null | head -1)
printf 'limit %d bytes, most used %s; stage 0 plans %s\n' $limit "${most:-unknown}" \
  "$(sed -n 's/.*the plan needs \([^,]*\),.*/\1/p' "$work/err" | head -1)"
[ "$(summary_of run steps)" = 3 ] || fail "three steps were to be made"

[ $failures = 0 ] && echo "under the limit: ok"
exit $((failures > 0))
