#!/usr/bin/env bash
# Short form of the pod tests: the verbs, training in each substrate, and the most important cases, in parallel, each script
# in its own cluster. The long form is results.sh.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/podctl.sh"
pods_need
dir=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2> /dev/null; wait; rm -rf "$dir"' EXIT # each of them ends its own cluster
part() {
  "$here/$1.sh" "${@:2}" > "$dir/$1" 2>&1 &
  pids+=($!)
  parts+=("$1")
}
parts=()
part self_test
part training
part rendezvous mpi missing records_late servfail wrong_job two_of_one_index token_hidden token_file launcher_pod ipv6_alone
part ends partition kill_root_replaced kill_worker_replaced term_worker term_waiting rank_fails restart_in_place idle
status=0
for i in "${!parts[@]}"; do
  wait "${pids[$i]}" || status=1
  sed "s/^/${parts[$i]}: /" "$dir/${parts[$i]}"
done
pids=()
exit $status
