#!/usr/bin/env bash
# Manifests become jobs: what `dslaunch k8s manifest` writes is taken apart as a cluster's controllers would (pods_of.py), and
# its pods run as namespaces (tests/e2e/pods): commands, variables, names, users and secrets are those of the manifest.
# No Kubernetes takes part. With --train every kind also runs the quickstart, its file in a ConfigMap.
set -u
. "$DS_SOURCE/tests/e2e/pods/podctl.sh"
pods_need
python3 -c 'import yaml' 2> /dev/null || { echo "SKIP: needs python3-yaml"; exit 77; }
dir=$(mktemp -d)
trap 'pods_down; rm -rf "$dir"' EXIT
chmod 755 "$dir"
pods_up "$dir" || exit 1
token=$(openssl rand -hex 32)
mkdir "$dir/names" "$dir/maps"
for name in torchrun dslaunch dsrunner; do ln -s "/opt/dslaunch/bin/${name/torchrun/dslaunch}" "$dir/names/$name"; done
nodes=2

die() {
  echo "FAILED: $*"
  for pod in $(podctl list); do echo "--- $pod (exit code $(podctl code "$pod"))"; podctl logs "$pod" | tail -n 15; done
  exit 1
}

# start KIND NAME WORDS...: the job of a manifest
start() {
  local kind=$1 name=$2
  shift 2
  "$DS_BIN/dslaunch" k8s manifest --kind "$kind" --name "$name" --nodes $nodes --slots 1 --cpu 1 --image example/dslaunch:1 \
    "$@" > "$dir/$name.yaml" || die "$kind: no manifest"
  "$DS_SOURCE/tests/e2e/containers/pods_of.py" "$dir/$name.yaml" "$token" "$dir/maps" --workdir /tmp \
    --mount-ro "/usr/local/bin=$dir/names" "${mounts[@]}" > "$dir/$name.pods" || die "$kind: no pods"
  . "$dir/$name.pods"
}

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

kinds="indexed jobset statefulset lws volcano trainjob-torch"
mounts=(--tmpfs /empty)
for kind in $kinds; do # all at once: each has names of its own
  # The last word is one that YAML, Kubernetes and the shell could each take for something else.
  start $kind $kind -- sh -c 'echo "rank $RANK of $WORLD_SIZE on $(uname -n) as $(id -u): $1"' sh '$(POD_IP) yes: #'
done
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
  [ $kind != trainjob-torch ] || user=0
  for rank in 0 1; do
    grep -qF "rank $rank of $nodes on ${hosts[rank]} as $user: \$(POD_IP) yes: #" "$dir/said" || { cat "$dir/said"; die "$kind: no rank $rank"; }
  done
  ! grep -qF "$token" "$dir/said" || die "$kind: the token is in the output"
  echo "$kind: 2 pods, 2 ranks"
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
fi
echo "manifests in pods: all passed"
