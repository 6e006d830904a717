#!/usr/bin/env bash
# Measures many pods of one job: all run before DNS has the root; time from its record until every rank has run.
#   scale.sh [PODS]      200
set -u
. "$(dirname "$0")/cases.sh"
count=${1:-200}
cases_begin
case_many() {
  local i begin asked names
  for ((i = 0; i < count; i++)); do agent indexed "$i" "$count" --not-ready -- -- sh -c 'echo rank $RANK ran'; done
  echo "made $count pods in $SECONDS s"
  sleep 3
  podctl ready "$job.0"
  begin=${EPOCHREALTIME/./}
  for ((i = 0; i < 1200; i++)); do
    [ "$(grep -c 'rank [0-9]* ran' "$PODS/pods/$job.0/log")" -lt "$count" ] || break
    sleep 0.05
  done
  echo "measured: all $count ranks ran $(((${EPOCHREALTIME/./} - begin) / 1000)) ms after the root's record; records and denials are kept $pods_ttl s"
  for ((i = 0; i < count; i++)); do want_code "$job.$i" 0; done
  echo "measured: all pods ended $(((${EPOCHREALTIME/./} - begin) / 1000)) ms after it"
  names=0
  for ((i = 1; i < count; i++)); do
    asked=$(podctl queries "$job.$i" | awk '{ print $2 }' | sort -u | wc -l)
    [ "$asked" -le "$names" ] || names=$asked
  done
  [ "$names" -le 3 ] || fail "a pod looks up $names names"
  echo "measured: at most $names names a pod, $(podctl queries | awk '{ n += $1 } END { print n }') questions of all"
}
cases_run 1 many
