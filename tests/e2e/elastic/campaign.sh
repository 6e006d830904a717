#!/usr/bin/env bash
# Campaign of random faults against one elastic training over ssh, on hosts that are network namespaces.
#
#   [DS_FAULTS="KIND ..."] campaign.sh SECONDS SEED [HOSTS [disk]]        needs DS_BIN, DS_SOURCE, DS_TESTS, python3
#
# Every few seconds something happens to one node, or to two at once: a link of the chain of processes is killed or stopped, the network
# goes, the power goes, the node leaves as it is told to, alone or while another one is lost, the disk is full, a node comes back. The job
# must reach its last step. Then each step's loss and gradient norm and the hash of the weights must be those of an undisturbed run on one
# host, each sample must have been used once in each step, and nothing of the job may be left. Only losses of two nodes at once may read the
# disk. With "disk", nothing is kept in memory: then changes must read it. Prints a line a fault, a table of the times by kind, and totals;
# exits 0 if all is well.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
. "$DS_SOURCE/tests/support/small_training.sh"
[ $# -ge 2 ] || { sed -n '2,10p' "$0"; exit 64; }
seconds=$1 seed=$2 hosts=${3:-8} memory=${4:-memory} ranks_per_host=2 most=$((${3:-8} * 2))
command -v python3 > /dev/null || { echo "SKIP: needs python3"; exit 77; }
netns_need
dir=$(mktemp -d)
trap 'exec 2> /dev/null; end_job; netns_down; umount "$dir/saves"; rm -rf "$dir"' EXIT
mkdir "$dir/saves"
mount -t tmpfs -o size=32m tmpfs "$dir/saves" 2> /dev/null || echo "no file system can be mounted here: full_disk is left out"
. "$(dirname "$0")/node_faults.sh"
export DSLAUNCH_RUNTIME_DIR=$dir/sockets
mkdir -m 700 "$DSLAUNCH_RUNTIME_DIR"
netns_up "$dir" "$hosts" || exit 1
RANDOM=$seed
export DSLAUNCH_CUDA_PLUGIN=none
now_ms() { echo "${EPOCHREALTIME/./}" | sed 's/...$//'; }

step_ms=${DS_STEP_MS:-25} keys=() # a step takes at least so long; longer ones leave processors to others
[ "$memory" != disk ] || keys=(elastic.every=0 checkpoint.every=20)
steps=$((seconds * 1000 / (step_ms * 2)))
find "$DS_SOURCE/engine" -name '*.h' | LC_ALL=C sort | xargs cat > "$dir/text"
stage=$((RANDOM % 4)) offload=$([ $((RANDOM % 3)) -eq 0 ] && echo cpu || echo none)
small_training "$dir/train.toml" "$steps" "$most" "optimizer.lr = 3e-3" "zero.stage = $stage" "offload.optimizer.device = '$offload'" \
  "checkpoint.dir = 'saves'" "checkpoint.every = 400" "checkpoint.keep = 2" "comm.timeout = 5"
reference() { # the undisturbed run, on this machine alone
  (cd "$dir" && "$DS_BIN/dslaunch" -n 1 "$dir/train.toml" log.dir=reference checkpoint.dir=reference-saves determinism.virtual_ranks=$most > reference.out 2>&1)
}
for ((i = 1; i <= hosts; i++)); do echo "node$i slots=$ranks_per_host"; done > "$dir/hosts"
start_job() {
  (
    cd "$dir" || exit 1
    exec ip netns exec "$head_ns" "$DS_BIN/dslaunch" --ssh-config "$dir/ssh_config" --hostfile "$dir/hosts" --nodes "1:$hosts" \
      --node-timeout 2s --max-restarts 100000 --verdict "$dir/verdict" "$dir/train.toml" log.dir=run debug.slow_data="0:$step_ms" "${keys[@]}"
  ) > "$dir/out" 2> "$dir/err" < /dev/null &
  job=$!
}
end_job() { [ -z "${job-}" ] || kill -9 "$job"; }
last_step() { tail -c 20000 "$dir/run/metrics.jsonl" 2> /dev/null | grep -o '"step": *[0-9]*' | tail -n 1 | grep -o '[0-9]*$' || echo 0; }
# last_epoch: number of the newest epoch that has finished a step
last_epoch() {
  tail -c 20000 "$dir/run/metrics.jsonl" 2> /dev/null |
    awk -F'[:,]' '/"event":"epoch"/ { began = $4; next } /"loss"/ && began != "" { epoch = began } END { print epoch + 0 }'
}
# Waits until last_WHAT ("epoch", which has finished a step, or "step") is greater than $2, at most 60 s; prints the milliseconds since $3.
wait_after() {
  local until=$((SECONDS + 60)) now
  while now=$(last_$1); [ "${now:-0}" -le "$2" ]; do
    kill -0 "$job" 2> /dev/null || return 1
    [ $SECONDS -lt $until ] || return 1
    sleep 0.02
  done
  echo $(($(now_ms) - $3))
}

start_job
for ((i = 0; i < 600; i++)); do [ "$(last_step)" -le 5 ] || break; sleep 0.1; done
[ "$(last_step)" -gt 5 ] || { echo "the job did not start"; cat "$dir/err" "$dir/out"; exit 1; }
faults=0 bad=0 pairs=0
: > "$dir/times"
printf '%5s  %-14s  %-14s  %8s  %8s\n' fault kind node step ms
end=$((SECONDS + seconds))
while [ $SECONDS -lt $end ] && kill -0 "$job" 2> /dev/null; do
  sleep $((RANDOM % 4 + 1)).$((RANDOM % 10))
  kind=${fault_names[RANDOM % ${#fault_names[@]}]}
  node=$((RANDOM % hosts + 1))
  before=$(last_step) epoch=$(last_epoch) at=$(now_ms)
  [ "${before:-0}" -lt $((steps - 200)) ] || break
  "fault_$kind" "$node" || continue # nothing of the job runs there now
  faults=$((faults + 1))
  [ "$kind" != two_nodes ] || pairs=$((pairs + 1))
  counts=epoch after=$epoch
  [ "$kind" != full_disk ] || counts=step after=$(last_step)
  if took=$(wait_after $counts "$after" "$at"); then
    echo "$kind $took" >> "$dir/times"
  else
    took=- bad=$((bad + 1))
  fi
  printf '%5d  %-14s  %-14s  %8s  %8s\n' "$faults" "$kind" "node$node" "$before" "$took"
  mend_nodes
done
mend_all
code=0
until=$((SECONDS + seconds + 120))
while kill -0 "$job" 2> /dev/null; do
  [ $SECONDS -lt $until ] || { echo "the job does not end"; kill -9 "$job"; bad=$((bad + 1)); }
  sleep 0.2
done
wait "$job" || code=$?
[ "$code" -eq 0 ] || { echo "BAD: exit code $code"; tail -n 15 "$dir/err"; bad=$((bad + 1)); }
sleep 5
for ((i = 1; i <= hosts; i++)); do
  left=$(node_pids "$i")
  [ -z "$left" ] || { echo "BAD: left on node$i: $(ps -o pid,args -p "$(echo $left | tr ' ' ,)")"; bad=$((bad + 1)); }
done
reference || { echo "BAD: the reference run failed"; tail -n 3 "$dir/reference.out"; bad=$((bad + 1)); }
lost=$(grep -c "memory is not used" "$dir/out")
from_disk=0:
[ "$memory" != disk ] || from_disk=1:
echo "$pairs times two nodes at once, $lost times the states were lost and came from the disk"
[ "$lost" -le "$pairs" ] || { echo "BAD: a single loss lost states"; grep "memory is not used" "$dir/out"; bad=$((bad + 1)); }
python3 "$(dirname "$0")/check_history.py" "$dir/reference" "$dir/run" --times "$dir/times" --batch "$most" --disk "$from_disk" || bad=$((bad + 1))
echo "stage $stage, offload $offload, seed $seed: $faults faults, $bad bad, $steps steps"
[ "$bad" -eq 0 ]
