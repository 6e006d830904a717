#!/usr/bin/env bash
# Tests preemption and the time limit of a real Slurm with a training: TERM to its ranks or to dslaunch; the training saves,
# is requeued and resumes. Over all three runs each sample is used once.
set -u
source "$(dirname "$0")/cluster.sh"
source "$DS_SOURCE/tests/support/ledger.sh"
CPUS=1 start_cluster
export DSLAUNCH=$dslaunch DSLAUNCH_CUDA_PLUGIN=none DSLAUNCH_TEST_WIRE=rate=2000M,latency=4ms
cat "$DS_SOURCE"/launcher/*/*.h > text
cat > train.toml << 'END'
[model]
preset = "gpt-tiny"
[data]
train = "text"
validation = 0
seq_len = 32
[batch]
micro = 1
accum = 1
[schedule]
total = 1000000
[train]
steps = 1000000
[log]
every = 1
dir = "run"
samples = true
[device]
threads = 1
[checkpoint]
dir = "ck"
END
lines() { [ -e out ] && [ "$(grep -cE "$1" out)" -ge "$2" ]; }
restarts() { scontrol show job "$job" | grep -q "Restarts=$1 "; }
gone() { [ -z "$(squeue -h -t PD,R,CG,S -j "$1" 2> /dev/null)" ]; }
# Slurm holds a job that was queued again back for two minutes, once the last run is all over; we do not wait for it.
starts_now() {
  nodes_idle && sleep 1 && scontrol update JobId="$job" StartTime=now 2> /dev/null
  sleep 0.3
  lines 'checkpoint: step [0-9]+ resumed from' "$1"
}
# again RUN WHY: the checkpoint of the stop is complete, the job is queued again, and goes on there a few steps.
again() {
  until_true 60 restarts "$1" || { tail -n 20 out; die "not queued again $2"; }
  saved=$(newest ck)
  [ -n "$saved" ] && [ -e "ck/$saved/manifest.json" ] || { tail out; die "nothing saved $2"; }
  lines "stopped after $(step_of "$saved") steps" 1 || { tail out; die "$saved is not of the stop $2"; }
  [ "$1" = 1 ] || sed -i "s/^steps = .*/steps = $(($(step_of "$saved") + 5))/" train.toml
  until_true 60 starts_now "$1" || { tail -n 20 out; scontrol show job "$job"; die "not resumed $2"; }
  lines "step $(step_of "$saved") resumed from $work/ck/$saved" 1 || { grep resumed out; die "resumed elsewhere $2"; }
  until_true 60 lines "\[0\] step +$(($(step_of "$saved") + 3))/" 1 || { tail out; die "no steps $2"; }
}

job=$(sbatch --parsable -N4 --ntasks-per-node=1 -o "$work/out" "$DS_SOURCE/containers/slurm/requeue.sbatch" train.toml) || die "sbatch"
until_true 60 lines '\[0\] step +5/' 1 || { cat out; die "the job does not start"; }

# A job of the partition high needs the nodes: TERM to the ranks' nodes, saved within GraceTime, queued again, resumed.
high=$(sbatch --parsable -p high -N4 -o /dev/null --wrap 'sleep 0.5') || die "sbatch -p high"
again 1 "after pre-emption"
first=$saved
gone "$high" || die "the job of high has not run first"

# The end of the time is near: --signal=B:USR1@120 tells the script, and that dslaunch.
scancel --batch --signal=USR1 "$job"
again 2 "after USR1"
until_true 60 gone "$job" || { tail -n 20 out; die "the job does not end"; }
scontrol show job "$job" | grep -q 'JobState=COMPLETED' || { tail -n 20 out; die "state of the job"; }
samples_once 4 $(($(step_of "$saved") + 5))
[ "$(ls ck | grep -c tmp)" = 0 ] || die "half a checkpoint is left: $(ls ck)"
echo "ok: $(($(step_of "$saved") + 5)) steps of 4 ranks in three runs, saved at $(step_of "$first") and $(step_of "$saved"): each sample once"
