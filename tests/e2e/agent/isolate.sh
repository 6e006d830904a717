#!/usr/bin/env bash
# Tests --isolate pid: what ranks see of their PID namespace, as root and as another user, and the error of a node without.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
probe="$DS_TESTS/agent_probe"
"$probe" "$dslaunch" --isolate required -- true >out 2>err || {
  echo "skip: $(grep -m 1 '^Problem' out)"
  exit 77
}
host=$(readlink /proc/self/ns/pid)

# What a rank sees, in any case: a namespace of its own with a /proc that fits, its own user, its folder.
# shellcheck disable=SC2016
look='[ "$(readlink /proc/self/ns/pid)" != "'$host'" ] && [ "$(readlink /proc/self)" != "" ] &&
  [ "$(cat /proc/1/comm)" = dsinit ] && [ "$(cat /proc/$$/comm)" = bash ] && [ "$PWD" = "$(pwd -P)" ] && [ $$ -gt 100 ] &&
  echo "seen $(id -u)"'
seen() { grep -qx "seen $1" out || die "user $1 does not see what it should"; }

"$probe" "$dslaunch" --isolate required -- bash -c "$look" >out 2>err
seen "$(id -u)"
: >out
# The launcher is told the pid that it would see itself.
"$probe" "$dslaunch" --isolate required -- bash -c 'for i in {1..1000}; do [ ! -e looked ] || break; sleep 0.02; done' >out 2>err &
wait_for grep -q Started out
pid=$(sed -n 's/^Started 0 //p' out)
grep -q "DSLAUNCH_COOKIE=probe" "/proc/$pid/environ" || die "process $pid is not the rank"
touch looked
wait
# What stays behind goes with the namespace, and so does what has lost every link.
"$probe" "$dslaunch" --isolate required -- bash -c "setsid sleep 76.$$ & exit 3" >out 2>err
grep -q 'Exited 0 status 768' out || die "the exit code"
pgrep -f "sleep 76\.$$\$" >/dev/null && die "left behind"

if ldd "$dslaunch" | grep -q libtsan; then
  echo "not tested with ThreadSanitizer, whose own thread forbids unshare(CLONE_NEWUSER): another user"
elif [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  cd / || exit 1
  as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps -all env TMPDIR=/tmp DSLAUNCH_RUNTIME_DIR=/nowhere "$@"; }
  if as_nobody "$probe" "$dslaunch" -- true >"$work/out" 2>&1 && as_nobody unshare -Ur true 2>/dev/null; then
    as_nobody "$probe" "$dslaunch" --isolate required -- bash -c \
      "$look"'; echo "caps $(sed -n "s/^CapEff:\t*//p" /proc/self/status)"' >"$work/out" 2>"$work/err"
    cd "$work" || exit 1
    seen 65534
    grep -qx 'caps 0000000000000000' out || die "another user's rank has capabilities"
    as_nobody "$probe" "$dslaunch" --isolate if_free -- readlink /proc/self/ns/pid >out 2>err
    grep -qxF "$host" out || die "a user namespace that nobody asked for"
  fi
  cd "$work" || exit 1
  "$probe" "$dslaunch" --isolate if_free -- bash -c "$look" >out 2>err
  seen 0
fi

if unshare -Ur true 2>/dev/null; then
  # shellcheck disable=SC2016
  forbidden='echo 0 >/proc/sys/user/max_pid_namespaces && exec "$@"'
  unshare -Ur bash -c "$forbidden" - "$probe" "$dslaunch" --isolate required -- true >out 2>err
  grep -q '^Problem cannot give the ranks a PID namespace: unshare: .*no more' out || die "no clear refusal"
  grep -q Started out && die "a rank was started all the same"
  unshare -Ur bash -c "$forbidden" - "$probe" "$dslaunch" --isolate if_free -- readlink /proc/self/ns/pid >out 2>err
  grep -qxF "$host" out || die "if_free where there is none"
fi
echo "isolate: namespaces for root and others, refusals that are told"
