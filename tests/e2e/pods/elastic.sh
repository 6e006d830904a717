#!/usr/bin/env bash
# Tests trainings in pods whose number changes: a StatefulSet 2 -> 4 -> 1, pods that are killed and come back, pods that are evicted. Each
# step's loss and gradient norm, the weights and the samples are those of the undisturbed run.
#   elastic.sh [CASE...]
set -u
. "$(dirname "$0")/cases.sh"
. "$(dirname "$0")/changing.sh"
cases_begin
command -v python3 > /dev/null || { echo "SKIP: needs python3"; exit 77; }
changing_begin 600 4 25 # the changes take 10 s, and on a busy machine much longer

until_step() { # STEP
  local i
  for ((i = 0; i < 1200; i++)); do
    [ "$(set_step)" -lt "$1" ] || return 0
    sleep 0.05
  done
  fail "does not reach step $1"
  show "$job.0"
}
show() { grep -vE ' step +[0-9]+/' "$PODS/pods/$1/log" | sed "s/^/    $1: /" | tail -n 30; } # without the lines of steps
size_is() { until_line 60 "$job.0" "epoch [0-9]+: $1 nodes? and $1 ranks?.*${2:-}"; } # NODES [TEXT]
same_as_undisturbed() { # REDONE: how many steps may have run twice
  local found
  found=$(set_history) || fail "the run differs: $found"
  echo "measured: $(head -n 1 <<< "$found")"
  [[ $found =~ ,\ ([0-9]+)\ steps\ redone ]] && [ "${BASH_REMATCH[1]}" -le "$1" ] || { fail "more than $1 steps redone: $found"; show "$job.0"; grep -h event "$dir/run.$job/run/metrics.jsonl"; }
}

# The controller creates pods 2 and 3 while the training runs, and later deletes pods 1, 2 and 3 at one moment.
case_scaled() {
  set_pod 1 1
  set_pod 0 1
  until_line 60 "$job.0" "2 of 4 nodes are here .*no DNS record.*; beginning without them"
  until_step 10
  set_pod 2 1
  set_pod 3 1
  size_is 4
  until_step $(($(set_step) + 10))
  set_delete 3 2 1
  for i in 1 2 3; do
    want_code "$job.$i" 143
    want "$job.$i" "$job-$i.* has left the job, which goes on"
    want_report "$job.$i" 'has left the job, which goes on","exit_code":143'
  done
  want "$job.0" 'epoch [0-9]+: 1 node and 1 rank '
  want_code "$job.0" 0 120
  same_as_undisturbed 0
  want_not "$job.0" 'is lost|memory is not used'
}

# SIGKILL to all of a pod, and another pod under its name; SIGKILL to a container that starts again in its pod.
case_killed() {
  for i in 2 1 0; do set_pod $i 1; done
  until_step 10
  podctl kill9 "$job.2"
  size_is 2
  set_pod 2 1
  size_is 3 "$job-2"
  until_step $(($(set_step) + 10))
  podctl restart "$job.1"
  size_is 2
  size_is 3 "$job-1"
  for i in 0 1 2; do want_code "$job.$i" 0 120; done
  want "$job.0" 'resume +step [0-9]+ from memory'
  same_as_undisturbed 60
  want_not "$job.0" 'memory is not used'
}

# An eviction: the pod leaves, and another one under its name joins. With too few left, the job saves a checkpoint and ends.
case_evicted() {
  for i in 2 1 0; do set_pod $i 2; done
  until_step 10
  set_delete 2
  want_code "$job.2" 143
  size_is 2
  set_pod 2 2
  size_is 3 "$job-2"
  until_step $(($(set_step) + 10))
  set_delete 1 2
  for i in 0 1 2; do
    want_code "$job.$i" 143
    want_report "$job.$i" '"exit_code":143'
  done
  want "$job.0" 'checkpoint: step [0-9]+ saved'
  mv "$dir/run.$job/run" "$dir/run.$job/before"
  for i in 2 1 0; do set_pod $i 2; done
  for i in 0 1 2; do want_code "$job.$i" 0 120; done
  want "$job.0" 'checkpoint: step [0-9]+ resumed'
  for i in "$dir/run.$job"/before/*.jsonl; do cat "$i" >> "$dir/run.$job/run/${i##*/}"; done
  same_as_undisturbed 0
}

[ $# -gt 0 ] || set -- scaled killed evicted
cases_run 1 "$@"
