#!/usr/bin/env bash
# Runs dslaunch on a real Kubernetes cluster: kinds of jobs x faults, with expectations and times. Without a cluster it skips (77).
#
#   run.sh [--short] [--kinds K,...] [--cases C,...] [--corefile cache,kubeadm] [--starts N] [--docs] [--table FILE] [--jobs N]
#
# The cluster is given by one of these:
#   DS_KUBERNETES_TOOL                 a program that makes a cluster: verbs setup, image, up, load, operator, kc, down (README.md)
#   KUBECONFIG and DS_KUBERNETES_IMAGE a cluster, and an image of this build (containers/docker) that its nodes can pull or have
# DS_BIN names the folder of dslaunch and dsrunner, DS_SOURCE the source tree. README.md says more.
set -u
here=$(cd "$(dirname "$0")" && pwd)
export DS_SOURCE=${DS_SOURCE:-$(cd "$here/../../../.." && pwd)}
export DS_BIN=${DS_BIN:-$DS_SOURCE/build/release/bin}
skip() { echo "skipped: $1"; exit 77; }
if [ -z "${DS_KUBERNETES_TOOL:-}" ]; then
  [ -n "${DS_KUBERNETES_IMAGE:-}" ] && [ -n "${KUBECONFIG:-}" ] ||
    skip "no cluster is given: set DS_KUBERNETES_TOOL, or KUBECONFIG and DS_KUBERNETES_IMAGE"
  command -v kubectl > /dev/null || skip "kubectl is not in PATH (Debian: kubernetes-client)"
fi
command -v python3 > /dev/null || skip "python3 is not in PATH"
[ -x "$DS_BIN/dslaunch" ] || { echo "run.sh: $DS_BIN/dslaunch does not exist; build it, or set DS_BIN" >&2; exit 1; }
exec python3 "$here/run.py" "$@"
