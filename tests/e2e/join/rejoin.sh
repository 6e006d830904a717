#!/usr/bin/env bash
# With --max-restarts a node that is killed and started again takes its own place; ranks keep their numbers.
set -u
. "$DS_SOURCE/tests/support/join_nodes.sh"
peers_of 3
cat >job.sh <<'END'
echo "rank $RANK node $NODE_RANK epoch $DSLAUNCH_EPOCH restart $TORCHELASTIC_RESTART_COUNT"
: >up.$RANK.$DSLAUNCH_EPOCH
[ "$DSLAUNCH_EPOCH" -ge "$LAST" ] && exit 0
exec sleep 60
END
job=(--slots 2 --max-restarts 2 --wait 20s -- env)

for i in 0 1 2; do node $i "${job[@]}" LAST=1 sh "$work/job.sh"; done
for r in 0 1 2 3 4 5; do wait_for files_there up.$r.0; done
kill -9 "${pids[1]}"
end_of 1 2>/dev/null
as=again node 1 "${job[@]}" LAST=1 sh "$work/job.sh"
ends 0 0 2 again
for r in 0 1 2 3 4 5; do must_say 0 "[$r] rank $r node $((r / 2)) epoch 1 restart 1"; done
must_say again "$net.12 has joined the root"
nothing_left || die "left: $(job_processes)"

# Started again before the root has heard that the old one is gone: a stopped process, as on a node that lost its network.
rm -f up.*
for i in 0 1 2; do node $i --node-timeout 30s "${job[@]}" LAST=1 sh "$work/job.sh"; done
for r in 0 1 2 3 4 5; do wait_for files_there up.$r.0; done
kill -STOP "${pids[2]}"
as=again node 2 --node-timeout 30s "${job[@]}" LAST=1 sh "$work/job.sh"
ends 0 0 1 again
must_say 0 "two nodes say that they are $net.13"
kill -CONT "${pids[2]}"
ends 69 2
must_say 2 "two nodes say that they are $net.13"
nothing_left || die "left: $(job_processes)"

# A root that is started again finds nodes whose ranks of before take their time to end, and is told to end before
# its own agents could begin there.
rm -f up.*
for i in 0 1 2; do
  node $i --grace 3s --wait 15s -- sh -c "trap '' TERM; : >'$work'/up.\$RANK.0; while :; do sleep 1; done"
done
for r in 0 1 2; do wait_for files_there up.$r.0; done
kill -9 "${pids[0]}"
end_of 0 2>/dev/null
as=again node 0 --grace 3s --wait 15s -- true
joined_twice() { [ "$(grep -c "has joined" "$1.out")" = 2 ]; }
for i in 1 2; do wait_for joined_twice $i; done
kill -TERM "${pids[again]}"
ends 143 again 1 2
nothing_left || die "left: $(job_processes)"

# Pods with the network of their node: a joiner that waits for knocks on the root's port leaves it to a root on its node.
shared() { # INDEX
  KUBERNETES_SERVICE_HOST=10.0.0.1 POD_IP=127.0.0.1 peers=localhost,127.0.0.2 \
    node "$1" --nnodes 2 --join-port $((20000 + $$ % 10000)) --wait 20s -- true
}
shared 1
listens() { ss -Hltn "sport = $((20000 + $$ % 10000))" | grep -q 127.0.0.1; }
wait_for listens
shared 0
ends 0 0 1
must_say 0 "port $((20000 + $$ % 10000)) is taken on this machine; trying again for 10 s"
nothing_left || die "left: $(job_processes)"
echo OK
