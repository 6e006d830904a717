#!/usr/bin/env bash
# Tests training in the pods of every substrate without ssh: losses and weights equal those of one machine.
#   training.sh [PODS]      2 for each job unless told
set -u
. "$(dirname "$0")/cases.sh"
count=${1:-2}
cases_begin
export DSLAUNCH_CUDA_PLUGIN=none
mkdir "$dir/data"
cp "$DS_SOURCE/README.md" "$dir/data/"
mkdir "$dir/data/configs"
cp "$DS_SOURCE/configs/tiny.toml" "$dir/data/configs/"
"$DS_BIN/dslaunch" --host "localhost:$count" "$dir/data/configs/tiny.toml" "log.dir=$dir/one_machine" > "$dir/one_machine.out" 2>&1 ||
  { echo "FAIL: on one machine: $(cat "$dir/one_machine.out")"; exit 1; }
facts() { sed -nE 's/^ *("(train_loss|weights_hash|world_size|steps)": .*[^,]),?$/\1/p' "$1/summary.json" 2> /dev/null; }
[ "$(facts "$dir/one_machine" | wc -l)" = 4 ] || { echo "FAIL: the run on one machine has no results"; exit 1; }

train_in() {
  local i
  mkdir -m 777 "$dir/run.$job"
  for ((i = count - 1; i >= 0; i--)); do # the root comes last
    agent "$1" "$i" "$count" "${@:2}" --env DSLAUNCH_CUDA_PLUGIN=none --mount /data="$dir/data" --mount /runs="$dir/run.$job" -- \
      /data/configs/tiny.toml log.dir=/runs/run
  done
  for ((i = 0; i < count; i++)); do want_code "$job.$i" 0 100; done
  [ "$(facts "$dir/run.$job/run")" = "$(facts "$dir/one_machine")" ] ||
    fail "not the results of one machine: $(facts "$dir/run.$job/run" | tr '\n' ' '), expected $(facts "$dir/one_machine" | tr '\n' ' ')"
  want "$job.0" '\[0\] done after 20 steps'
  for ((i = 0; i < count; i++)); do want_report "$job.$i" '"exit_code": ?0'; done
}
for kind in $substrates; do eval "case_$kind() { train_in $kind; }"; done
case_ipv6() { train_in statefulset --families 6; }
case_restricted() { train_in indexed --restricted --uid 1000; }

# TERM to one pod (an eviction): saved at the end of a step, all pods end with 143 and name the checkpoint; the pods that
# replace them resume there, and what they come to is what a run without any end would have.
evicted_pods() { # VERB: create, replace
  local i
  for ((i = count - 1; i >= 0; i--)); do
    [ "$1" != replace ] || { podctl replace "$job.$i"; continue; }
    agent indexed "$i" "$count" --env DSLAUNCH_CUDA_PLUGIN=none --env DSLAUNCH_TEST_WIRE=rate=2000M,latency=30ms \
      --mount /data="$dir/data" --mount /runs="$dir/run.$job" -- \
      /data/configs/tiny.toml log.dir=/runs/run checkpoint.dir=/runs/ck
  done
}
case_evicted() {
  local i
  mkdir -m 777 "$dir/run.$job"
  evicted_pods create
  until_line 60 "$job.0" '\[0\] step +3/20'
  podctl term "$job.$((count - 1))"
  for ((i = 0; i < count; i++)); do
    want_code "$job.$i" 143
    want_report "$job.$i" '"exit_code":143,.*"step":[0-9]+,"checkpoint":"/runs/ck/step-000000[01][0-9]"'
  done
  saved=$(< "$dir/run.$job/ck/latest")
  want "$job.0" "checkpoint: step [0-9]+ saved in /runs/ck/$saved"
  evicted_pods replace
  for ((i = 0; i < count; i++)); do want_code "$job.$i" 0 100; done
  want "$job.0" "checkpoint: step [0-9]+ resumed from /runs/ck/$saved"
  want_report "$job.0" '"checkpoint":"/runs/ck/step-00000020"'
  [ "$(facts "$dir/run.$job/run" | grep weights_hash)" = "$(facts "$dir/one_machine" | grep weights_hash)" ] ||
    fail "other weights than without an eviction"
}
cases_run 4 $substrates ipv6 restricted evicted
