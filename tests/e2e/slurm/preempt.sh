#!/usr/bin/env bash
# Tests preemption and the time limit of a real Slurm with a user program: it saves its state when asked, and continues
# after each requeue without losing a step. preempt_training.sh does the same with a train.toml.
set -u
source "$(dirname "$0")/cluster.sh"
CPUS=1 start_cluster
export DSLAUNCH=$dslaunch OUT=$work/steps

# Ten steps a second, each once in the log; USR1 or TERM: save and leave with 143.
cat > rank.sh << 'RANK'
step=$(cat "state.$RANK" 2> /dev/null || echo 0)
echo "start $RANK epoch $DSLAUNCH_EPOCH restart $TORCHELASTIC_RESTART_COUNT from $step" >> "$OUT"
trap 'leave=USR1' USR1
trap 'leave=TERM; echo "TERM $RANK" >> "$OUT"' TERM
leave=
while [ $step -lt 100 ]; do
  sleep 0.1
  step=$((step + 1))
  echo "step $RANK $step" >> "$OUT"
  if [ -n "$leave" ]; then
    echo $step > "state.$RANK"
    echo "saved $RANK $step $leave" >> "$OUT"
    for _ in {1..15}; do sleep 0.1; done # a second signal would be seen
    exit 143
  fi
done
RANK
lines() { [ -e "$OUT" ] && [ "$(grep -c "$1" "$OUT")" -ge "$2" ]; }
restarts() { scontrol show job "$job" | grep -q "Restarts=$1 "; }
# Slurm holds a job that was queued again back for two minutes, once the last run is all over; we do not wait for it.
starts_now() {
  # The last run's script is still being cleared away for a moment: a start would fail then.
  nodes_idle && sleep 1 && scontrol update JobId="$job" StartTime=now 2> /dev/null
  sleep 0.3
  lines "start . epoch $1" 4
}
again() {
  until_true 30 restarts "$1" || { cat "$OUT"; scontrol show job "$job"; die "not queued again $2"; }
  until_true 30 starts_now "${1}000000" || { cat "$OUT"; scontrol show job "$job"; die "not resumed $2"; }
}
gone() { [ -z "$(squeue -h -t PD,R,CG,S -j "$1" 2> /dev/null)" ]; }

job=$(sbatch --parsable -N4 --ntasks-per-node=1 -o "$work/out" "$DS_SOURCE/containers/slurm/requeue.sbatch" bash "$work/rank.sh") ||
  die "sbatch"
until_true 20 lines '^step 3 3$' 1 || die "the job does not start"

# A job of the partition high needs the nodes: TERM, state saved within GraceTime, queued again, resumed.
high=$(sbatch --parsable -p high -N4 -o /dev/null --wrap 'sleep 0.5') || die "sbatch -p high"
again 1 "after pre-emption"
[ "$(grep -c '^saved . .* TERM' "$OUT")" = 4 ] || { cat "$OUT"; die "not all ranks have saved their state"; }
[ "$(grep -c '^TERM' "$OUT")" = 4 ] || { cat "$OUT"; die "not each rank has TERM once"; }
gone "$high" || die "the job of high has not run first"

# The end of the time is near: --signal=B:USR1@120 tells the script, and so dslaunch, and so all ranks.
until_true 20 lines '^step 3 20$' 1 || die "the second run does not get on"
scancel --batch --signal=USR1 "$job"
again 2 "after USR1"
until_true 30 gone "$job" || die "the job does not end"
for rank in 0 1 2 3; do
  [ "$(grep "^step $rank " "$OUT" | cut -d ' ' -f 3 | tr '\n' ' ')" = "$(seq -s ' ' 100) " ] || { cat "$OUT"; die "steps of rank $rank"; }
done
grep '^start' "$OUT" | grep -v 'restart 0 ' && die "a requeue counts as a restart inside of the job"
scontrol show job "$job" | grep -q 'JobState=COMPLETED.*' || die "state of the job"
echo "ok: 100 steps of 4 ranks, each once, in three runs: $(grep '^start 0' "$OUT" | sed 's/.*from/from/' | tr '\n' ' ')"
