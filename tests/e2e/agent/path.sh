#!/usr/bin/env bash
# A program that no folder of PATH has is "not found" (errno 2), also for a user who may not search one of the
# folders; one that was found and may not be run is "permission denied" (13).
set -u
. "$DS_SOURCE/tests/support/launch.sh"
probe="$DS_TESTS/agent_probe"
if [ "$(id -u)" = 0 ]; then as_user=(setpriv --reuid 65534 --regid 65534 --clear-groups); else as_user=(); fi
if ! "${as_user[@]}" test -x "$probe" || ! "${as_user[@]}" test -x "$dslaunch"; then
  echo "another user cannot run the programs under test"
  exit 77
fi
mkdir closed open
chmod 711 "$work"
echo 'echo hi' >open/unreadable
chmod 644 open/unreadable
if [ "$(id -u)" = 0 ]; then chmod 700 closed; else chmod 000 closed; fi
ends() { # ERRNO PROGRAM
  DSLAUNCH_RUNTIME_DIR=/nowhere "${as_user[@]}" "$probe" "$dslaunch" --env "PATH=$work/closed:$work/open" -- "$2" >out 2>err
  grep -q "^Exited 0 status 0 stage 3 errno $1 " out || die "$2: not errno $1"
}
ends 2 no-such-program
ends 13 unreadable
ends 13 "$work/closed/program"
echo "ok"
