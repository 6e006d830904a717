#!/usr/bin/env bash
# Writes the example manifests of this folder: the output of `dslaunch k8s manifest` for each kind.
#
#   containers/k8s/generate.sh [FOLDER]      default: this folder       (DS_BIN: the folder of dslaunch)
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=${DS_BIN:-$root/build/release/bin}
folder=${1:-$root/containers/k8s}
cd "$root"

# The image's quickstart, on CPUs: runs in any cluster.
for kind in indexed jobset statefulset lws volcano mpijob trainjob trainjob-torch etjob; do
  root=$([ $kind = etjob ] && echo --run-as-root || true)
  "$bin/dslaunch" k8s manifest --kind $kind $root --name gpt --nodes 4 --slots 1 --cpu 2 --memory 4Gi \
    --image example/dslaunch:1 --in-image /opt/dslaunch/configs/quickstart.toml > "$folder/$kind.yaml"
done
# The number of pods may change while the job runs.
"$bin/dslaunch" k8s manifest --kind indexed --name gpt --nodes 1:4 --slots 1 --cpu 2 --memory 4Gi \
  --image example/dslaunch:1 --in-image /opt/dslaunch/configs/quickstart.toml > "$folder/indexed-elastic.yaml"
# A configuration of your own, on GPUs, with data and run folder on a shared volume.
"$bin/dslaunch" k8s manifest --kind jobset --name gpt2 --nodes 4 --slots 8 --claim data:/data \
  -x NCCL_DEBUG=INFO --image example/dslaunch:1-cuda configs/gpt2_124m.toml \
  'data.train=["/data/english.txt"]' log.dir=/data/runs/gpt2 > "$folder/jobset-gpu.yaml"
