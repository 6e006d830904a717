# Sourced by tests: Kubernetes pods as namespaces of this machine. README.md lists the verbs of `podctl`.
#   . "$DS_SOURCE/tests/e2e/pods/podctl.sh"
#   pods_need                 skips the test (77) where pods cannot be made
#   pods_up DIR               a cluster: network, DNS, an image; sets and exports PODS=DIR
#   pods_down                 ends everything in it; call it from a trap
#   podctl VERB ...           also a program beside this file, for other processes of the test
# All state is in files under $PODS, and every cluster has a network of its own: several may run at once.

pods_home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
DS_SOURCE=${DS_SOURCE:-$(cd "$pods_home/../../.." && pwd)}
DS_BIN=${DS_BIN:-$DS_SOURCE/build/release/bin}
for pods_part in cluster dns files pod inside faults; do
  . "$pods_home/lib/$pods_part.sh"
done

podctl() {
  local verb=${1:-help}
  shift $(($# > 0 ? 1 : 0))
  [ -n "${PODS:-}" ] || { echo "podctl: PODS is not set: no cluster (pods_up DIR, or podctl up DIR)" >&2; return 64; }
  declare -F "pod_${verb//-/_}" > /dev/null || { echo "podctl: there is no verb '$verb'; see $pods_home/README.md" >&2; return 64; }
  "pod_${verb//-/_}" "$@"
}
