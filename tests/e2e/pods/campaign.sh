#!/usr/bin/env bash
# Campaign of random faults against one training in the pods of a StatefulSet whose size changes.
#   [DS_STEP_MS=25] campaign.sh SECONDS SEED [PODS]      8 pods; a step takes at least DS_STEP_MS
#
# Every few seconds something happens to a pod, or to several: processes or all of the pod are killed, it is frozen or cut off, evicted, the
# StatefulSet gets smaller or larger, DNS does not answer. The training must reach its last step with the loss and gradient norm of each
# step, the weights and the samples of the undisturbed run. Prints a line a fault, a table of the times by kind, and totals.
set -u
[ $# -ge 2 ] || { sed -n '2,8p' "$0"; exit 64; }
seconds=$1 seed=$2 pods=${3:-8}
command -v python3 > /dev/null || { echo "SKIP: needs python3"; exit 77; }
. "$(dirname "$0")/podctl.sh"
. "$(dirname "$0")/substrates.sh"
. "$(dirname "$0")/changing.sh"
pods_need
dir=$(mktemp -d)
trap 'exec 2> /dev/null; kill $(jobs -p); wait; pods_down; rm -rf "$dir"' EXIT
pods_up "$dir/cluster" || exit 1
RANDOM=$seed
token=$(printf '5e%.0s' $(seq 32))
job=campaign step_ms=${DS_STEP_MS:-25} least=1
steps=$((seconds * 1000 / step_ms))
changing_stage=$((RANDOM % 4))
now_ms() { echo "${EPOCHREALTIME/./}" | sed 's/...$//'; }

# What happens to a pod; each returns 1 where nothing can happen to it now. `away` names what is to be mended.
declare -A away=() work=()
fault_names=(kill_pod kill_rank kill_process freeze partition evict smaller two_pods restart dns)
is_there() { [ -z "${away[$1]:-}" ] && ! { [ -n "${work[$1]:-}" ] && kill -0 "${work[$1]}" 2> /dev/null; } && podctl running "$job.$1"; }
fault_kill_pod() { is_there "$1" && podctl kill9 "$job.$1" && away[$1]=pod; }
fault_kill_rank() { is_there "$1" && podctl kill9 "$job.$1" dsrunner 2> /dev/null; }
fault_kill_process() { # any but PID 1
  local all
  is_there "$1" || return 1
  mapfile -t all < <(podctl ps "$job.$1" | cut -d' ' -f1 | grep -vx "$(podctl pid "$job.$1")")
  [ ${#all[@]} -gt 0 ] && kill -9 "${all[RANDOM % ${#all[@]}]}" 2> /dev/null && away[$1]=container
}
fault_freeze() { is_there "$1" && podctl freeze "$job.$1" && away[$1]=frozen; }
fault_partition() { is_there "$1" && podctl partition "$job.$1" && away[$1]=cut; }
fault_evict() {
  is_there "$1" || return 1
  { podctl delete "$job.$1" 30; set_pod "$1" $least; } > /dev/null 2>&1 &
  work[$1]=$!
}
fault_smaller() { # the pods from this one on leave; mend brings them back
  local i some=1
  for ((i = pods - 1; i >= $1; i--)); do
    is_there "$i" || continue
    podctl delete "$job.$i" 60 > /dev/null 2>&1 &
    work[$i]=$! away[$i]=pod some=0
  done
  return $some
}
fault_two_pods() { # which may keep each other's copies
  local next=$(($1 % (pods - 1) + 1))
  is_there "$1" && is_there "$next" || return 1
  fault_kill_pod "$1"
  fault_kill_pod "$next"
}
fault_restart() { is_there "$1" && podctl restart "$job.$1"; }
fault_dns() { podctl dns drop && away[dns]=dns; }
mend() {
  case ${away[$1]} in
    pod) { [ -z "${work[$1]:-}" ] || ! kill -0 "${work[$1]}" 2> /dev/null; } && set_pod "$1" $least || return 0 ;;
    container) podctl running "$job.$1" || podctl restart "$job.$1" ;;
    frozen) podctl thaw "$job.$1" ;;
    cut) podctl heal "$job.$1" ;;
    dns) podctl dns ok ;;
  esac
  unset "away[$1]"
}
mend_all() { # BY_CHANCE: empty, everything
  local what
  for what in "${!away[@]}"; do
    if [ -z "$1" ] || [ $((RANDOM % 3)) -gt 0 ] || [ ${#away[@]} -gt $((pods / 2)) ]; then mend "$what"; fi
  done
}
# Waits at most $2 s for a step later than $1; prints the milliseconds since $3.
wait_step_after() {
  local until=$((SECONDS + $2))
  while [ "$(set_step)" -le "$1" ]; do
    podctl running "$job.0" && [ $SECONDS -lt $until ] || return 1
    sleep 0.02
  done
  echo $(($(now_ms) - $3))
}

changing_begin "$steps" "$pods" $step_ms
for ((i = pods - 1; i >= 0; i--)); do set_pod $i $least; done
wait_step_after 5 60 "$(now_ms)" > /dev/null || { echo "the job did not start"; podctl logs "$job.0"; exit 1; }
faults=0 bad=0
: > "$dir/times"
printf '%5s  %-14s  %-6s  %8s  %8s\n' fault kind pod step ms
end=$((SECONDS + seconds))
while [ $SECONDS -lt $end ] && podctl running "$job.0"; do
  sleep $((RANDOM % 4 + 1)).$((RANDOM % 10))
  kind=${fault_names[RANDOM % ${#fault_names[@]}]}
  pod=$((RANDOM % (pods - 1) + 1))
  [ $kind != kill_rank ] || pod=$((RANDOM % pods)) # the root's own rank, too
  [ "$(set_step)" -lt $((steps - 200)) ] || break
  at=$(now_ms)
  "fault_$kind" $pod || continue
  before=$(set_step) # steps that ended while it was done to the pod do not count
  faults=$((faults + 1))
  if took=$(wait_step_after $((before + 1)) 60 "$at"); then
    echo "$kind $took" >> "$dir/times"
  else
    took=- bad=$((bad + 1))
  fi
  printf '%5d  %-14s  %-6s  %8s  %8s\n' $faults $kind $pod "$before" "$took"
  mend_all by_chance
done
for pid in "${work[@]}"; do wait "$pid"; done
mend_all ''
podctl wait $((seconds + 120)) "$job.0" || { echo "BAD: the job does not end"; bad=$((bad + 1)); }
[ "$(podctl code "$job.0")" = 0 ] || { echo "BAD: exit code $(podctl code "$job.0")"; bad=$((bad + 1)); }
[ $bad -eq 0 ] || podctl logs "$job.0" | tail -n 15
for ((i = 1; i < pods; i++)); do
  podctl wait 20 "$job.$i" && [ "$(podctl code "$job.$i")" = 0 ] ||
    { echo "BAD: pod $i: $(podctl code "$job.$i"): $(podctl logs "$job.$i" | tail -n 3)"; bad=$((bad + 1)); }
done
set_history "$dir/times" || bad=$((bad + 1))
echo "stage $changing_stage, seed $seed: $faults faults, $bad bad, $steps steps"
[ $bad -eq 0 ]
