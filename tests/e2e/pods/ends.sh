#!/usr/bin/env bash
# Tests the ends of jobs in pods: signals, kills, lost nodes, replaced pods.
#   ends.sh [CASE...]
set -u
. "$(dirname "$0")/cases.sh"
cases_begin
work='echo up $RANK on $(hostname); trap "echo told $RANK; exit 0" TERM; sleep 300 & wait'
all_end() { # CODE COUNT
  local i
  for ((i = 0; i < $2; i++)); do want_code "$job.$i" "$1"; done
}
up() { # COUNT: all ranks run
  local i
  for ((i = 0; i < $1; i++)); do until_line 60 "$job.0" "up $i on"; done
}
no_ranks() { # POD: its ranks end within 8 s: TERM, after 3 s KILL
  local i
  for ((i = 0; i < 160; i++)); do
    podctl ps "$1" | grep -q 'sleep 300' || return 0
    sleep 0.05
  done
  fail "a rank is left in pod $1"
}
ms_since() { echo $(((${EPOCHREALTIME/./} - $1) / 1000)); }

# SIGTERM to one pod, as its deletion begins: one decision of all, within the grace.
term_to() {
  agents indexed 3 -- --grace 5s -- sh -c "$work"
  up 3
  local begin=${EPOCHREALTIME/./} i
  podctl term "$job.$1"
  all_end 143 3
  echo "measured: all ended $(ms_since "$begin") ms after the signal"
  for i in 0 1 2; do want "$job.0" "told $i"; done
  for i in 0 1 2; do want_report "$job.$i" '"exit_code":143'; done
}
case_term_worker() { term_to 2; }
case_term_root() { term_to 0; }
# Before there is a job, too.
case_term_waiting() {
  agent indexed 0 3 -- -- true
  agent indexed 1 3 -- -- true
  until_line 60 "$job.1" 'has joined'
  podctl term "$job.1"
  all_end 143 2
}
# And where there is no root yet.
case_term_alone() {
  agent indexed 1 3 -- -- true
  sleep 1
  local begin=${EPOCHREALTIME/./}
  podctl term "$job.1"
  want_code "$job.1" 143
  echo "measured: ended $(ms_since "$begin") ms after the signal"
}
# A rank fails: all pods end with its code, and say whose it was.
case_rank_fails() {
  agents jobset 3 -- -- sh -c 'echo up $RANK on $(hostname); [ $RANK != 2 ] || { echo the reason; exit 93; }; sleep 300'
  all_end 93 3
  local i
  for i in 0 1 2; do want_report "$job.$i" '"exit_code":93,.*"rank":2,"node":"rank-fails-node-0-2.rank-fails",.*"the reason"'; done
}
# SIGKILL to a worker's PID 1, as by the kernel for want of memory.
case_kill_worker() {
  agents indexed 3 -- -- sh -c "$work"
  up 3
  local begin=${EPOCHREALTIME/./}
  podctl kill9 "$job.1"
  until_line 60 "$job.0" "told 0"
  echo "measured: the other ranks were told $(ms_since "$begin") ms after the kill"
  want_code "$job.0" 69
  want_code "$job.2" 69
  want "$job.0" "$job-1\.$job"
  want_report "$job.2" "$job-1"
}
# The same with restarts: the pod's replacement, at another address, takes its index again.
case_kill_worker_replaced() {
  agents indexed 3 -- --max-restarts 1 -- sh -c 'echo up $RANK on $(hostname) time $TORCHELASTIC_RESTART_COUNT; [ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || sleep 300'
  up 3
  podctl replace "$job.1"
  all_end 0 3
  want "$job.0" 'up 1 on .* time 1'
}
# The root's pod dies; its replacement makes the job anew with the workers that are still there.
case_kill_root_replaced() {
  agents statefulset 3 -- --wait 60s -- sh -c 'echo up $RANK on $(hostname) epoch $DSLAUNCH_EPOCH; sleep 300'
  up 3
  podctl replace "$job.0"
  up 3
  until_line 60 "$job.1" 'is lost'
  podctl term "$job.2"
  all_end 143 3
}
# Its root is gone for good: the workers' ranks end at once, the workers at the deadline.
case_kill_root() {
  agents indexed 3 -- --wait 10s -- sh -c "$work"
  up 3
  podctl kill9 "$job.0"
  podctl delete "$job.0" 0
  local i
  for i in 1 2; do
    no_ranks "$job.$i"
    want_code "$job.$i" 69
    want "$job.$i" 'the root .* is lost'
    want_report "$job.$i" '"exit_code":69'
  done
}
# The network of a worker's node is gone: noticed by heartbeats, within --node-timeout.
case_partition() {
  agent indexed 0 3 -- --node-timeout 3s -- sh -c "$work"
  agent indexed 1 3 -- --node-timeout 3s -- sh -c "$work"
  agent indexed 2 3 -- --node-timeout 3s --wait 8s -- sh -c "$work"
  up 3
  local begin=${EPOCHREALTIME/./}
  podctl partition "$job.2"
  until_line 60 "$job.0" "told 0"
  echo "measured: the other ranks were told $(ms_since "$begin") ms after the partition, --node-timeout 3 s"
  want_code "$job.0" 69
  want_code "$job.1" 69
  want "$job.0" "$job-2\.$job"
  want_code "$job.2" 69 # on its own: no root within --wait
}
# It comes back before --wait is over: the node takes its place again, and the job begins anew.
case_partition_healed() {
  agents indexed 3 -- --node-timeout 2s --max-restarts 2 -- sh -c 'echo up $RANK time $TORCHELASTIC_RESTART_COUNT; [ "$TORCHELASTIC_RESTART_COUNT" != 0 ] || sleep 300'
  local i
  for i in 0 1 2; do until_line 60 "$job.0" "up $i time 0"; done
  podctl partition "$job.2"
  until_line 60 "$job.0" "$job-2\.$job is lost"
  sleep 2
  podctl heal "$job.2"
  all_end 0 3
  want "$job.0" 'up 2 time [12]'
  want "$job.2" 'the root .* is lost'
}
# All pods of a JobSet are made anew at once, as its failure policy does; what the first ones left does not matter.
case_recreate() {
  agents jobset 3 -- -- sh -c "$work"
  up 3
  local i
  for i in 2 0 1; do podctl replace "$job.$i" & done
  wait
  up 3
  podctl term "$job.1"
  all_end 143 3
}
# Training is told to end by one pod: whole steps, a summary, and the step in every termination log.
case_train_term() {
  mkdir -p "$dir/$job/configs"
  cp "$DS_SOURCE/README.md" "$dir/$job/"
  cp "$DS_SOURCE/configs/tiny.toml" "$dir/$job/configs/"
  agents indexed 2 --env DSLAUNCH_CUDA_PLUGIN=none --mount /data="$dir/$job" -- /data/configs/tiny.toml log.dir=/data/run train.steps=1000000
  until_line 60 "$job.0" 'step +5/'
  podctl term "$job.1"
  all_end 143 2
  grep -q '"steps": [1-9]' "$dir/$job/run/summary.json" || fail "no summary"
  for i in 0 1; do want_report "$job.$i" '"exit_code":143,.*"step":[1-9]'; done
}
# A node that hangs.
case_frozen() {
  agents indexed 2 -- --node-timeout 3s -- sh -c "$work"
  up 2
  podctl freeze "$job.1"
  want_code "$job.0" 69
  want "$job.0" "$job-1\.$job"
  podctl kill9 "$job.1"
}
# A worker's container ends and starts again in the same pod (restartPolicy Always), three times.
case_restart_in_place() {
  agents statefulset 2 -- --max-restarts 3 -- sh -c 'echo up $RANK time $TORCHELASTIC_RESTART_COUNT; [ "$TORCHELASTIC_RESTART_COUNT" = 3 ] || sleep 300'
  local time
  for time in 0 1 2; do
    until_line 60 "$job.0" "up 1 time $time"
    podctl restart "$job.1"
  done
  all_end 0 2
  want "$job.0" 'up 1 time 3'
}
# A StatefulSet starts what has ended again: after success its pods stay until TERM.
case_idle() {
  agents statefulset 2 -- --on-success idle -- true
  until_line 60 "$job.0" 'stays until TERM'
  until_line 60 "$job.1" 'stays until TERM'
  podctl running "$job.0" && podctl running "$job.1" || fail "a pod has ended"
  podctl term "$job.0"
  podctl term "$job.1"
  all_end 0 2
}
# Wrong words end a pod before it has a job: the termination message says which.
case_wrong_words() {
  podctl create "$job.0" -- dslaunch as torchrun --no-such-option train.toml
  podctl create "$job.1" -- dslaunch as torchrun --nnodes 2:4 train.toml
  podctl create "$job.2" -- dslaunch --no-such-option train.toml
  podctl create "$job.3" -- dslaunch agent --join --no-such-option -- true
  all_end 64 4
  local i
  for i in 0 2 3; do want_report "$job.$i" '"reason":".*--no-such-option.*"exit_code":64'; done
  want_report "$job.1" 'elastic jobs are not supported'
}
# PID 1 ends what its ranks leave behind, and zombies do not gather.
case_orphans() {
  agents indexed 2 -- -- sh -c 'for i in 1 2 3 4 5; do setsid sh -c "sleep 0.1 &" & done; sleep 1; ps -eo stat= | grep -c Z; setsid sleep 300 & exit 0'
  all_end 0 2
  want_not "$job.0" '\[[01]\] [1-9]'
}

all="partition partition_healed recreate train_term kill_root kill_root_replaced kill_worker kill_worker_replaced frozen term_worker term_root term_waiting term_alone rank_fails orphans wrong_words restart_in_place idle"
[ $# -gt 0 ] || set -- $all
cases_run "${PODS_JOBS:-6}" "$@"
