#!/usr/bin/env bash
# Elastic trainings under dslaunch: a rank is killed, agents are killed one by one and two at once, hosts come back. The job goes on
# from memory, or from the disk when two buddies are lost together, with the bits of the undisturbed run.
. "$(dirname "$0")/../../support/train_ranks.sh" || exit 1
[ -x "$DS_BIN/dslaunch" ] || { echo "FAILED: $DS_BIN/dslaunch is to be built first"; exit 1; }
mkdir "$work/disk"
common=(determinism.virtual_ranks=12 batch.global=24 determinism.order=boundary train.steps=40 optimizer.clip=0.5 elastic.every=1)

# job NAME HOSTS KEYS...: in the background, with steps of at least 60 ms
job() {
  "$DS_BIN/dslaunch" -H "$2" --transport local --nodes 1:4 --max-restarts 9 "$work/train.toml" "log.dir=$work/$1" "${common[@]}" \
    debug.slow_data=0:60 "${@:3}" >"$work/$1.out" 2>&1 </dev/null &
  pids=($!)
}
# reached NAME STEPS: so many steps are logged
reached() { [ "$(cat "$work/$1/metrics.jsonl" 2>/dev/null | grep -c '"loss"')" -ge "$2" ]; }
# ranks_of NAME NODE_RANK: processes of the ranks there
ranks_of() {
  local process
  for process in $(pgrep -f "dsrunner .*log\.dir=$work/$1 "); do
    tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null | grep -qx "NODE_RANK=$2" && echo "$process"
  done
}
parent_of() { sed -n 's/^PPid:[[:space:]]*//p' "/proc/$1/status"; }
# agent_of NAME NODE_RANK
agent_of() {
  local rank shim
  rank=$(ranks_of "$1" "$2" | head -1)
  [ -n "$rank" ] && shim=$(parent_of "$rank") && [ "${shim:-0}" -gt 1 ] && parent_of "$shim"
}
# find_agent NAME NODE_RANK: sets agent
find_agent() {
  agent=$(agent_of "$@" 2>/dev/null)
  [ "${agent:-0}" -gt 1 ]
}
# kill_agents NAME NODE_RANK...: ranks are away for a moment while a host joins
kill_agents() {
  local node agent agents=()
  for node in "${@:2}"; do
    wait_for 20 find_agent "$1" "$node" || { fail "$1: no agent of node $node: $(cat "$work/$1.out")"; return; }
    agents+=("$agent")
  done
  kill -9 "${agents[@]}"
}
ended() {
  wait "${pids[0]}"
  local code=$?
  pids=()
  [ $code = 0 ] || fail "$1: exit $code: $(cat "$work/$1.out")"
  [ "$(summary_of "$1" weights_hash)" = "$hash" ] || fail "$1: weights $(summary_of "$1" weights_hash), undisturbed $hash: $(cat "$work/$1.out")"
  python3 - "$work/plain/metrics.jsonl" "$work/$1/metrics.jsonl" <<'END' || fail "$1: metrics.jsonl differs: $(cat "$work/$1.out")"
import json, sys
def figures(path):
    for line in open(path):
        line = json.loads(line)
        if "loss" in line: yield line["step"], (line["loss"], line["grad_norm"])
plain = dict(figures(sys.argv[1]))
seen = set()
for step, found in figures(sys.argv[2]):
    seen.add(step)
    if found != plain[step]: sys.exit(f"step {step}: {found}, undisturbed {plain[step]}")
if seen != set(plain): sys.exit(f"steps {sorted(set(plain) - seen)} are missing")
END
}
says() { grep -qE -- "$2" "$work/$1.out" || fail "$1: does not say '$2': $(cat "$work/$1.out")"; }

run_job 2 plain "${common[@]:0:5}"
hash=$(summary_of plain weights_hash)
[ ${#hash} = 32 ] || fail "the undisturbed run has no weights_hash"

run_job 2 other "${common[@]:1:4}" determinism.virtual_ranks=6 batch.accum=2
[ "$(summary_of other weights_hash)" != "$hash" ] || fail "other virtual ranks give the same weights: the comparison cannot fail"

# kill -9 of a rank, at a fixed size.
job rank a:2,b:2
wait_for 60 reached rank 10 || fail "rank: $(cat "$work/rank.out")"
kill -9 "$(ranks_of rank 1 | head -1)"
ended rank
says rank "resume   step [0-9]+ from memory \(4 ranks of epoch 0 -> 4 ranks, 0 B moved"

# Two agents, one after the other; their hosts are dialed again and join.
for cell in 0:none 2:none 3:nvme; do
  name=agents-${cell/:/-}
  keys=(zero.stage=${cell%:*})
  [ "${cell#*:}" = none ] || keys+=(offload.optimizer.device=${cell#*:} offload.optimizer.tile=16384 "offload.optimizer.paths=$work/disk")
  job $name a,b,c,d "${keys[@]}"
  wait_for 60 reached $name 8 && kill_agents $name 1
  wait_for 60 reached $name 24 && kill_agents $name 0
  ended $name
  [ "$(grep -c "resume   step [0-9]* from memory" "$work/$name.out")" -ge 2 ] || fail "$name: not from memory: $(cat "$work/$name.out")"
  ! grep -q "resumed from\|memory is not used" "$work/$name.out" || fail "$name: $(cat "$work/$name.out")"
done

# Two buddies at once: the disk.
job two a,b,c,d checkpoint.dir="$work/two.ckpt" checkpoint.every=3
wait_for 60 reached two 14 && kill_agents two 1 2
ended two
says two "memory is not used: step [0-9]+ of epoch 0 lacks the share of rank 1 of 4"
says two "checkpoint: step [0-9]+ resumed from"

[ $failures = 0 ] && echo "elastic jobs: all as promised"
exit $((failures > 0))
