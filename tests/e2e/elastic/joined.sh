#!/usr/bin/env bash
# --nodes MIN:MAX with nodes that dial in (dslaunch agent --join): a node that is missing at the start joins later, one that
# is killed or told to end leaves, and another one fills its place.
set -u
. "$DS_SOURCE/tests/support/join_nodes.sh"
. "$DS_SOURCE/tests/support/epochs.sh"

epoch_body ' in $DSLAUNCH_ELASTIC_RANKS'

peers_of 4
for i in 0 1 2; do node $i --slots 1 --nodes 2:4 --wait 4s -- sh -c "$body"; done
wait_for epoch_is_up 0 3 # after --wait, without node 3
must_say 0 '[2] epoch 0 rank 2 of 3 in 2:4'
node 3 --slots 1 --wait 20s -- unused
wait_for said 0 "$net.14 is ready and joins at the next restart"
end_epoch 0 94
wait_for epoch_is_up 1 4
kill -9 "${pids[2]}"
wait_for epoch_is_up 2 3
must_say 0 'epoch 2: 3 nodes and 3 ranks (before: 4 and 4)'
as=second node 2 --slots 1 --wait 20s -- unused
wait_for said 0 "$net.13 is ready and joins at the next restart"
end_epoch 2 94
wait_for epoch_is_up 3 4
must_say 0 '[3] epoch 3 rank 3 of 4 in 2:4'

# A node that is told to end leaves the job, and may come back; with too few left, the job stops.
kill "${pids[3]}"
wait_for epoch_is_up 4 3
ends 143 3
must_say 3 "$net.14 has left the job, which goes on"
has_report 3 '"exit_code":143'
as=third node 3 --slots 1 --wait 20s -- unused
joins_again() { [ "$(grep -c "$net.14 is ready and joins at the next restart" 0.out)" = 2 ]; }
wait_for joins_again
end_epoch 4 94
wait_for epoch_is_up 5 4
kill "${pids[1]}" "${pids[second]}" "${pids[third]}"
ends 143 0 1 second third
must_say 0 '3 nodes and 3 ranks (before: 4 and 4)'
must_say 0 'were told to end (SIGTERM)' # the second and the third in one line
nothing_left || die "left: $(job_processes)"

# Nodes without a list of names: they know the root's address. The root begins alone after --wait; others join and leave.
rm -f up.* go.*
open() { # NAME OF_NODE ARGS...
  setsid "$dslaunch" agent --join --root "$net.11:29400" --node-name "$2" "${@:3}" >"$1.out" 2>&1 </dev/null &
  pids[$1]=$!
}
open root "$net.11" --nodes 1:3 --slots 1 --wait 1s --node-timeout 5s -- sh -c "$body"
wait_for epoch_is_up 0 1
must_say root "this node, $net.11, is the root: 1 to 3 nodes"
open guest n7 --wait 20s # without the command
wait_for said root "n7 is ready and joins at the next restart"
end_epoch 0 94
wait_for epoch_is_up 1 2
must_say root '[1] epoch 1 rank 1 of 2 in 1:3'
DSLAUNCH_TOKEN=the-token-of-another-job open other n8 --wait 2s
ends 69 other
open other n8 --job-id another --wait 2s
ends 69 other
must_say other "this is the root of job $net.11:29400, and n8 belongs to job another"
open clone "$net.11" --wait 20s # as a machine with the root's host name
ends 65 clone
must_say clone "$net.11 is the name of the root itself; give each node a name of its own: --node-name NAME"
must_say root "$net.11 is the name of the root itself"
open newer n7 --wait 20s # a second node of that name: the older one ends, and its ranks with it
ends 69 guest
wait_for epoch_is_up 2 1
must_say root 'two nodes say that they are n7'
wait_for said root "n7 is ready and joins at the next restart"
end_epoch 2 94
wait_for epoch_is_up 3 2
# Removed, it stays away, also when its connection breaks and it dials again; until it is added.
"$dslaunch" scale --remove n7 >scale.out 2>&1 || die "scale --remove: $(cat scale.out)"
wait_for epoch_is_up 4 1
joins() { grep -c 'n7 is ready and joins at the next restart' root.out; }
before=$(joins)
kill -STOP "${pids[newer]}"
wait_for said root 'n7 left: '
kill -CONT "${pids[newer]}"
dialed_again() { [ "$(grep -c 'n7 has joined the root' newer.out)" = 2 ]; }
wait_for dialed_again
[ "$(joins)" = "$before" ] || die "a node that was removed joins again"
"$dslaunch" scale --add n7 >scale.out 2>&1 || die "scale --add: $(cat scale.out)"
joins_once_more() { [ "$(joins)" -gt "$before" ]; }
wait_for joins_once_more
end_epoch 4 94
wait_for epoch_is_up 5 2
kill -TERM "${pids[newer]}"
ends 143 newer
wait_for epoch_is_up 6 1
end_epoch 6 0
ends 0 root
nothing_left || die "left: $(job_processes)"
echo "joined nodes: all cases passed"
