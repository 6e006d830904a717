#!/usr/bin/env bash
# Tests manifests as jobs: pods_of.py splits the output of `dslaunch k8s manifest` as a cluster's controllers would, and the
# pods run as namespaces (tests/e2e/pods) with the commands, variables, names, users and secrets of the manifest. If an
# operator makes the pods, its emulation does (tests/e2e/operators). No Kubernetes is involved.
# With --train every kind also runs the quickstart, its file in a ConfigMap.
set -u
. "$DS_SOURCE/tests/e2e/operators/operators.sh"
pods_need
command -v /usr/sbin/sshd > /dev/null && command -v ssh-keygen > /dev/null || { echo "SKIP: OpenSSH's server is not installed"; exit 77; }
python3 -c 'import yaml' 2> /dev/null || { echo "SKIP: needs python3-yaml"; exit 77; }
dir=$(mktemp -d)
trap 'pods_down; rm -rf "$dir"' EXIT
chmod 755 "$dir"
op_up "$dir" || exit 1
token=$(openssl rand -hex 32)
mkdir "$dir/maps"
nodes=2

die() {
  echo "FAILED: $*"
  for pod in $(podctl list); do echo "--- $pod (exit code $(podctl code "$pod"))"; podctl logs "$pod" | tail -n 15; done
  exit 1
}

# write KIND NAME WORDS...: its manifest
write() {
  local kind=$1 name=$2 root=()
  shift 2
  case $kind in mpijob | etjob) root=(--run-as-root) ;; esac # the emulated operators mount keys for root
  "$DS_BIN/dslaunch" k8s manifest --kind "$kind" "${root[@]}" --name "$name" --nodes $nodes --slots 1 --cpu 1 --image example/dslaunch:1 \
    -x GIVEN=yes "$@" > "$dir/$name.yaml" || die "$kind: no manifest"
}

# start KIND NAME WORDS...: the pods of a manifest
start() {
  write "$@"
  "$DS_SOURCE/tests/e2e/containers/pods_of.py" "$dir/$2.yaml" "$token" "$dir/maps" --workdir /tmp \
    --mount-ro "/usr/local/bin=$dir/names" ${mounts[@]+"${mounts[@]}"} > "$dir/$2.pods" || die "$1: no pods"
  . "$dir/$2.pods"
}

# operate KIND NAME WORDS...: the same where an operator makes the pods
operate() {
  write "$@"
  local both its_own words pod
  . <("$DS_SOURCE/tests/e2e/containers/pods_of.py" --launcher "$dir/$2.yaml" "$dir/maps")
  case $1 in
    mpijob) mpi_operator "$2" OpenMPI $nodes 1 ;;
    etjob) et_operator "$2" $nodes 1 ;;
    trainjob) trainer_mpi "$2" $nodes 1 ;;
  esac
  worker+=("${both[@]}" ${mounts[@]+"${mounts[@]}"})
  op_workers
  for pod in "${workers[@]}"; do podctl ready "$pod"; done
  podctl create "$launcher_name" "${launcher[@]}" ${mounts[@]+"${mounts[@]}"} "${both[@]}" "${its_own[@]}" -- "${words[@]}"
  launchers[$2]=$launcher_name
}
declare -A launchers=()

# ended NAME: all pods with 0; kinds that start a container again whenever it ends are told to go once they idle
ended() {
  local name=$1 pod
  for pod in $(seq 0 $((nodes - 1)) | sed "s/^/$name./"); do
    case $name in
      statefulset* | lws*)
        podctl until "${patience:-30}" "$pod" "idle" || die "$pod does not idle"
        podctl running "$pod" || die "$pod is gone"
        podctl term "$pod"
        ;;
    esac
    podctl wait "${patience:-30}" "$pod" || die "$pod goes on"
    [ "$(podctl code "$pod")" = 0 ] || die "$pod: exit code $(podctl code "$pod")"
  done
}

# operated NAME: the launcher ends with 0
operated() {
  podctl wait "${patience:-30}" "${launchers[$1]}" || die "${launchers[$1]} goes on"
  [ "$(podctl code "${launchers[$1]}")" = 0 ] || die "${launchers[$1]}: exit code $(podctl code "${launchers[$1]}")"
}

kinds="indexed jobset statefulset lws volcano trainjob-torch" operators="mpijob etjob trainjob"
mounts=()
show=(-- sh -c 'echo "rank $RANK of $WORLD_SIZE on $(uname -n) as $(id -u), $GIVEN: $1"' sh '$(POD_IP) yes: #')
for kind in $kinds; do # all at once: each has names of its own
  # The last word is one that YAML, Kubernetes and the shell could each take for something else.
  start $kind $kind "${show[@]}"
done
for kind in $operators; do operate $kind $kind "${show[@]}"; done
# ran KIND USER HOST...: rank i was on the i-th host, as that user, with the word as it was given
ran() {
  local kind=$1 user=$2 rank=0 host
  shift 2
  for host in "$@"; do
    grep -qF "rank $rank of $# on $host as $user, yes: \$(POD_IP) yes: #" "$dir/said" || { cat "$dir/said"; die "$kind: no rank $rank"; }
    rank=$((rank + 1))
  done
  ! grep -qF "$token" "$dir/said" || die "$kind: the token is in the output"
  echo "$kind: $# ranks"
}
for kind in $kinds; do
  ended $kind
  case $kind in trainjob-torch) pods="0 1" ;; *) pods=0 ;; esac
  for pod in $pods; do podctl logs "$kind.$pod"; done > "$dir/said"
  case $kind in
    jobset | trainjob-torch) hosts=($kind-node-0-{0,1}) ;;
    lws) hosts=($kind-0 $kind-0-1) ;;
    volcano) hosts=($kind-node-{0,1}) ;;
    *) hosts=($kind-{0,1}) ;;
  esac
  user=1000
  ran $kind $user "${hosts[@]}"
done
for kind in $operators; do
  operated $kind
  podctl logs "${launchers[$kind]}" > "$dir/said"
  case $kind in
    trainjob) ran $kind 1000 trainjob-launcher-0-0 trainjob-node-0-0 ;;
    *) ran $kind 0 $kind-worker-{0,1} ;;
  esac
done

if [ "${1:-}" = --train ]; then
  [ -s "$DS_SOURCE/data/english.txt" ] || { echo "SKIP: no text; run scripts/fetch_text.sh"; exit 77; }
  patience=300
  mounts=(--mount-ro "/opt/dslaunch/data=$DS_SOURCE/data")
  for kind in $kinds; do
    start $kind $kind-gpt "$DS_SOURCE/configs/quickstart.toml" train.steps=20 schedule.warmup=2 train.validate_every=20 log.dir=/tmp/run
    ended $kind-gpt
    podctl logs "$kind-gpt.0" | grep -F "done after 20 steps" || die "$kind: no training"
  done
  for kind in $operators; do
    operate $kind $kind-gpt "$DS_SOURCE/configs/quickstart.toml" train.steps=20 schedule.warmup=2 train.validate_every=20 log.dir=/tmp/run
    operated $kind-gpt
    podctl logs "${launchers[$kind-gpt]}" | grep -F "done after 20 steps" || die "$kind: no training"
  done
fi
echo "manifests in pods: all passed"
