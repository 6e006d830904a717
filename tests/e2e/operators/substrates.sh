#!/usr/bin/env bash
# Tests jobs under emulated operators: their files, modes, variables and start orders, the command lines of their manifests,
# real OpenSSH servers, names by a cluster's DNS. All run in parallel, each with its own pods. `--all`, the long form, also
# runs the tiny training in every substrate, checks its exit codes, and prints a table.
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
  podctl wait "${patience:-90}" "${launchers[$job]}" || die "$3: the launcher goes on"
  [ "$(podctl code "${launchers[$job]}")" = "$2" ] || die "$3: exit code $(podctl code "${launchers[$job]}"), not $2"
}
said() { podctl logs "${launchers[$job]}" | grep -qE -- "$1" || die "$job: no line like: $1"; }
until_said() { # of the job that was launched last
  local i
  for ((i = 0; i < 600; i++)); do
    ! podctl logs "${launchers[$job]}" | grep -qE -- "$1" || return 0
    sleep 0.1
  done
  die "$job: not said within 60 s: $1"
}
said_not() { ! podctl logs "${launchers[$job]}" | grep -E -- "$1" || die "$job: a line like: $1"; }
# ran WORLD [HOST...]: a line of every rank, each on its host and as user $user
ran() {
  local world=$1 rank=0 host
  shift
  for host in "$@"; do
    said "^(\[$rank\] )?rank $rank of $world on $host as ${user:-0}\$"
    rank=$((rank + 1))
  done
  [ "$rank" = "$world" ] || die "the test itself: $rank hosts for $world ranks"
}
op_up "$dir" || exit 1
show='echo "rank $RANK of $WORLD_SIZE on $(uname -n) as $(id -u)"; env | sed "s/^/env /"'
blanked='env (NVIDIA_|K_MPI_JOB_ROLE|OMPI_MCA_(plm_|orte_keep|orte_default)|I_MPI_|HYDRA_|VC_|VK_|KUBERNETES_|JOB_COMPLETION_INDEX|WORKER_ONLY)'

# MPIJob, Open MPI: the launcher before its workers, as AtStartup has it: first no record, then no sshd, then one of both.
# fsGroup as Istio sets it: the key has mode 0640 and belongs to root, who runs.
FSGROUP=1337
mpi_operator bert OpenMPI 2 1
FSGROUP=
launch mpirun -np 2 --allow-run-as-root -x GIVEN=1 --bind-to none --mca btl_tcp_if_include eth0 sh -c "$show"
op_workers
ready
# One whose workers never come, and whose launcher is told to stop: it is the first process of its pod.
mpi_operator never OpenMPI 2 1
launch dslaunch -- true
# Intel's form of the list, two ranks a worker; its mpiexec takes all variables along, but none that is the launcher's pod's.
mpi_operator intel Intel 1 2
op_workers
ready
launch mpiexec.hydra -n 2 sh -c "$show"
# MPICH's form, and runLauncherAsWorker: the launcher is the first host of the list, and takes no ssh to itself; records are
# published before pods are ready, here before sshd runs.
AS_WORKER=1
mpi_operator mpich MPICH 1 1
AS_WORKER=
worker_command=(sh -c 'sleep 2; exec /usr/sbin/sshd -De')
op_workers
ready
launch mpiexec -n 2 sh -c "$show"
# Kubeflow Trainer: uid 1000, a key of mode 0640, port 2222; numNodes 1 is two pods all the same; the list has short names,
# which the pod's own /etc/hosts does not have.
trainer_mpi t1 1 1
op_workers
launch mpirun sh -c "$show"
# etjob: a service for each worker, RSA of 1024 bits below a subPath; workers first.
et_operator et 2 1
op_workers
ready
launch sh -c "dslaunch -- sh -c '$show'"
# Volcano: the launcher is the task master, and the list has no newline at its end.
volcano vc 2 1
op_workers
launcher+=(--env SHOW="$show")
launch sh -c 'mpiexec --allow-run-as-root --host $MPI_HOST -np 2 sh -c "$SHOW"' # as its examples do
ready
# Trainer's torch runtime: torchrun in every pod, the last one first.
trainer_torch tt 2 1
manifest_command trainjob-torch || die "the command of trainjob-torch.yaml"
for index in 1 0; do torch_node $index "${command[@]}" train.steps=6; done
# An etjob whose size changes: ScaleOut adds a worker and rewrites the list in place; ScaleIn deletes a worker at once, without grace.
et_operator es 2 1
op_workers
ready
launch dslaunch --nodes 1:4 --hostfile /etc/edl/hostfile --admit now --grace 2s -- \
  sh -c 'echo "epoch $DSLAUNCH_EPOCH rank $RANK of $WORLD_SIZE on $(uname -n)"; [ "$DSLAUNCH_EPOCH" = 2 ] || sleep 600'
until_said 'epoch 0 rank 1 of 2 on es-worker-1'
workers=(es-worker-2)
op_workers
ready
printf 'es-worker-%s:1\n' 0 1 2 > "$op_dir/es/edl/hostfile"
until_said 'epoch 1 rank 2 of 3 on es-worker-2'
printf 'es-worker-%s:1\n' 1 2 > "$op_dir/es/edl/hostfile"
podctl kill9 es-worker-0
podctl unready es-worker-0

ended bert 0 "an MPIJob"
ran 2 bert-worker-0 bert-worker-1
said 'env GIVEN=1$'
said_not "$blanked|warning"
podctl term never-launcher
ended never 143 "TERM to a launcher that waits"
ended intel 0 "an MPIJob of Intel MPI"
ran 2 intel-worker-0 intel-worker-0
said_not "$blanked|warning"
ended mpich 0 "an MPIJob whose launcher is a worker"
ran 2 mpich-launcher mpich-worker-0
user=1000
ended t1 0 "a TrainJob of the MPI runtime"
ran 2 t1-launcher-0-0 t1-node-0-0
user=0
ended et 0 "an etjob"
ran 2 et-worker-0 et-worker-1
said_not "$blanked"
ended es 0 "an etjob whose size changes"
for rank in 0 1; do said "epoch 2 rank $rank of 2 on es-worker-$((rank + 1))\$"; done
ended vc 0 "a job of Volcano"
ran 2 vc-worker-0 vc-worker-1
said_not "$blanked"
podctl wait 60 tt-node-0-0 tt-node-0-1 || die "a TrainJob of the torch runtime goes on"
for index in 0 1; do
  [ "$(podctl code tt-node-0-$index)" = 0 ] || die "torchrun in pod $index: exit code $(podctl code tt-node-0-$index)"
done
! podctl logs tt-node-0-0 | grep -a 'no DSLAUNCH_JOB_KEY' || die "the ranks of torchrun have no key"
[ -n "$all" ] || { echo "operators: all passed"; exit 0; }

# The long form. One substrate after the other, each with new pods.
rm -rf "$dir/pods.old"
finish() { # the pods of the job go
  local name
  for name in "$launcher_name" ${workers[@]+"${workers[@]}"}; do
    [ -e "$PODS/pods/$name" ] || continue
    podctl kill9 "$name"
    podctl unready "$name"
    pods_end_namespace "$(cat "$PODS/pods/$name/ns")"
  done
}
row() { echo "| $1 | $2 | $3 |"; }
steps=20
echo "| substrate | what | how it went |"
echo "|---|---|---|"
# trained JOB SUBSTRATE RANKS: the training is through, with the losses of all
trained() {
  ended "$1" 0 "$2"
  said "^(\\[0\\] )?job +$3 ranks"
  said "^(\\[0\\] )?done after $steps steps"
  row "$2" "the tiny training, $3 ranks" "$(podctl logs "${launchers[$1]}" | grep -o "step $steps/$steps  loss [0-9.]*" | head -n 1)"
}
trainer_torch torch 4 1
launcher_name=
for index in 3 2 1 0; do torch_node $index "${command[@]}" train.steps=$steps; done
launchers[torch]=torch-node-0-0
trained torch "TrainJob, torch runtime, torchrun in every pod" 4
podctl wait 20 "${workers[@]}" || die "torchrun goes on"
for pod in "${workers[@]}"; do [ "$(podctl code "$pod")" = 0 ] || die "torchrun in $pod"; done
train="/data/configs/tiny.toml train.steps=$steps"
manifest_command mpijob || die "the command of mpijob.yaml"
mpi_operator mpi-manifest OpenMPI 4 1
launch "${command[@]}"
op_workers
ready
trained "$job" "MPIJob, the words of containers/k8s, launcher first" 4
finish
for form in OpenMPI:mpirun Intel:mpiexec.hydra MPICH:mpiexec; do
  mpi_operator "mpi-${form#*:}" ${form%:*} 2 1
  launch ${form#*:} -n 2 $train
  op_workers
  ready
  trained "$job" "MPIJob, ${form/:/, }, launcher first" 2
  finish
done
manifest_command trainjob || die "the command of trainjob.yaml"
trainer_mpi t4 4 1
op_workers
launch "${command[@]}"
trained t4 "TrainJob, MPI runtime, the words of containers/k8s, uid 1000" 4
finish
et_operator et-train 2 1
op_workers
ready
manifest_command etjob || die "the command of etjob.yaml"
launch "${command[@]}"
trained et-train "etjob, ssh, the words of containers/k8s" 2
finish
et_operator et-deepspeed 2 1
op_workers
ready
launch sh -c "deepspeed $train"
trained et-deepspeed "etjob, ssh, deepspeed" 2
finish
volcano vc-train 3 1
op_workers
ready
launch sh -c "mpiexec --allow-run-as-root --host \$MPI_HOST -np 3 $train"
trained vc-train "Volcano, plugins svc and ssh" 3
finish

# etjob without ssh: kubexec.sh and its kubectl, which enters the pods. The launcher is a process of this machine.
ATTACH=kubexec
et_operator et-exec 2 1
op_workers
mkdir "$dir/kube"
cat >"$dir/kube/kubectl" <<END
#!/bin/bash
# kubectl exec [-i] POD --container et -- COMMAND...
export DS_BIN=$DS_BIN DS_SOURCE=$DS_SOURCE PODS=$PODS
shift
exec 3</dev/null
[ "\$1" != -i ] || { shift; exec 3<&0; }
pod=\$1
shift 4
exec "$DS_SOURCE/tests/e2e/pods/podctl" exec "\$pod" "\$@" <&3 3<&-
END
chmod 755 "$dir/kube/kubectl"
sed "s,/opt/kube,$dir/kube," "$dir/$job/etc-mpi/kubexec.sh" >"$dir/kube/kubexec.sh"
chmod 755 "$dir/kube/kubexec.sh"
OMPI_MCA_plm_rsh_agent=$dir/kube/kubexec.sh DSLAUNCH_RUNTIME_DIR=$dir/sockets "$DS_BIN/dslaunch" --hostfile "$dir/$job/job/hostfile" \
  --wdir /tmp -- /opt/dslaunch/bin/dsrunner $train >"$dir/out" 2>"$dir/err" </dev/null || die "etjob by kubexec: $(tail -n 20 "$dir/out" "$dir/err")"
grep -q "done after $steps steps" "$dir/out" || die "etjob by kubexec: $(tail -n 20 "$dir/out")"
row "etjob, kubexec.sh" "the tiny training, 2 ranks" "$(grep -o "step $steps/$steps  loss [0-9.]*" "$dir/out" | head -n 1)"
ATTACH=
finish

# How a job ends.
mpi_operator code OpenMPI 2 1
op_workers
ready
launch dslaunch -- sh -c '[ $RANK != 1 ] || exit 7; sleep 60'
ended code 7 "an exit code"
row "MPIJob" "a rank exits 7" "the launcher's exit code is 7"
finish
mpi_operator evict OpenMPI 2 1
op_workers
ready
launch dslaunch -- sh -c 'echo up; sleep 600'
podctl until 20 "$launcher_name" '\[1\] up' || die "evict: no start"
podctl until 20 "$launcher_name" '\[0\] up' || die "evict: no start"
began=$SECONDS
podctl kill9 "${workers[1]}"
pods_end_namespace "$(cat "$PODS/pods/${workers[1]}/ns")"
ended evict 69 "an evicted worker"
took=$((SECONDS - began))
[ "$(podctl ps "${workers[0]}" | grep -c 'sleep 600')" = 0 ] || die "evict: a rank is left on the other worker"
row "MPIJob" "a worker is evicted" "the launcher's exit code is 69, $took s later; no rank is left"
finish
mpi_operator term OpenMPI 2 1
op_workers
ready
launch dslaunch -- sh -c 'echo up; sleep 600'
podctl until 20 "$launcher_name" '\[1\] up' || die "term: no start"
podctl until 20 "$launcher_name" '\[0\] up' || die "term: no start"
podctl term "$launcher_name"
ended term 143 "TERM to the launcher, which is its pod's first process"
[ "$(podctl ps "${workers[0]}" | grep -c 'sleep 600')" = 0 ] || die "term: a rank is left"
row "MPIJob" "TERM to the launcher, its pod's first process" "the launcher's exit code is 143; no rank is left"
finish
echo "operators: all passed" >&2
