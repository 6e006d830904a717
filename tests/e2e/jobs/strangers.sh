#!/usr/bin/env bash
# Tests the sockets of jobs: only for their user, removed after a killed launcher, optional for a job.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
. "$DS_SOURCE/tests/support/jobs.sh"

# A launcher that was killed leaves a socket, and the next look removes it.
background -n 1 -- bash -c 'touch up; sleep 1000'
wait_for files_there up
[ "$(ls "$DSLAUNCH_RUNTIME_DIR" | grep -c 'sock$')" = 1 ] || die "no socket"
kill -9 "$launcher"
finish
[ "$(ls "$DSLAUNCH_RUNTIME_DIR" | grep -c 'sock$')" = 1 ] || die "kill -9 leaves no socket?"
run ps
[ "$(wc -l <out)" = 1 ] || die "a dead job is listed"
[ "$(ls "$DSLAUNCH_RUNTIME_DIR" | grep -c "sock$")" = 0 ] || die "the socket of a dead job stays"

# A folder that others may enter is not used: a job in the foreground runs without a socket, a detached one does not.
chmod 0755 "$DSLAUNCH_RUNTIME_DIR"
run -n 1 -- echo ran
expect 0 "job without a socket"
[ "$(cat out)" = ran ] || die "a job without a socket has not run"
grep -q "cannot be seen by dslaunch ps: .*other users have rights there" err || die "no word of the missing socket"
run --detach -n 1 -- true
expect 1 "detached job without a socket"
run ps
grep -q "other users have rights there" err || die "ps does not say what it cannot trust"
chmod 0700 "$DSLAUNCH_RUNTIME_DIR"

# A socket that somebody removes is made again.
detached -n 1 -- sleep 1000
rm "$DSLAUNCH_RUNTIME_DIR/$id.sock"
wait_for files_there "$DSLAUNCH_RUNTIME_DIR/$id.sock"
"$dslaunch" kill "$id" --wait 2>/dev/null || die "kill after the socket was made again"

if [ "$(id -u)" != 0 ] || ! setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
  echo "SKIP: only root can be another user too"
  exit 77
fi
# A job of user 65534: even root, who may enter the folder, is turned away by the job itself.
chmod 0755 "$work"
mkdir "$work/theirs"
chown 65534 "$work/theirs"
as_nobody() { (cd theirs && DSLAUNCH_RUNTIME_DIR="$work/theirs/sockets" \
  setpriv --reuid=65534 --regid=65534 --clear-groups "$dslaunch" "$@"); }
if ! as_nobody --version >/dev/null 2>&1; then
  echo "SKIP: user 65534 cannot run $dslaunch"
  exit 77
fi
as_nobody --detach -n 1 -- sleep 1000 >out 2>err || die "a job of another user does not start"
id=$(cat out)
"$DS_TESTS/job_probe" "$work/theirs/sockets/$id.sock" >probe || die "the probe failed"
grep -q "belongs to another user" probe || die "another user's job answers: $(cat probe)"
DSLAUNCH_RUNTIME_DIR="$work/theirs/sockets" run ps
[ "$(wc -l <out)" = 1 ] || die "ps lists another user's job"
grep -q "belongs to user 65534" err || die "ps trusts another user's folder"
as_nobody kill "$id" --wait 2>/dev/null || die "its own user cannot kill it"
echo "sockets are their user's alone"
