#!/usr/bin/env bash
# Tests jobs inside real allocations: salloc, sbatch with the scripts of containers/slurm, unequal tasks, GPUs, a
# heterogeneous job, spares, the time limit, and the training.
set -u
source "$(dirname "$0")/cluster.sh"
source "$DS_SOURCE/tests/e2e/slurm/in_allocations.sh"  # cluster.sh has left this folder
start_cluster

# salloc from a machine that is no node: unequal tasks are the slots.
in_allocation -N2 -n3 "$dslaunch" -- bash -c 'echo $RANK/$WORLD_SIZE $LOCAL_RANK $SLURMD_NODENAME $SLURM_JOB_ID ${SLURM_PROCID-none} $DSLAUNCH_EPOCH $TORCHELASTIC_RESTART_COUNT'
expect 0 "salloc"
job=$(sed -n 's/.* \([0-9]*\) none 0 0$/\1/p' out | head -n 1)
[ "$(sort out)" = "[0] 0/3 0 n1 $job none 0 0
[1] 1/3 1 n1 $job none 0 0
[2] 2/3 0 n2 $job none 0 0" ] || die "ranks of unequal tasks"
grep -q "^dslaunch: hosts: 1 x 2 + 1 x 1 from Slurm job $job (SLURM_JOB_NODELIST, slots from SLURM_TASKS_PER_NODE)$" err || die "no line about the hosts"
grep -q 'srun' err && die "srun has said something"

# GPUs are the slots, and each node's are seen; some nodes alone; the first failure is the verdict.
in_allocation -N3 --gpus-per-node=2 "$dslaunch" --num-nodes 2 -- bash -c 'echo $RANK $CUDA_VISIBLE_DEVICES $SLURMD_NODENAME'
expect 0 "GPUs"
[ "$(sort out | tr '\n' ';')" = "[0] 0 0,1 n1;[1] 1 0,1 n1;[2] 2 0,1 n2;[3] 3 0,1 n2;" ] || die "ranks by GPUs"
in_allocation -N2 --gpus=3 "$dslaunch" -- bash -c 'echo $RANK $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES'
expect 0 "GPUs that differ from node to node"
grep -q "hosts: 2 x auto from Slurm job .* slots from SLURM_GPUS)" err || die "slots that the nodes say"

# MPI programs, by the agents that srun has started.
for library in mpich openmpi; do
  command -v "mpicc.$library" >/dev/null || { echo "not tested: mpicc.$library is not installed"; continue; }
  "mpicc.$library" -O1 -o "$work/of_$library" "$DS_SOURCE/tests/e2e/mpi/mpi_checks.c" || die "mpicc.$library"
  in_allocation -N2 -n3 "$dslaunch" -x UCX_TLS=tcp,sm,self -x OMPI_MCA_btl=tcp,self -x OMPI_MCA_btl_tcp_if_include=lo -- "$work/of_$library" collectives
  expect 0 "a program of $library"
  grep -q 'all checks passed, 3 ranks$' out || die "a program of $library: not one world of three"
done

# A spare stands in for a lost node; the end of the job's time is the deadline of --pre-signal.
in_allocation -N3 "$dslaunch" --spares 1 --max-restarts 1 -- bash -c '
  echo $RANK $DSLAUNCH_EPOCH $SLURMD_NODENAME
  [ $TORCHELASTIC_RESTART_COUNT = 1 ] || [ $RANK = 0 ] || kill -9 $PPID
  sleep 1'
expect 0 "a spare"
grep -q '^\[1\] 1 1 n3$' out || die "the spare n3 does not stand in"
in_allocation -N2 bash -c 'SLURM_JOB_END_TIME=$(($(date +%s) + 9)) exec "$DSLAUNCH" --grace 1s --pre-signal USR1@3s -- bash -c "$0"' \
  'trap "echo USR1; exit 0" USR1; while :; do sleep 0.1; done'
expect 0 "--pre-signal"
[ "$(sort out | tr '\n' ';')" = "[0] USR1;[1] USR1;" ] || die "USR1 before the end of the time"
in_allocation -N2 "$dslaunch" -- bash -c '[ $RANK = 0 ] && sleep 30; exit 7'
expect 7 "a failing rank"
grep -q '^dslaunch: rank 1 on n2: exited 7' err || die "the verdict does not name rank 1 on n2"
grep -q 'srun' err && die "srun complains of agents that ended as they should"

# The scripts, as they are.
cd "$DS_SOURCE" || exit 1
submit -N4 --ntasks-per-node=1 "$scripts/train.sbatch" configs/tiny.toml "log.dir=$work/train"
train=$job
submit "$scripts/het.sbatch"
het=$job
submit -N2 --ntasks-per-node=2 "$scripts/ranks_by_srun.sbatch" bash -c 'echo $RANK of $WORLD_SIZE'
ranks=$job
submit -N3 "$scripts/exec.sbatch" uname -s
exec=$job
cd "$work" || exit 1
finished $train
loss() { grep -o 'loss [0-9.]*' "$work/out" | tail -n 1; }
by_slurm=$(loss)
[ -n "$by_slurm" ] && [ "$(exit_code $train)" = 0 ] || die "train.sbatch"
finished $het
[ "$(grep -v '^dslaunch' out | sort | tr '\n' ';')" = "[0] learner 0 of 2: rank 0 of 4 on n1;[1] learner 1 of 2: rank 1 of 4 on n1;[2] actor 0 of 2: rank 2 of 4 on n2;[3] actor 1 of 2: rank 3 of 4 on n3;" ] || die "het.sbatch"
finished $ranks
[ "$(sort out | tr '\n' ';')" = "0 of 4;1 of 4;2 of 4;3 of 4;" ] || die "ranks_by_srun.sbatch"
finished $exec
grep -qx '\[0-2\] Linux' out || die "exec.sbatch"
run env -C "$DS_SOURCE" "$dslaunch" -n 4 configs/tiny.toml "log.dir=$work/here"
expect 0 "the training on one machine"
[ "$(loss)" = "$by_slurm" ] || die "final $(loss) on one machine, $by_slurm on four nodes"

echo "ok: $by_slurm"
