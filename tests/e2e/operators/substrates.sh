#!/usr/bin/env bash
# Jobs under the operators, emulated: their files, modes, variables and start orders, the command lines of their manifests, real
# sshd of OpenSSH, names by a cluster's DNS. `--all` is the long form: the training in every one of them.
set -u
. "$DS_SOURCE/tests/e2e/operators/operators.sh"
pods_need
command -v /usr/sbin/sshd >/dev/null && command -v ssh-keygen >/dev/null || { echo "SKIP: OpenSSH's server is not installed"; exit 77; }
dir=$(mktemp -d)
trap 'pods_down; rm -rf "$dir"' EXIT
all=
[ "${1:-}" != --all ] || all=1
die() {
  echo "FAILED: $*"
  for pod in $(podctl list); do echo "--- $pod (exit code $(podctl code "$pod"))"; podctl logs "$pod" | tail -n 30; done
  exit 1
}
# launch COMMAND...: the launcher pod of the job, in the background
launch() { podctl create "$job-launcher" "${launcher[@]}" -- "$@"; }
# ended CODE WHAT: the launcher's end
ended() {
  podctl wait "${patience:-20}" "$job-launcher" || die "$2: the launcher goes on"
  [ "$(podctl code "$job-launcher")" = "$1" ] || die "$2: exit code $(podctl code "$job-launcher"), not $1"
}
said() { podctl logs "$job-launcher" | grep -qE -- "$1" || die "$job: no line like: $1"; }
said_not() { ! podctl logs "$job-launcher" | grep -E -- "$1" || die "$job: a line like: $1"; }
# over: the pods of the job go
over() {
  local name
  for name in "$job-launcher" ${workers[@]+"${workers[@]}"}; do
    podctl kill9 "$name"
    pods_end_namespace "$(cat "$PODS/pods/$name/ns")"
    mv "$PODS/pods/$name" "$dir/old-$RANDOM$RANDOM"
  done
  pod_unready "$job-launcher" ${workers[@]+"${workers[@]}"}
}
op_up "$dir" || exit 1
show='echo "rank $RANK of $WORLD_SIZE on $(uname -n) as $(id -u)"'
hosts=(--hostfile /etc/mpi/hostfile)

# MPIJob: the launcher first, as AtStartup has it; then pods without a record, a record without sshd, one after the other.
mpi_operator bert OpenMPI 2 1
launch dslaunch "${hosts[@]}" -- sh -c "$show; env | sed 's/^/env /'"
op_workers
podctl ready "${workers[0]}"
podctl ready "${workers[1]}"
ended 0 "an MPIJob"
said '^\[0\] rank 0 of 2 on bert-worker-0 as 0$'
said '^\[1\] rank 1 of 2 on bert-worker-1 as 0$'
said_not 'env (NVIDIA_|K_MPI_JOB_ROLE|OMPI_MCA_|WORKER_ONLY)|warning'
over
echo "operators: all passed"
