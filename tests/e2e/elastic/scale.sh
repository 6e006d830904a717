#!/usr/bin/env bash
# dslaunch scale on this machine: hosts are added and removed, the number of nodes changes, and each refusal is one message.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
. "$DS_SOURCE/tests/support/epochs.sh"

printf 'n%s slots=2\n' 0 1 2 >hosts
epoch_body ' on $NODE_RANK'
said() { grep -qE -- "$1" err || die "not said: $1"; }
scale() { # CODE TEXT ARGS...
  local code=$1 text=$2
  shift 2
  local rc=0
  "$dslaunch" scale "$@" >scale.out 2>&1 </dev/null || rc=$?
  [ "$rc" = "$code" ] || die "scale $*: exit code $rc, not $code: $(cat scale.out)"
  grep -qF -- "$text" scale.out || die "scale $* does not say '$text': $(cat scale.out)"
  [ "$(grep -c . scale.out)" -le 2 ] || die "scale $* says too much: $(cat scale.out)"
}

background --transport local --hostfile hosts --nodes 2:4 --grace 2s --verdict v.json -- bash -c "$body"
wait_for epoch_is_up 0 6
scale 69 'n2 is a host of the job already' --add n2
scale 69 "no host of the job is named 'n7': they are n[0-2]" --remove n7
scale 69 '5 nodes is out of range: the job was started with --nodes 2:4' --nodes 5
scale 69 'nothing changes: the job already has up to 4 nodes' --nodes 4
scale 69 '1 host would be left; the job needs at least 2' --remove 'n[0-1]'
scale 69 'n9 would run 9 ranks' --add n9:9
scale 64 'nothing to change'
[ "$(wc -l <err)" = 0 ] || die "refusals were said by the job"
id=$("$dslaunch" ps | awk 'NR == 2 { print $1 }')
"$dslaunch" kill "$id" --signal STOP >/dev/null || die "the job is not suspended"
scale 69 'is suspended' --add n5
"$dslaunch" kill "$id" --signal CONT >/dev/null || die "the job is not resumed"
scale 69 "no host of the job is named 'n5': they are n[0-2]" --remove n5

scale 0 'n3 is added' --add n3
wait_for grep -q 'n3 is ready and joins at the next restart' err
end_epoch 0 94
wait_for epoch_is_up 1 8
scale 0 'n0 is removed' --remove n0
wait_for epoch_is_up 2 6
said '^dslaunch: n0 must leave; starting all ranks again$'
said '^dslaunch: epoch 2: 3 nodes and 6 ranks \(before: 4 and 8\); n0 leaves$'
scale 0 'the job will have up to 2 nodes' --nodes 2
wait_for epoch_is_up 3 4
[ "$("$dslaunch" ps --json | grep -o '"nodes": [0-9]*')" = '"nodes": 2' ] || die "dslaunch ps: $("$dslaunch" ps --json)"
scale 0 'the job will have up to 3 nodes' --nodes 3
wait_for grep -q 'n3 is ready and joins at the next restart' err
end_epoch 3 94
wait_for epoch_is_up 4 6
scale 0 'n0 is added' --add n0 # it has left before
end_epoch 4 0
finish
expect 0 "a job whose hosts are changed by hand"
python3 - <<'END' || die "epochs in the verdict: $(cat v.json)"
import json
verdict = json.load(open("v.json"))
assert [e["cause"] for e in verdict["epochs"]] == ["start", "paused", "left", "left", "paused"], verdict["epochs"]
assert [e["nodes"] for e in verdict["epochs"]] == [3, 4, 3, 2, 3], verdict["epochs"]
assert verdict["restarts"] == [], verdict["restarts"]
END
nothing_left || die "left: $(job_processes)"

# A host without the program is refused, and stops nobody; it joins when the program is there.
printf '#!/bin/sh\n: >begun.$DSLAUNCH_EPOCH.$RANK\nwhile [ ! -e end ]; do sleep 0.02; done\n' >program
chmod +x program
background --transport local --host a,b --nodes 1:3 --admit now --grace 2s -- ./program
wait_for files_there begun.0.0 begun.0.1
mv program away
scale 0 'c is added' --add c
wait_for grep -q '^dslaunch: c cannot join: cannot run ./program: .*; once that is mended, it joins' err
scale 0 'c is removed' --remove c
scale 0 'd is added' --add d
wait_for grep -q '^dslaunch: d cannot join: cannot run ./program: ' err
! grep -q 'starting all ranks again' err || die "a host without the program has stopped the ranks"
mv away program
wait_for files_there begun.1.0 begun.1.1 begun.1.2
: >end
finish
expect 0 "a job that a host without the program could not join at first"
[ "$(grep -c 'cannot join' err)" = 2 ] || die "refused more than once"
nothing_left || die "left: $(job_processes)"

# Jobs of a fixed size.
background -n 2 -- sleep 60
wait_for sh -c "'$dslaunch' ps | grep -q running"
scale 69 'its number of nodes is fixed; start it with --nodes MIN:MAX' --nodes 2
echo "scale: all cases passed"
