#!/usr/bin/env bash
# Tests srun steps: dslaunch and dsrunner take their rank from the step; scripts, shells and one-task steps do not.
set -u
source "$(dirname "$0")/cluster.sh"
start_cluster
# One allocation for all steps: a job of its own takes Slurm a second each.
salloc --quiet --no-shell -N4 --ntasks-per-node=4 || die "salloc"
export SLURM_JOB_ID=$(squeue -h -o %A)

# A rank's variables, one line a rank, by rank.
show='echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK $MASTER_ADDR:$MASTER_PORT $DSLAUNCH_EPOCH $SLURMD_NODENAME'
run srun -N2 -n3 "$dslaunch" -- bash -c "$show"
expect 0 "srun dslaunch"
port=$(sed -n 's/.*n1:\([0-9]*\) .*/\1/p' out | sort -u)
[ "$(sort out)" = "0/3 0/2 0 n1:$port 0 n1
1/3 1/2 0 n1:$port 0 n1
2/3 0/1 1 n1:$port 0 n2" ] || die "ranks of a step"
[ "$port" -ge 16384 ] && [ "$port" -lt 32768 ] || die "MASTER_PORT $port"

# Other numbers, in the order of a cyclic distribution, and with what the user sets.
MASTER_PORT=29511 run srun -N2 -n4 --ntasks-per-node=2 -m cyclic "$dslaunch" -x WORD=yes -- bash -c 'echo $RANK $LOCAL_RANK $NODE_RANK $MASTER_PORT $WORD'
expect 0 "srun -m cyclic"
[ "$(sort out | tr '\n' ';')" = "0 0 0 29511 yes;1 0 1 29511 yes;2 1 0 29511 yes;3 1 1 29511 yes;" ] || die "cyclic ranks"

# Each exits by itself, and srun says how.
run srun -N1 -n2 "$dslaunch" -- bash -c 'exit $((40 + RANK))'
[ "$rc" = 41 ] || die "exit code of a rank: $rc"
run srun -n2 "$dslaunch" -- /no/such/program
[ "$rc" = 127 ] || die "a program that is missing: $rc"
run srun -n2 "$dslaunch" --hostfile hosts -- true
expect 64 "--hostfile in a step"
grep -q 'hostfile is not available: srun started this process as one of 2 ranks' err || die "no word about --hostfile"

# One task is a launcher, on this allocation's node.
run srun -N1 -n1 "$dslaunch" -n 2 -H localhost:2 -- bash -c 'echo $RANK/$WORLD_SIZE'
expect 0 "a launcher in a step of one task"
[ "$(sort out | tr '\n' ' ')" = "[0] 0/2 [1] 1/2 " ] || die "a launcher in a step of one task"

# The training, whose ranks meet at the first node: the loss is that of the same job on this machine.
tiny=(configs/tiny.toml train.steps=6)
cd "$DS_SOURCE" || exit 1
loss() { grep -o 'loss [0-9.]*' "$1" | tail -n 1; }
run srun -N4 -n4 "$DS_BIN/dsrunner" "${tiny[@]}" "log.dir=$work/step"
expect 0 "srun dsrunner"
cp "$work/out" "$work/step.out"
run env -u SLURM_JOB_ID "$dslaunch" -n 4 "${tiny[@]}" "log.dir=$work/here"
expect 0 "dslaunch -n 4"
[ -n "$(loss "$work/out")" ] && [ "$(loss "$work/out")" = "$(loss "$work/step.out")" ] || die "loss: $(loss "$work/step.out"), not $(loss "$work/out")"
echo "ok: ranks of a step; $(loss "$work/out")"
