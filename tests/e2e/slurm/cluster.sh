# Sourced first by tests: starts a real Slurm of four nodes on this machine.
#
#   start_cluster        munged, slurmctld, slurmd n1..n4 in a temporary folder ($cluster); exits 77 where there is none
#   stop_cluster         ends what start_cluster started; done at the script's exit by itself
#
# Nodes have $CPUS (4) CPUs and two GPUs, which are device files of /dev/null's kind. Partitions: low (default; its jobs
# are requeued when one of high needs the nodes, GraceTime 3 s) and high. The script runs in namespaces of its own:
# network (nobody's ports), mounts (an /etc/hosts with n1..n4), processes (nothing outlives it).
# Besides: $dslaunch, $work (a folder, the current one), die, run (fills out, err, rc), expect, until_true.

skip() { echo "SKIP: $*"; exit 77; }

[ "$(id -u)" -eq 0 ] || skip "slurmd and munged need root"
PATH=$PATH:/usr/sbin
for tool in slurmctld slurmd srun sbatch salloc scontrol squeue munged; do
  command -v "$tool" > /dev/null || skip "$tool is not installed (Debian: slurm-wlm, munge)"
done
if [ -z "${IN_CLUSTER:-}" ]; then
  unshare --mount --net --pid --fork true 2> /dev/null || skip "no namespaces can be made here"
  IN_CLUSTER=1 exec unshare --mount --net --pid --fork --mount-proc --kill-child "$BASH" "$0" "$@"
fi
# Addresses other than 127.*: look-ups for "an address family that is configured" (AI_ADDRCONFIG) fail without.
for host in 1 11 12 13 14; do ip address add 10.91.0.$host/32 dev lo; done
ip link set lo up

cluster=$(mktemp -d /tmp/slurm.XXXXXX)
cluster_pids=()
export SLURM_CONF=$cluster/slurm.conf
# What an outer Slurm may have left here would be taken for the job's.
unset $(env | sed -n 's/^\(SLURM_[A-Z0-9_]*\)=.*/\1/p' | grep -v '^SLURM_CONF$') SBATCH_PARTITION SALLOC_PARTITION

write_config() {
  local base=17000 node cpus=${CPUS:-4}
  chmod 755 "$cluster"
  printf '127.0.0.1 localhost\n10.91.0.1 %s\n' "$(hostname -s)" > "$cluster/hosts"
  for node in 1 2 3 4; do echo "10.91.0.1$node n$node" >> "$cluster/hosts"; done
  mount --bind "$cluster/hosts" /etc/hosts
  mkdir -p "$cluster"/{state,munge,log} "$cluster"/spool.n{1,2,3,4}
  dd if=/dev/urandom of="$cluster/munge/key" bs=128 count=1 status=none
  chmod 400 "$cluster/munge/key"
  chmod 711 "$cluster/munge"
  mknod "$cluster/gpu0" c 1 3 && mknod "$cluster/gpu1" c 1 5 || skip "no device files can be made here"
  cat > "$SLURM_CONF" << CONF
ClusterName=test
SlurmctldHost=$(hostname -s)(10.91.0.1)
SlurmctldPort=$base
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$cluster/munge/socket
CredType=cred/munge
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool.%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/slurmd.%n.pid
SlurmctldLogFile=$cluster/log/slurmctld
SlurmdLogFile=$cluster/log/slurmd.%n
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
ReturnToService=2
SchedulerParameters=sched_interval=1,bf_interval=1,sched_min_interval=0,batch_sched_delay=0,defer_batch
SchedulerTimeSlice=5
SlurmdTimeout=300
KillWait=${KILL_WAIT:-3}
MinJobAge=60
InactiveLimit=0
SlurmdParameters=config_overrides
GresTypes=gpu
NodeName=n[1-4] NodeHostname=$(hostname -s) NodeAddr=n[1-4] Port=[$((base + 1))-$((base + 4))] CPUs=$cpus RealMemory=1000 Gres=gpu:2 State=UNKNOWN
PartitionName=low Nodes=n[1-4] Default=YES PriorityTier=1 PreemptMode=REQUEUE GraceTime=3 MaxTime=60 DefaultTime=10 OverSubscribe=NO
PartitionName=high Nodes=n[1-4] PriorityTier=10 PreemptMode=OFF MaxTime=60 DefaultTime=10 OverSubscribe=NO
CONF
  echo "NodeName=n[1-4] Name=gpu Count=2 File=$cluster/gpu[0-1]" > "$cluster/gres.conf"
}

dslaunch="$DS_BIN/dslaunch"
work=$cluster/work
mkdir "$work"
cd "$work" || exit 1
export DSLAUNCH_RUNTIME_DIR="$work/.sockets"

die() {
  echo "FAILED: $*"
  for file in out err; do
    [ ! -s "$work/$file" ] || { echo "--- $file"; head -c 3000 "$work/$file"; }
  done
  squeue -l
  exit 1
}

# run COMMAND...: standard output to the file out, standard error to err, exit code to rc.
run() {
  rc=0
  "$@" > "$work/out" 2> "$work/err" < /dev/null || rc=$?
}

# expect CODE WHAT: the last run ended so.
expect() { [ "$rc" = "$1" ] || die "$2: exit code $rc, not $1"; }

# until_true SECONDS COMMAND...
until_true() {
  local end=$((SECONDS + $1)); shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.1
  done
}

nodes_idle() { [ "$(sinfo -h -o %t -N -p low 2> /dev/null | grep -c '^idle$')" -eq 4 ]; }

start_cluster() {
  trap stop_cluster EXIT
  write_config
  munged --foreground --force --key-file="$cluster/munge/key" --socket="$cluster/munge/socket" --pid-file="$cluster/munge/pid" \
    --seed-file="$cluster/munge/seed" --log-file="$cluster/munge/log" > "$cluster/log/munged.out" 2>&1 &
  cluster_pids+=($!)
  until_true 20 test -S "$cluster/munge/socket" || { cat "$cluster/log/munged.out" "$cluster/munge/log" >&2; echo "munged does not start" >&2; exit 1; }
  slurmctld -D -c > "$cluster/log/slurmctld.out" 2>&1 &
  cluster_pids+=($!)
  local node
  for node in n1 n2 n3 n4; do start_slurmd $node; done
  until_true 60 nodes_idle || { tail -n 15 "$cluster"/log/* >&2; sinfo -N -l >&2; echo "the nodes do not become idle" >&2; exit 1; }
}

start_slurmd() {
  slurmd -D -N "$1" > "$cluster/log/slurmd.$1.out" 2>&1 &
  cluster_pids+=($!)
  printf -v "slurmd_$1" %s $!
}

# Whatever else runs in our namespace of processes ends with this script, its first process.
stop_cluster() {
  local status=$?
  [ ${#cluster_pids[@]} -eq 0 ] || kill -9 "${cluster_pids[@]}" 2> /dev/null
  [ ${#cluster_pids[@]} -eq 0 ] || wait "${cluster_pids[@]}" 2> /dev/null
  [ -n "${KEEP_CLUSTER:-}" ] || rm -rf "$cluster"
  exit $status
}
