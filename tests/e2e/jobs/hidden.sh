#!/usr/bin/env bash
# Tests hidden ranks (--show): tail and attach can ask for them, with the job's prefixes.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
. "$DS_SOURCE/tests/support/jobs.sh"

detached -n 2 --show 0 --prefix '{node_rank}/{rank}> ' -- bash -c 'for i in 1 2 3; do echo "line $i"; done; touch said.$RANK
  n=0; while [ ! -e go ]; do sleep 0.02; [ ! -e more ] || { rm -f more; echo more; }; done; echo last; [ $RANK = 0 ]'
wait_for files_there said.0 said.1
three() { [ "$("$dslaunch" tail "$id" --rank 1)" = "0/1> line 1
0/1> line 2
0/1> line 3" ]; }
wait_for three
three || die "the last lines of a hidden rank do not come a second time"
run tail "$id" -n 9
[ "$(cat out)" = "0/0> line 1
0/0> line 2
0/0> line 3" ] || die "tail of all shows hidden ranks, or not the job's prefix"

"$dslaunch" attach "$id" --rank 1 -n 1 >attached 2>attached.err &
attached=$!
wait_for grep -q 'line 3' attached
touch more # only one of the two ranks takes it
gone() { [ ! -e more ]; }
wait_for gone
"$dslaunch" tail -f "$id" -n 0 >followed &
followed=$!
sees_more() { touch more; [ -s followed ]; } # it shows only what rank 0 writes after it has connected
wait_for sees_more
touch go
wait "$attached"
[ $? = 1 ] || die "attach exits with the job's code"
wait "$followed"
grep -q '^0/1> last$' attached || die "attach has not followed the hidden rank"
grep -q '^dslaunch: rank 1 ' attached.err || die "attach --rank has not shown the verdict"
! grep -q '^0/0>' attached || die "attach --rank shows another rank"
! grep -q '^0/1>' followed || die "tail -f of all shows the hidden rank"
wait_for is_over "$id"
! grep -q '0/1> line' "dslaunch-$id.log" || die "the job's own output shows the hidden rank"
grep -q 'rank 1 ' "dslaunch-$id.log" || die "the verdict"
grep -q '  | last$' "dslaunch-$id.log" || die "the last lines of a rank that was watched: $(cat "dslaunch-$id.log")"
echo "ok"
