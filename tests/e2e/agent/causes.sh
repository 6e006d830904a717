#!/usr/bin/env bash
# Tests the cause of death that a node reports: OOM kills in a real memory cgroup, and the place of a core file.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
probe="$DS_TESTS/agent_probe"

# A memory cgroup of our own below this script's, of the version that has the controller here.
own1=$(sed -n 's/^[0-9]*:\([^:]*,\)*memory\(,[^:]*\)*:\(.*\)/\3/p' /proc/self/cgroup)
own2=$(sed -n 's/^0:://p' /proc/self/cgroup)
group=
for place in "/sys/fs/cgroup/memory$own1 memory.limit_in_bytes" "/sys/fs/cgroup$own2 memory.max"; do
  set -- $place
  [ -z "$group" ] && mkdir "$1/ds-test-$$" 2>/dev/null || continue
  if echo 64M >"$1/ds-test-$$/$2" 2>/dev/null; then group="$1/ds-test-$$"; else rmdir "$1/ds-test-$$"; fi
done

# in_group COMMAND...: runs it in that cgroup.
in_group() {
  bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
}

checks=0
if [ -n "$group" ] && sanitized; then
  echo "not tested with a sanitizer: OOM kills"
  rmdir "$group"
elif [ -n "$group" ]; then
  in_group "$probe" "$dslaunch" -- tail /dev/zero >out 2>err
  grep -q '^Exited 0 status 9 stage 0 errno 0 detail: out of memory: killed by the kernel' out || die "a rank out of memory"
  grep '^Exited' out | grep -q "the limit of its cgroup is 64.0 MiB" || die "the limit is not told"
  in_group "$probe" "$dslaunch" -- sh -c 'tail /dev/zero; exit 5' >out 2>err
  grep -q '^Exited 0 status 1280 stage 0 errno 0 detail: out of memory: the kernel killed another process' out ||
    die "a helper out of memory"
  in_group "$probe" "$dslaunch" -- sh -c 'kill -9 $$' >out 2>err
  grep -q '^Exited 0 status 9 stage 0 errno 0 detail: $' out || die "KILL by a person was taken for want of memory"
  rmdir "$group"
  checks=3
fi

if (ulimit -c unlimited) 2>/dev/null && [ "$(cat /proc/sys/kernel/core_pattern)" = core ]; then
  (ulimit -c unlimited; "$probe" "$dslaunch" -- sh -c 'kill -SEGV $$') >out 2>err
  core=$(sed -n 's/.*detail: core dumped: //p' out)
  [ -s "$core" ] || die "no core at '$core'"
  checks=$((checks + 1))
fi
[ "$checks" -gt 0 ] || { echo "skip: no memory cgroup can be made, and cores go elsewhere"; exit 77; }
echo "causes: $checks checks passed"
