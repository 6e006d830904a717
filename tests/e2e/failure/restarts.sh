#!/usr/bin/env bash
# --max-restarts and --spares on this machine: ranks keep their numbers, agents stay, a lost node is replaced.
set -u
. "$DS_SOURCE/tests/support/launch.sh"

# agent_of PID: the process id of the agent above a rank.
cat >agent_of <<'END'
up() { awk '$1 == "PPid:" {print $2}' "/proc/$1/status"; }
up "$(up "$1")"
END
export HERE="$work"

# Two failures, then an epoch that ends well.
run -n 3 --max-restarts 3 --verdict v.json -- bash -c '
  echo "$RANK epoch $DSLAUNCH_EPOCH count $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS"
  sh agent_of $$ >>agents.$RANK; echo "$MASTER_PORT" >>ports.$RANK
  while [ "$(cat ports.* 2>/dev/null | wc -l)" -lt $((3 * (DSLAUNCH_EPOCH + 1))) ]; do sleep 0.01; done
  [ $RANK = 1 ] && [ $DSLAUNCH_EPOCH -lt 2 ] && exit 7; exit 0'
expect 0 "an epoch that ends well at last"
[ "$(sort out)" = "$(for rank in 0 1 2; do for epoch in 0 1 2; do echo "[$rank] $rank epoch $epoch count $epoch of 3"; done; done)" ] ||
  die "ranks and epochs"
[ "$(cat err)" = "dslaunch: rank 1 on localhost: exited 7; restart 1 of 3
dslaunch: rank 1 on localhost: exited 7; restart 2 of 3 in 1 s" ] || die "messages"
[ "$(sort -u ports.0 | wc -l)" = 3 ] || die "MASTER_PORT of three epochs: $(cat ports.0)"
cmp -s ports.0 ports.2 || die "the ranks of an epoch have different ports"
[ "$(cat agents.* | sort -u | wc -l)" = 1 ] || die "the agent did not stay: $(cat agents.*)"
[ "$(grep -c '"cause": "rank 1 on localhost: exited 7"' v.json)" = 2 ] || die "restarts in the verdict: $(cat v.json)"
grep -Eq '"seconds": [0-9]+\.[0-9]+' v.json || die "times in the verdict: $(cat v.json)"

# No more restarts than asked for, and none for those that do not want one.
run -n 2 --max-restarts 1 -- bash -c 'echo up; [ $RANK = 0 ] || exit 5; exec sleep 60'
expect 5 "the last failure"
[ "$(grep -c '\[1\] up' out)" = 2 ] || die "one restart"
last_line_is "dslaunch: rank 1 on localhost: exited 5 (first failure); 1 rank ended after it; after 1 restart"
run --max-restarts 5 -- bash -c 'echo up; exit 93'
expect 93 "exit code 93"
[ "$(cat out)" = up ] || die "93 was restarted"
run --max-restarts 5 -- no-such-command-anywhere
expect 127 "a command that is not there"
[ "$(wc -l <err)" = 1 ] || die "a command that is not there was restarted"

# What a rank leaves behind does not reach the next epoch, and a rank that ignores TERM is killed first.
run -n 2 --max-restarts 1 --grace 300ms -- bash -c '
  trap "" TERM; setsid sleep 60 & : >old.$RANK.$DSLAUNCH_EPOCH
  [ $DSLAUNCH_EPOCH = 1 ] && { pgrep -cx sleep -s 0 >/dev/null; exit 0; }
  while [ ! -e old.0.0 ] || [ ! -e old.1.0 ]; do sleep 0.01; done
  [ $RANK = 0 ] && exit 3; while :; do sleep 1; done'
expect 0 "a stubborn rank"
nothing_left || die "left: $(job_processes)"

# A lost node: its agent is killed. The spare takes its place, the others keep theirs and their agents.
printf 'n0 slots=2\nn1 slots=2\nn2 slots=2\n' >hosts
node_job='sh agent_of $$ >agent.$DSLAUNCH_EPOCH.$RANK; echo "$RANK $NODE_RANK $LOCAL_RANK epoch $DSLAUNCH_EPOCH"
  [ $DSLAUNCH_EPOCH = 1 ] && exit 0; : >up.$RANK; exec sleep 60'
background --transport local --hostfile hosts --spares 1 --max-restarts 1 --verdict v.json -- bash -c "$node_job"
wait_for files_there up.0 up.1 up.2 up.3
first_lines() { [ "$(grep -c 'epoch 0$' out)" = 4 ]; } # what a killed agent has not passed on is lost
wait_for first_lines
kill -9 "$(cat agent.0.3)"
finish
expect 0 "a spare takes the place of a lost node"
[ "$(sort out)" = "$(for rank in 0 1 2 3; do for epoch in 0 1; do echo "[$rank] $rank $((rank / 2)) $((rank % 2)) epoch $epoch"; done; done)" ] ||
  die "ranks and places after the loss of a node"
cmp -s agent.0.0 agent.1.0 || die "the agent of a node that lives did not stay"
! cmp -s agent.0.2 agent.1.2 || die "the agent of the lost node stayed"
grep -q '^dslaunch: node n1 is lost: .*; restart 1 of 1$' err || die "the lost node is not named"
grep -q '^dslaunch: n2 takes the place of n1 (n1: ' err || die "the spare is not named"
grep -q '"sweep": "done"' v.json || die "n1 was not swept: $(cat v.json)"

# Without a spare its own host is asked again.
rm -f up.* agent.*
background --transport local --hostfile hosts --max-restarts 1 -- bash -c "$node_job"
wait_for files_there up.0 up.1 up.2 up.3 up.4 up.5
kill -9 "$(cat agent.0.0)"
finish
expect 0 "a lost host comes back"
grep -q '^dslaunch: n0 is back in its place$' err || die "n0 is back"
[ "$(grep -c 'epoch 1' out)" = 6 ] || die "the second epoch"

# Without a restart to spend a lost node ends the job.
rm -f up.* agent.*
background --transport local --hostfile hosts --spares 1 -- bash -c "$node_job"
wait_for files_there up.0 up.1 up.2 up.3
kill -9 "$(cat agent.0.0)"
finish
expect 69 "no restart is allowed"
grep -q '^dslaunch: n0 was reached again: no leftover processes found$' err || die "the sweep is not told"
grep -q '^dslaunch: node n0 is lost: .*; 2 ranks ended after it$' err || die "the verdict of a lost node"
wait_for nothing_left

# Ctrl-C while ranks are being stopped for a restart ends the job, twice at once: the grace is longer than this test may take.
rm -f up.*
background -n 2 --max-restarts 3 --grace 1000s -- bash -c 'trap "" TERM; : >up.$RANK
  while [ ! -e up.0 ] || [ ! -e up.1 ]; do sleep 0.01; done; [ $RANK = 0 ] && exit 3; while :; do sleep 0.1; done'
wait_for grep -q 'restart 1 of 3' err
kill -INT "$launcher"
has_ended() { [ "$(state_of "$launcher" 2>/dev/null || echo Z)" = Z ]; }
for ((i = 0; i < 50; i++)); do # two within 0.3 s count as one, and a busy launcher may read two as one
  sleep 0.4
  has_ended && break
  kill -INT "$launcher"
done
finish
expect 130 "Ctrl-C during a restart"
wait_for nothing_left
echo "restarts: ranks, agents, spares, lost nodes, Ctrl-C"
