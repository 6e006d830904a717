#!/usr/bin/env bash
# How a group of nodes ends: TERM to one, to all at once, twice; a killed joiner, a killed root; 93; a node that stays.
set -u
. "$DS_SOURCE/tests/support/join_nodes.sh"

# The ranks take half a second (or SAVE seconds) to save, as trainers do.
cat >saving.sh <<'END'
trap 'sleep ${SAVE:-0.5}; : >saved.$RANK; exit 0' TERM
: >up.$RANK
while :; do sleep 0.05; done
END
start() { # start NODES ARGS...
  local i
  rm -f up.* saved.*
  peers_of $1
  for ((i = 0; i < $1; ++i)); do node $i "${@:2}" -- bash "$work/saving.sh"; done
  for ((i = 0; i < $1; ++i)); do wait_for files_there up.$i; done
}

# TERM to a joiner is a decision of all: every rank may save, all nodes end with 143.
start 3
kill -TERM "${pids[2]}"
ends 143 0 1 2
must_say 0 "$net.13 was told to stop (SIGTERM); stopping the job"
files_there saved.0 saved.1 saved.2 || die "a rank was not let save: $(ls)"
for i in 0 1 2; do has_report $i '"exit_code":143'; done

# A node may get one TERM twice, as GNU timeout and the kubelet send it: its ranks may save all the same.
start 2
kill -TERM "${pids[1]}"
sleep 0.05
kill -TERM "${pids[1]}"
ends 143 0 1
files_there saved.0 saved.1 || die "two TERMs in 50 ms killed ranks that were saving: $(ls)"
must_say 0 "$net.12 was told to stop (SIGTERM); stopping the job"

# TERM to all at the same moment, as when a Job is deleted, is one decision: nobody is killed before his time.
start 4
kill -TERM "${pids[0]}" "${pids[1]}" "${pids[2]}" "${pids[3]}"
ends 143 0 1 2 3
files_there saved.0 saved.1 saved.2 saved.3 || die "TERM to all nodes killed ranks that were saving: $(ls)"

# A second TERM to the root kills, once it cannot be the same request any more.
SAVE=8 start 2 --grace 60s
kill -TERM "${pids[0]}"
wait_for said 0 "SIGTERM"
sleep 2.2
kill -TERM "${pids[0]}"
ends 143 0 1
[ ! -e saved.1 ] || die "a second TERM waited"

# A killed joiner is a lost node: 69, and nothing is left of it.
start 3
kill -9 "${pids[1]}"
end_of 1
ends 69 0 2
must_say 0 "$net.12"
has_report 2 '"exit_code":69' "\"node\":\"$net.12\""
nothing_left || die "left of a killed joiner: $(job_processes)"

# A killed root: its joiners stop their ranks at once and dial again. A new root makes a new job of a higher epoch.
start 3
kill -9 "${pids[0]}"
end_of 0
wait_for said 1 "is lost"
ranks_gone() { ! pgrep -fx "bash $work/saving.sh" >/dev/null; }
wait_for ranks_gone
node 0 -- sh -c 'echo "rank $RANK epoch $DSLAUNCH_EPOCH"'
ends 0 0 1 2
for r in 0 1 2; do must_say 0 "[$r] rank $r epoch 1"; done

# A root that never comes back: the joiners give up after --wait, and say why.
start 2 --wait 2s
kill -9 "${pids[0]}"
end_of 0
ends 69 1
must_say 1 "no root within 2 s"
has_report 1 '"exit_code":69' "no root within 2 s"

peers_of 2
# 93 means "do not restart", everywhere.
for i in 0 1; do node $i --max-restarts 3 -- sh -c 'exit 93'; done
ends 93 0 1

# --on-success idle: 0 keeps the node until TERM, which is then 0; a failure ends it.
for i in 0 1; do node $i --on-success idle -- true; done
wait_for said 0 "stays until TERM"
wait_for said 1 "stays until TERM"
sleep 0.3
still_runs "${pids[0]}" && still_runs "${pids[1]}" || die "a node that should stay has ended"
has_report 1 '"exit_code":0'
kill -TERM "${pids[0]}" "${pids[1]}"
ends 0 0 1
for i in 0 1; do node $i --on-success idle -- false; done
ends 1 0 1
nothing_left || die "left: $(job_processes)"

# TERM while the root checks a train.toml, which may take minutes.
mkdir slow
cp "$dslaunch" slow/
printf '#!/bin/sh\n: >checking\nexec sleep 60\n' >slow/dsrunner
chmod +x slow/dsrunner
: >train.toml
for i in 0 1; do dslaunch=$work/slow/dslaunch node $i train.toml; done
wait_for files_there checking
kill -TERM "${pids[0]}"
ends 143 0 1
nothing_left || die "left: $(job_processes)"
echo OK
