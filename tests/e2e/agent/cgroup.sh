#!/usr/bin/env bash
# Tests the cgroups of ranks: where one can be made, KILL reaches even a setuid program that has become root, and no
# cgroup is left afterwards.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
probe="$DS_TESTS/agent_probe"
own=$(sed -n 's/^0:://p' /proc/self/cgroup)
top=
for place in /sys/fs/cgroup /sys/fs/cgroup/unified; do
  [ ! -e "$place$own/cgroup.controllers" ] || { top="$place$own"; break; }
done
skip() { echo "skip: $1"; exit 77; }
[ "$(id -u)" = 0 ] || skip "not root"
[ -n "$top" ] || skip "no cgroup of version 2"
box="$top/ds-test-$$"
mkdir "$box" 2>/dev/null || skip "no cgroup can be made below $top"
leave_box() {
  echo 1 >"$box/cgroup.kill"
  rmdir "$box"/*/ "$box" 2>/dev/null
  clean_up
}
trap leave_box EXIT
[ -e "$box/cgroup.kill" ] || skip "this kernel has no cgroup.kill"
cp "$DS_TESTS/become_root" "$work/become_root"
chmod 4755 "$work/become_root"
chmod 755 "$work"
# Where nobody can start them: the tree may lie in a home that is closed to others.
cp "$probe" "$dslaunch" "$work"
probe="$work/${probe##*/}" dslaunch="$work/${dslaunch##*/}"
mkdir -m 1777 "$work/up"
export DSLAUNCH_RUNTIME_DIR="$work/none"

# as_user COMMAND...: as nobody, in a cgroup that belongs to nobody.
as_user() {
  bash -c 'echo $$ >"$0/cgroup.procs" && cd / && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"' "$box" "$@"
}
as_user "$work/become_root" "$work/up/can" &
wait_for files_there "$work/up/can"
# shellcheck disable=SC2046
kill -9 $(cat "$box/cgroup.procs")
wait $! 2>/dev/null
[ "$(stat -c %u "$work/up/can")" = 0 ] || skip "setuid programs do not work in $work"

chown 65534 "$box" "$box/cgroup.procs"
# shellcheck disable=SC2016
as_user "$probe" "$dslaunch" -- bash -c '"$0" "$1/rank" & while [ ! -e "$1/rank" ]; do sleep 0.01; done
  sed -n "s/^0:://p" /proc/self/cgroup; exit 3' "$work/become_root" "$work/up" >out 2>err
grep -q '/dslaunch-probe\.' out || die "the rank has no cgroup of its own"
grep -q '^Exited 0 status 768' out || die "the exit code"
[ -z "$(cat "$box/cgroup.procs" "$box"/*/cgroup.procs 2>/dev/null)" ] || die "something lives in the cgroup"
[ -z "$(find "$box" -mindepth 1 -type d)" ] || die "a cgroup is left"
pgrep -f "^$work/become_root" >/dev/null && die "the setuid program lives"

# Where cgroup.kill has been used once, some kernels kill what is cloned into a cgroup below: ranks run all the same.
echo 1 >"$box/cgroup.kill"
as_user "$probe" "$dslaunch" -- echo here >out 2>err
grep -qx here out || die "a rank below a cgroup that was killed once"

# A cgroup with a limit is not divided: programs look for their limit in their own.
if [ -e "$box/memory.max" ]; then
  echo 1G >"$box/memory.max"
  as_user "$probe" "$dslaunch" -- sed -n 's/^0:://p' /proc/self/cgroup >out 2>err
  grep -q '/dslaunch-probe\.' out && die "a cgroup below one with a limit"
fi
echo "cgroup: made, killed, removed"
