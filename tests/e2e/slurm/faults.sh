#!/usr/bin/env bash
# Tests failures inside real allocations: scancel, a lost node, invalid input.
set -u
source "$(dirname "$0")/cluster.sh"
source "$DS_SOURCE/tests/e2e/slurm/in_allocations.sh"  # cluster.sh has left this folder
start_cluster

# scancel is one decision: every rank gets TERM and may finish what it does; nothing is left.
cat > rank.sh << 'RANK'
trap 'echo TERM $RANK >> $OUT; end=${end:-$((n + 10))}' TERM
trap 'echo USR1 $RANK >> $OUT' USR1
echo ready $RANK >> $OUT
n=0
end=
while [ -z "$end" ] || [ $n -lt $end ]; do sleep 0.1; n=$((n + 1)); done # a second TERM would be seen
exit 143
RANK
lines() { [ -e "$OUT" ] && [ "$(grep -c "$1" "$OUT")" = "$2" ]; }
export OUT=$work/cancelled
submit -N3 --ntasks-per-node=1 "$scripts/train.sbatch" -- bash "$work/rank.sh"
until_true 20 lines ready 3 || die "the ranks do not start"
# --signal without B: is for the steps: each rank has it once, and the agents live.
scancel --signal=USR1 $job
until_true 10 lines USR1 3 || die "USR1 does not reach the ranks"
scancel $job
finished $job
grep -q '^dslaunch: got SIGTERM\|^dslaunch: rank . on n.: exited 143' out || die "the verdict after scancel"
[ "$(grep TERM "$OUT" | sort -u | wc -l)" = 3 ] && [ "$(grep -c USR1 "$OUT")" = 3 ] || { cat "$OUT"; die "signals of the ranks"; }
pgrep -f "$work/rank.sh" > /dev/null && die "ranks are left after scancel"

# A node dies, daemon and all (its processes stop answering): our heartbeat finds it, and the verdict is 69.
export SLURMD_N2=$slurmd_n2
in_allocation -N3 bash -c '
  "$DSLAUNCH" --node-timeout 2s -- bash -c "echo up \$RANK >> $OUT.up; sleep 60" & job=$!
  for try in {1..200}; do
    [ ! -e "$OUT.up" ] || [ "$(wc -l < "$OUT.up")" -lt 3 ] || break
    sleep 0.1
  done
  sleep 0.5
  kill -9 $SLURMD_N2
  for pid in $(ps -eo pid,args | sed -n "s/^ *\([0-9]*\) slurmstepd.*/\1/p"); do
    tr "\0" "\n" < /proc/$pid/environ 2> /dev/null | grep -qx SLURMD_NODENAME=n2 && kill -STOP $pid
  done
  for file in $(grep -lsz "^SLURMD_NODENAME=n2$" /proc/[0-9]*/environ); do
    pid=${file#/proc/}; kill -STOP ${pid%/environ}
  done
  start=$(date +%s%N)
  wait $job; code=$?
  echo "took $(( ($(date +%s%N) - start) / 1000000 )) ms"
  for file in $(grep -lsz "^SLURMD_NODENAME=n2$" /proc/[0-9]*/environ); do
    pid=${file#/proc/}; kill -KILL ${pid%/environ}
  done
  exit $code'
expect 69 "a lost node"
grep -q '^dslaunch: n2' err || grep -q 'n2.*lost\|n2.*silent' err || die "the verdict does not name n2"
echo "a lost node: $(grep took out)"

# Bad input: one message each.
bad() {
  local wanted=$1
  shift
  run env "$@" "$dslaunch" -- true
  expect 65 "$*"
  grep -qF "$wanted" err || die "$*: not said: $wanted"
}
bad 'SLURM_JOB_NODELIST is not set' SLURM_JOB_ID=17
bad 'SLURM_JOB_ID is 17, but SLURM_JOBID is 16' SLURM_JOB_ID=17 SLURM_JOBID=16 SLURM_JOB_NODELIST=n1
bad 'has 2 nodes, but SLURM_JOB_NUM_NODES is 3' SLURM_JOB_ID=17 SLURM_JOB_NODELIST='n[1-2]' SLURM_JOB_NUM_NODES=3
run "$dslaunch" --transport slurm -- true
expect 65 "--transport slurm outside"
run env SLURM_JOB_ID=999 SLURM_JOB_NODELIST=n1 "$dslaunch" -- true
expect 69 "a job that Slurm does not know"
grep -q 'Invalid job id' err || die "srun's reason is not told"
echo "ok"
