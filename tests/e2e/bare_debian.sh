#!/usr/bin/env bash
# On demand: runs scripts/quickstart.sh and scripts/test.sh in a bare Debian 12 tree (debootstrap minbase + git, in a
# chroot, from a clean clone of HEAD). Not part of ctest: it takes tens of minutes and needs root and debootstrap.
#
#   tests/e2e/bare_debian.sh [quickstart|test|both] [FOLDER]        default: both, a folder under /var/tmp
set -euo pipefail

what=${1:-both}
folder=${2:-/var/tmp/dslaunch-bare}
source_tree=$(cd "$(dirname "$0")/../.." && pwd)
[ "$(id -u)" -eq 0 ] || { echo "SKIP: needs root for chroot"; exit 77; }
command -v debootstrap > /dev/null || { echo "SKIP: needs debootstrap (apt-get install debootstrap)"; exit 77; }

base=$folder/base root=$folder/root
mirror=$(sed -nE 's/^(deb|URIs:) *(\[[^]]*\] *)?(http[^ ]+).*/\3/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null | head -n 1 || true)
if [ ! -f "$base/.complete" ]; then
  echo "bare_debian: debootstrap into $base"
  rm -rf "$base"
  mkdir -p "$base"
  debootstrap --variant=minbase --include=git,ca-certificates bookworm "$base" "${mirror:-http://deb.debian.org/debian}" > "$folder/debootstrap.log"
  touch "$base/.complete"
fi

run_in_fresh_tree() {  # SCRIPT
  rm -rf "$root"
  cp -a "$base" "$root"
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  cp -a /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
  cp /etc/hosts "$root/etc/hosts"
  git clone -q "$source_tree" "$root/root/dslaunch"
  echo "bare_debian: $1"
  local start=$SECONDS status=0
  # Mounts live in a namespace of their own, so that none is left behind whatever happens.
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb \
    unshare --mount --propagation private /bin/bash -c '
      set -e
      mount --bind "$0" "$0"; mount -t proc proc "$0/proc"; mount --rbind /sys "$0/sys"; mount --rbind /dev "$0/dev"
      exec chroot "$0" /bin/bash -c "cd /root/dslaunch && $1"' "$root" "$1" || status=$?
  echo "bare_debian: $1 ended with $status after $((SECONDS - start)) s"
  return "$status"
}

case "$what" in
  quickstart) run_in_fresh_tree scripts/quickstart.sh ;;
  test) run_in_fresh_tree scripts/test.sh ;;
  both) run_in_fresh_tree scripts/quickstart.sh && run_in_fresh_tree scripts/test.sh ;;
  *) echo "bare_debian: quickstart, test or both" >&2; exit 64 ;;
esac
echo "bare_debian: OK"
