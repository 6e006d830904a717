#!/usr/bin/env bash
# Tests a job that changes with its nodes inside a real Slurm: a node dies and returns, a node dies for good, nodes of another
# allocation join and leave. The steps of the training are those of one process.
set -u
source "$(dirname "$0")/cluster.sh"
source "$DS_SOURCE/tests/e2e/slurm/in_allocations.sh"  # cluster.sh has left this folder
source "$DS_SOURCE/tests/support/small_training.sh"
command -v python3 > /dev/null || skip "needs python3"
CPUS=1 KILL_WAIT=30 start_cluster
export DSLAUNCH_CUDA_PLUGIN=none
steps=900 # of 50 ms
cat "$DS_SOURCE"/launcher/*/*.h > text
small_training train.toml "$steps" 4 "checkpoint.dir = 'saves'" "checkpoint.every = 100" "log.dir = 'run'"
openssl rand -hex 32 > key
port=29417
says() { grep -qE -- "$1" job.err; }
wait_says() { until_true 40 says "$1" || { tail -n 40 job.err; die "not said: $1"; }; }
# goes_on: five more steps are made.
step_of() { tail -c 20000 run/metrics.jsonl 2> /dev/null | grep -o '"step": *[0-9]*' | tail -n 1 | grep -o '[0-9]*$' || echo 0; }
later_than() { [ "$(step_of)" -gt "$1" ]; }
goes_on() { until_true 40 later_than $(($(step_of) + 5)) || { tail -n 40 job.err; die "no more steps $1"; }; }
# dies NODE: its slurmd and all that Slurm has started there, at once.
dies() {
  local file pid name=slurmd_$1
  kill -9 "${!name}"
  for pid in $(ps -eo pid,args | sed -n "s/^ *\([0-9]*\) slurmstepd.*/\1/p"); do
    tr "\0" "\n" < "/proc/$pid/environ" 2> /dev/null | grep -qx "SLURMD_NODENAME=$1" && kill -9 "$pid"
  done
  for file in $(grep -lsz "^SLURMD_NODENAME=$1\$" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    kill -9 "${pid%/environ}"
  done 2> /dev/null
}

salloc -Q --no-kill -N3 "$dslaunch" --nodes 2:4 --node-timeout 2s --key-file key --join-port $port --verdict v.json train.toml \
  debug.slow_data=0:50 > job.out 2> job.err < /dev/null &
job=$!
until_true 60 later_than 10 || { cat job.err; die "the training does not start"; }
says 'ends the whole job [0-9]+ unless' || die "no advice about --no-kill"

# A node that dies and returns before slurmctld has noticed: a new step on it joins.
dies n2
wait_says 'epoch 1: 2 nodes and 2 ranks \(before: 3 and 3\)'
goes_on "without n2"
start_slurmd n2
wait_says 'epoch 2: 3 nodes and 3 ranks \(before: 2 and 2\); n2 joins'
goes_on "with n2 again"

# A node that is lost for good, also for Slurm: the job lives, because its allocation was made with --no-kill.
dies n3
wait_says 'epoch 3: 2 nodes and 2 ranks'
scontrol update NodeName=n3 State=DOWN Reason=test || die "scontrol"
goes_on "without n3"

# A node of another allocation joins by the key, and leaves when that allocation ends.
guest=$(sbatch --parsable -N1 -w n4 -o guest.out --wrap "srun $dslaunch agent --join --root 10.91.0.1:$port --key-file $work/key") || die "sbatch"
wait_says 'epoch 4: 3 nodes and 3 ranks \(before: 2 and 2\); n4 joins'
goes_on "with n4"
scancel "$guest"
wait_says 'epoch 5: 2 nodes and 2 ranks \(before: 3 and 3\)'
until_true 30 job_is_gone "$guest" || die "the second allocation does not end"
pgrep -f "dslaunch agent --join --root" > /dev/null && die "an agent is left on n4"
goes_on "without n4"

# An agent of another allocation on a node that the job's own allocation uses, and a wrong key, disturb nobody.
run env SLURMD_NODENAME=n1 "$dslaunch" agent --join --root 10.91.0.1:$port --key-file key --wait 5s
expect 65 "an agent with the name of a node of the job"
grep -q "n1 is a node of the job's own allocation.*--node-name NAME" err || die "the agent does not say which name clashes"
openssl rand -hex 32 > other_key
run env SLURMD_NODENAME=n9 "$dslaunch" agent --join --root 10.91.0.1:$port --key-file other_key --wait 2s
expect 69 "an agent with another key"
grep -q 'key' err || die "the agent with another key does not say why"

rc=0
wait "$job" || rc=$?
cp job.out out; cp job.err err
expect 0 "the elastic training"
says 'epoch 6' && die "a change too many"
says 'clean up leftover' && die "the launcher claims to wait for a node that is lost for good"
python3 - << 'END' || die "epochs in the verdict: $(cat v.json)"
import json
epochs = json.load(open("v.json"))["epochs"]
assert [e["nodes"] for e in epochs] == [3, 2, 3, 2, 3, 2], epochs
assert [e["cause"] for e in epochs] == ["start", "lost", "joined", "lost", "joined", "left"], epochs
assert not any(e["restart"] for e in epochs), epochs
END

# A node on which srun cannot start an agent: the job begins without it, and takes it when it answers.
start_slurmd n3
scontrol update NodeName=n3 State=RESUME
until_true 20 nodes_idle || die "the nodes do not become idle again"
kill -9 "$slurmd_n3"
cat > body.sh << 'BODY'
echo "epoch $DSLAUNCH_EPOCH rank $RANK of $WORLD_SIZE on $SLURMD_NODENAME"
while [ ! -e go.$DSLAUNCH_EPOCH ]; do sleep 0.05; done
exit $(cat go.$DSLAUNCH_EPOCH)
BODY
SALLOC_NO_KILL=set salloc -Q -N3 -w n1,n2,n3 "$dslaunch" --nodes 2:3 --node-timeout 2s -- bash body.sh > out 2> job.err < /dev/null &
job=$!
until_true 40 grep -q 'epoch 0 rank 1 of 2 on n2' out || die "the job does not begin without n3: $(cat job.err)"
says '--no-kill' && die "advice about --no-kill although the allocation has it"
start_slurmd n3
wait_says 'n3 is ready and joins at the next restart'
echo 94 > go.0
until_true 20 grep -q 'epoch 1 rank 2 of 3 on n3' out || die "n3 does not join"
echo 0 > go.1
wait "$job" || die "the job whose third node came late ends with $?"

# scancel of the job's own allocation stops the job; no epoch follows the ranks that have ended.
mv run disturbed
job=$(sbatch --parsable --no-kill -N2 -o out "$scripts/train.sbatch" --nodes 1:2 train.toml checkpoint.dir=other-saves debug.slow_data=0:50) || die "sbatch"
until_true 40 later_than 5 || die "the batch job does not start"
scancel "$job"
until_true 30 job_is_gone "$job" || die "the batch job does not end"
# Slurm signals the agents and the launcher at the same time.
grep -q 'was told to stop (SIGTERM); stopping the job\|^dslaunch: got SIGTERM; 2 ranks stopped' out || die "no line about scancel"
grep -q 'epoch 1' out && die "an epoch follows scancel"

"$dslaunch" -n 1 train.toml log.dir=reference checkpoint.dir=reference-saves determinism.virtual_ranks=4 > reference.out 2>&1 ||
  { tail reference.out; die "the reference run"; }
python3 "$DS_SOURCE/tests/e2e/elastic/check_history.py" reference disturbed --batch 4 || die "the steps differ from those of one process"
echo "ok: a node died and returned, one died for good, one of another allocation joined and left"
