#!/usr/bin/env bash
# Jobs under the operators, emulated: their files, modes, variables and start orders, the command lines of their manifests, real
# sshd of OpenSSH, names by a cluster's DNS. All at once, each with its own pods. `--all`, the long form: every substrate also
# runs the tiny training, its exit codes are looked at, and a table goes to standard output.
set -u
. "$DS_SOURCE/tests/e2e/operators/operators.sh"
pods_need
for tool in /usr/sbin/sshd ssh-keygen; do
  command -v "$tool" >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
done
dir=$(mktemp -d)
trap 'pods_down; rm -rf "$dir"' EXIT
all=
[ "${1:-}" != --all ] || all=1
die() {
  echo "FAILED: $*"
  for pod in $(podctl list); do echo "--- $pod (exit code $(podctl code "$pod"))"; podctl logs "$pod" | tail -n 30; done
  exit 1
}
# launch COMMAND...: the launcher pod of the job
declare -A launchers=()
launch() {
  launchers[$job]=$launcher_name
  podctl create "$launcher_name" "${launcher[@]}" -- "$@"
}
# ready: the workers' records appear, one after the other
ready() {
  local name
  for name in "${workers[@]}"; do podctl ready "$name"; done
}
# ended JOB CODE WHAT: its launcher's end; then `said` and `said_not` are of its log
ended() {
  job=$1
  podctl wait "${patience:-30}" "${launchers[$job]}" || die "$3: the launcher goes on"
  [ "$(podctl code "${launchers[$job]}")" = "$2" ] || die "$3: exit code $(podctl code "${launchers[$job]}"), not $2"
}
said() { podctl logs "${launchers[$job]}" | grep -qE -- "$1" || die "$job: no line like: $1"; }
said_not() { ! podctl logs "${launchers[$job]}" | grep -E -- "$1" || die "$job: a line like: $1"; }
# ran WORLD [HOST...]: a line of every rank, each on its host and as user $user
ran() {
  local world=$1 rank=0 host
  shift
  for host in "$@"; do
    said "^\[$rank\] rank $rank of $world on $host as ${user:-0}\$"
    rank=$((rank + 1))
  done
  [ "$rank" = "$world" ] || die "the test itself: $rank hosts for $world ranks"
}
op_up "$dir" || exit 1
show='echo "rank $RANK of $WORLD_SIZE on $(uname -n) as $(id -u)"; env | sed "s/^/env /"'
blanked='env (NVIDIA_|K_MPI_JOB_ROLE|OMPI_MCA_|I_MPI_|HYDRA_|VC_|VK_|KUBERNETES_|JOB_COMPLETION_INDEX|WORKER_ONLY)'

# MPIJob, Open MPI: the launcher before its workers, as AtStartup has it: first no record, then no sshd, then one of both.
mpi_operator bert OpenMPI 2 1
launch dslaunch --hostfile "$hostfile" -x GIVEN=1 -- sh -c "$show"
op_workers
ready
# Intel's form of the list, two ranks a worker.
mpi_operator intel Intel 1 2
op_workers
ready
launch dslaunch --hostfile "$hostfile" -- sh -c "$show"
# etjob: a service for each worker, RSA of 1024 bits below a subPath; workers first.
et_operator et 2 1
op_workers
ready
launch sh -c "dslaunch --hostfile $hostfile -- sh -c '$show'"
# Volcano: the launcher is the task master, and the list has no newline at its end.
volcano vc 2 1
op_workers
launch dslaunch --hostfile "$hostfile" -- sh -c "$show"
ready
# Trainer's torch runtime: torchrun in every pod, the last one first.
trainer_torch tt 2 1
for index in 1 0; do
  torch_node $index torchrun /data/configs/tiny.toml train.steps=6
done

ended bert 0 "an MPIJob"
ran 2 bert-worker-0 bert-worker-1
said 'env GIVEN=1$'
said_not "$blanked|warning"
ended intel 0 "an MPIJob of Intel MPI"
ran 2 intel-worker-0 intel-worker-0
said_not "$blanked|warning"
ended et 0 "an etjob"
ran 2 et-worker-0 et-worker-1
said_not "$blanked"
ended vc 0 "a job of Volcano"
ran 2 vc-worker-0 vc-worker-1
said_not "$blanked"
podctl wait 60 tt-node-0-0 tt-node-0-1 || die "a TrainJob of the torch runtime goes on"
for index in 0 1; do
  [ "$(podctl code tt-node-0-$index)" = 0 ] || die "torchrun in pod $index: exit code $(podctl code tt-node-0-$index)"
done
echo "operators: all passed"
