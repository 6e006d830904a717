# Sourced by tests: emulates what operators put into pods of podctl, after their sources: files, modes, owners, variables,
# worker commands. volumes.sh creates the volumes.
#   op_up DIR                     a cluster whose pods have the image: sshd's settings, mpirun and its like, the tiny model
#   mpi_operator JOB IMPL WORKERS SLOTS        MPIJob v2beta1; IMPL: OpenMPI, Intel, MPICH; AS_WORKER=1: runLauncherAsWorker;
#                                              FSGROUP: of the pods, as Istio sets it
#   trainer_mpi JOB NODES SLOTS                TrainJob of the MPI runtime: launcher and nodes, uid 1000, port 2222
#   trainer_torch JOB NODES SLOTS              its stock torch runtime; torch_node K COMMAND... starts pod K
#   et_operator JOB WORKERS SLOTS              etjob: one service a worker; ATTACH=kubexec: without ssh
#   volcano JOB WORKERS SLOTS                  Volcano's plugins svc and ssh
# Each leaves the options of podctl create in the arrays `launcher` and `worker`, the names of its pods in `workers`, and the
# list's place in `hostfile`, the launcher pod's in `launcher_name`; op_workers creates the workers. Images are the test's own: nothing of an operator's image is here.

. "$DS_SOURCE/tests/e2e/pods/podctl.sh"
. "$DS_SOURCE/tests/e2e/operators/volumes.sh"

op_up() {
  local name
  op_dir=$1
  pods_up "$op_dir/pods" || return 1
  mkdir -p "$op_dir/empty" "$op_dir/names" "$op_dir/data/configs"
  for name in mpirun mpiexec mpiexec.hydra torchrun deepspeed; do
    ln -s /opt/dslaunch/bin/dslaunch "$op_dir/names/$name"
  done
  cp "$DS_SOURCE/configs/tiny.toml" "$op_dir/data/configs/"
  cp "$DS_SOURCE/configs/tiny.toml" "$op_dir/data/configs/quickstart.toml" # what manifests name, made small
  cp "$DS_SOURCE/README.md" "$op_dir/data/"
  # The image, as containers/docker/prepare.sh makes it; OpenSSH's sshd lies elsewhere, since /usr is this machine's.
  local ssh=$DS_SOURCE/containers/docker/ssh
  rm -rf "$PODS"/image/etc/ssh/*
  mkdir -p "$PODS/image/etc/ssh/ssh_config.d" "$op_dir/openssh"
  cp /usr/sbin/sshd "$op_dir/openssh/sshd.openssh"
  sed 's,^real=.*,real=/opt/openssh/sshd.openssh,' "$ssh/sshd" > "$op_dir/openssh/sshd"
  grep -q '^real=/opt/openssh' "$op_dir/openssh/sshd" || { echo "the image's sshd has another form" >&2; return 1; }
  chmod 755 "$op_dir/openssh/sshd"
  cp "$ssh/sshd_config" "$PODS/image/etc/ssh/sshd_config"
  cp "$ssh/ssh_config" "$PODS/image/etc/ssh/ssh_config.d/dslaunch.conf"
  echo 'Include /etc/ssh/ssh_config.d/*.conf' > "$PODS/image/etc/ssh/ssh_config" # as Debian's
  op_image=(--mount-ro /usr/local/bin="$op_dir/names" --mount-ro /opt/openssh="$op_dir/openssh"
    --mount-ro /usr/sbin/sshd="$op_dir/openssh/sshd" --mount-ro /data="$op_dir/data" --mount-ro /opt/dslaunch/configs="$op_dir/data/configs" --mount-ro /opt/dslaunch/README.md="$op_dir/data/README.md" --mount-ro /run/sshd="$op_dir/empty" --workdir /tmp
    --file /home/mpiuser/.sshd_config="$ssh/mpiuser.sshd_config" 0644:1000:1000)
}

# manifest_command KIND: the launcher's command of containers/k8s/KIND.yaml, into the array `command`.
manifest_command() {
  mapfile -d '' command < <(python3 - "$DS_SOURCE/containers/k8s/$1.yaml" << 'END'
import sys, yaml
for part in yaml.safe_load_all(open(sys.argv[1])):
    spec = part["spec"]
    if part["kind"] == "MPIJob":
        words = spec["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0]["command"]
    elif part["kind"] == "TrainJob":
        words = spec["trainer"]["command"]
    elif part["kind"] == "TrainingJob":
        words = spec["etReplicaSpecs"]["launcher"]["template"]["spec"]["containers"][0]["command"]
    else:
        continue
    sys.stdout.write("".join(word + "\0" for word in words))
END
  )
  [ ${#command[@]} -gt 0 ]
}

# op_key KIND: the Secret of a job, as id_rsa, id_rsa.pub, authorized_keys in its folder `secret`.
op_key() {
  mkdir -p "$op_dir/$job/secret"
  make_key "$1" "$op_dir/$job/secret/id_rsa"
  cp "$op_dir/$job/secret/id_rsa.pub" "$op_dir/$job/secret/authorized_keys"
}

op_workers() {
  local name starting=()
  for name in "${workers[@]}"; do
    op_worker "$name" &
    starting+=($!)
  done
  wait "${starting[@]}"
}
# Of those whose service has the worker's own name.
op_worker() {
  if [ "$op_service" = own ]; then set -- "$1" --service "$1"; fi
  podctl create "$@" "${worker[@]}" -- "${worker_command[@]}"
}

mpi_operator() {
  job=$1
  local impl=$2 count=$3 slots=$4 i name colon=" slots="
  op_service=job workers=() hostfile=/etc/mpi/hostfile launcher_name=$1-launcher
  op_key ec521
  [ "$impl" = OpenMPI ] || colon=:
  : > "$op_dir/$job/hostfile"
  printf '#!/bin/sh\n' > "$op_dir/$job/discover_hosts.sh"
  [ -z "${AS_WORKER:-}" ] || echo "$job-launcher.$job.default.svc$colon$slots" >> "$op_dir/$job/hostfile"
  for ((i = 0; i < count; i++)); do
    name=$job-worker-$i
    workers+=("$name")
    echo "$name.$job.default.svc$colon$slots" >> "$op_dir/$job/hostfile"
    echo "echo $name.$job.default.svc" >> "$op_dir/$job/discover_hosts.sh"
  done
  volume_write "$op_dir/$job/etc-mpi" 0644 "" hostfile@0444="$op_dir/$job/hostfile" discover_hosts.sh@0555="$op_dir/$job/discover_hosts.sh"
  volume_write "$op_dir/$job/ssh-auth" 0600 "${FSGROUP:-}" $(op_secret)
  worker=("${op_image[@]}" --subdomain "$job" --not-ready --mount-ro /root/.ssh="$op_dir/$job/ssh-auth"
    --env K_MPI_JOB_ROLE=worker --env NVIDIA_VISIBLE_DEVICES=all --env WORKER_ONLY=1)
  worker_command=(/usr/sbin/sshd -De)
  launcher=("${op_image[@]}" --mount-ro /root/.ssh="$op_dir/$job/ssh-auth" --mount-ro /etc/mpi="$op_dir/$job/etc-mpi"
    --env K_MPI_JOB_ROLE=launcher)
  if [ -n "${AS_WORKER:-}" ]; then launcher+=(--subdomain "$job"); else
    launcher+=(--env NVIDIA_VISIBLE_DEVICES= --env NVIDIA_DRIVER_CAPABILITIES=)
  fi
  case $impl in
    OpenMPI)
      launcher+=(--env OMPI_MCA_orte_keep_fqdn_hostnames=true --env OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile
        --env 'OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10' --env OMPI_MCA_orte_set_default_slots="$slots")
      ;;
    Intel)
      launcher+=(--env I_MPI_HYDRA_HOST_FILE=/etc/mpi/hostfile
        --env 'I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS=-o ConnectionAttempts=10' --env I_MPI_PERHOST="$slots")
      ;;
    MPICH)
      launcher+=(--env HYDRA_HOST_FILE=/etc/mpi/hostfile --env 'HYDRA_LAUNCH_EXTRA_ARGS=-o ConnectionAttempts=10')
      ;;
  esac
}

# The Secret's files as volume_write takes them, below folder $1 (none: at the top).
op_secret() {
  local file
  for file in id_rsa id_rsa.pub authorized_keys ${2:-}; do echo "${1:-}$file=$op_dir/$job/secret/$file"; done
}

trainer_mpi() {
  job=$1
  local nodes=$2 slots=$3 i
  op_service=job workers=() hostfile=/etc/mpi/hostfile launcher_name=$1-launcher-0-0
  op_key ec521
  echo "$job-launcher-0-0.$job slots=$slots" > "$op_dir/$job/hostfile"
  for ((i = 0; i < (nodes > 1 ? nodes - 1 : 1); i++)); do # numNodes 1 is a launcher and a node all the same
    workers+=("$job-node-0-$i")
    echo "$job-node-0-$i.$job slots=$slots" >> "$op_dir/$job/hostfile"
  done
  volume_write "$op_dir/$job/etc-mpi" 0644 1000 hostfile@0444="$op_dir/$job/hostfile"
  volume_write "$op_dir/$job/ssh-auth" 0640 1000 $(op_secret)
  worker=("${op_image[@]}" --subdomain "$job" --uid 1000 --fsgroup 1000
    --mount-ro /home/mpiuser/.ssh="$op_dir/$job/ssh-auth" --env JOB_COMPLETION_INDEX=0)
  worker_command=(/usr/sbin/sshd -De -f /home/mpiuser/.sshd_config)
  launcher=("${worker[@]}" --mount-ro /etc/mpi="$op_dir/$job/etc-mpi" --env OMPI_MCA_orte_keep_fqdn_hostnames=true
    --env OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile --env 'OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10'
    --env OMPI_MCA_orte_set_default_slots="$slots")
}

# trainer_torch JOB NODES SLOTS: the stock torch-distributed runtime: every pod runs the command itself, there is no launcher.
trainer_torch() {
  job=$1 torch_nodes=$2 torch_slots=$3
  local i
  op_service=job workers=()
  for ((i = 0; i < torch_nodes; i++)); do workers+=("$job-node-0-$i"); done
}
# torch_node K COMMAND...
torch_node() {
  local index=$1
  shift
  podctl create "$job-node-0-$index" "${op_image[@]}" --subdomain "$job" --env PET_NNODES="$torch_nodes" \
    --env PET_NPROC_PER_NODE="$torch_slots" --env PET_NODE_RANK="$index" --env JOB_COMPLETION_INDEX="$index" \
    --env PET_MASTER_ADDR="$job-node-0-0.$job" --env PET_MASTER_PORT=29500 --env DSLAUNCH_JOB_KEY="$(sha256sum <<< "$job" | cut -c1-64)" -- "$@"
}

et_operator() {
  job=$1
  local count=$2 slots=$3 i name
  op_service=own workers=() hostfile=/job/hostfile launcher_name=$1-launcher
  op_key rsa1024
  printf 'StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n' > "$op_dir/$job/secret/config"
  for ((i = 0; i < count; i++)); do
    name=$job-worker-$i
    workers+=("$name")
    echo "$name:$slots" >> "$op_dir/$job/hostfile"
    echo "$name slots=$slots" >> "$op_dir/$job/deepspeed-hostfile"
  done
  printf '#!/bin/bash\nwhile read line\ndo\necho $line\ndone < /etc/edl/hostfile\n' > "$op_dir/$job/discover_hosts.sh"
  printf '#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n/opt/kube/kubectl exec ${POD_NAME} --container et -- /bin/sh -c "$*"' > "$op_dir/$job/kubexec.sh"
  volume_write "$op_dir/$job/etc-mpi" 0644 "" hostfile@0444="$op_dir/$job/hostfile" discover_hosts.sh@0444="$op_dir/$job/discover_hosts.sh" \
    kubexec.sh@0555="$op_dir/$job/kubexec.sh" deepspeed-hostfile@0444="$op_dir/$job/deepspeed-hostfile"
  volume_write "$op_dir/$job/volume" 0600 "" $(op_secret .ssh/ config)
  # What the init container copies.
  mkdir "$op_dir/$job/job" "$op_dir/$job/edl"
  cp "$op_dir/$job/deepspeed-hostfile" "$op_dir/$job/job/hostfile"
  cp "$op_dir/$job/hostfile" "$op_dir/$job/discover_hosts.sh" "$op_dir/$job/edl/"
  chmod 600 "$op_dir/$job/job/hostfile" "$op_dir/$job/edl/hostfile"
  chmod +x "$op_dir/$job/edl/discover_hosts.sh"
  worker=("${op_image[@]}" --not-ready --mount-ro /root/.ssh="$(readlink -f "$op_dir/$job/volume/.ssh")")
  worker_command=(sh -c '/usr/sbin/sshd  && sleep 365d')
  [ "${ATTACH:-}" != kubexec ] || worker_command=(sh -c 'sleep 365d')
  launcher=("${worker[@]}" --mount-ro /etc/mpi="$op_dir/$job/etc-mpi" --mount /job="$op_dir/$job/job" --mount /etc/edl="$op_dir/$job/edl"
    --env workers="$count" --env gpus="$slots" --env minWorkers=1 --env maxWorkers=9)
}

volcano() {
  job=$1
  local count=$2 slots=$3 i hosts=
  op_service=job workers=() hostfile=/etc/volcano/worker.host launcher_name=$1-master-0
  op_key rsa2048
  { printf 'StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n'
    printf 'Host %s\n  HostName %s.%s\n' "$job-master-0" "$job-master-0" "$job"; } > "$op_dir/$job/secret/config"
  for ((i = 0; i < count; i++)); do
    workers+=("$job-worker-$i")
    hosts+=${hosts:+,}$job-worker-$i.$job
    printf 'Host %s\n  HostName %s.%s\n' "$job-worker-$i" "$job-worker-$i" "$job" >> "$op_dir/$job/secret/config"
  done
  printf '%s' "${hosts//,/$'\n'}" > "$op_dir/$job/worker.host" # without a newline at its end
  printf '%s' "$job-master-0.$job" > "$op_dir/$job/master.host"
  printf '%s' "$hosts" > "$op_dir/$job/hosts"
  printf '%s' "$count" > "$op_dir/$job/num"
  volume_write "$op_dir/$job/etc-volcano" 0644 "" worker.host="$op_dir/$job/worker.host" master.host="$op_dir/$job/master.host" \
    VC_WORKER_HOSTS="$op_dir/$job/hosts" VC_WORKER_NUM="$op_dir/$job/num"
  volume_write "$op_dir/$job/volume" 0600 "" $(op_secret .ssh/ config)
  worker=("${op_image[@]}" --subdomain "$job" --not-ready --mount-ro /root/.ssh="$(readlink -f "$op_dir/$job/volume/.ssh")"
    --mount-ro /etc/volcano="$op_dir/$job/etc-volcano" --env VC_WORKER_HOSTS="$hosts" --env VC_WORKER_NUM="$count"
    --env VC_MASTER_HOSTS="$job-master-0.$job" --env VC_MASTER_NUM=1)
  worker_command=(/usr/sbin/sshd -De)
  launcher=("${worker[@]}" --env VC_TASK_INDEX=0 --env VK_TASK_INDEX=0 --env MPI_HOST="$hosts")
}
