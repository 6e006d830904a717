#!/usr/bin/env bash
# --nodes MIN:MAX with any program, on this machine: a node whose agent is killed leaves, its host joins again, exit code 94
# begins the next epoch, and only failures of ranks count against --max-restarts.
set -u
. "$DS_SOURCE/tests/support/launch.sh"

cat >agent_of <<'END'
up() { awk '$1 == "PPid:" {print $2}' "/proc/$1/status"; }
up "$(up "$1")"
END
# dial HOST COMMAND: starts an agent, unless the file down.HOST says that the host is away.
cat >dial <<'END'
[ ! -e "down.$1" ] || exit 1
exec sh -c "$2"
END
by_dial="exec:sh $work/dial {host} {command}"
printf 'n%s slots=2\n' 0 1 2 3 >hosts

# Each rank says where it is; DO names what it does in its epoch.
export body='
  sh agent_of $$ >agent.$DSLAUNCH_EPOCH.$RANK.tmp; mv agent.$DSLAUNCH_EPOCH.$RANK.tmp agent.$DSLAUNCH_EPOCH.$RANK
  echo "epoch $DSLAUNCH_EPOCH rank $RANK of $WORLD_SIZE place $NODE_RANK.$LOCAL_RANK in $DSLAUNCH_ELASTIC_RANKS restarts $TORCHELASTIC_RESTART_COUNT/$TORCHELASTIC_MAX_RESTARTS port $MASTER_PORT"
  : >up.$DSLAUNCH_EPOCH.$RANK
  while [ ! -e go.$DSLAUNCH_EPOCH ]; do sleep 0.02; done
  exit $(cat go.$DSLAUNCH_EPOCH)'
epoch_is_up() { # EPOCH RANKS
  local rank
  for ((rank = 0; rank < $2; ++rank)); do [ -e "up.$1.$rank" ] && [ -e "agent.$1.$rank" ] || return 1; done
}
end_epoch() { echo "$2" >go.tmp; mv go.tmp "go.$1"; } # EPOCH CODE: all its ranks exit with it
said() { grep -qE -- "$1" err || die "not said: $1"; }
fresh() { rm -f up.* agent.* go.* down.* v.json; }
lose() { # HOST EPOCH RANK: the host of this rank goes away until it is back
  : >"down.$1"
  kill -9 "$(cat "agent.$2.$3")"
}
is_back() { rm "down.$1"; }
places_are() { # EPOCH RANKS RESTARTS
  local rank
  for ((rank = 0; rank < $2; ++rank)); do
    grep -qE "^\[$rank\] epoch $1 rank $rank of $2 place $((rank / 2)).$((rank % 2)) in 4:8 restarts $3 port [0-9]+$" out ||
      die "rank $rank of epoch $1"
  done
  [ "$(grep -c "epoch $1 " out)" = "$2" ] || die "epoch $1 has not $2 ranks"
  [ "$(grep "epoch $1 " out | sed 's/.*port //' | sort -u | wc -l)" = 1 ] || die "ports of epoch $1"
}

# 4 nodes; one is lost: 3 go on; its host is back, and joins when the ranks exit with 94.
background --transport "$by_dial" --hostfile hosts --nodes 2:4 --verdict v.json -- bash -c "$body"
wait_for epoch_is_up 0 8
lose n1 0 2
wait_for epoch_is_up 1 6
is_back n1
wait_for grep -q 'n1 is ready and joins at the next restart' err
end_epoch 1 94
wait_for epoch_is_up 2 8
end_epoch 2 0
finish
expect 0 "a job whose node left and joined"
places_are 0 8 0/3
places_are 1 6 0/3
places_are 2 8 0/3
cmp -s agent.0.0 agent.2.0 || die "the agent of a node that lives did not stay"
said '^dslaunch: node n1 is lost: .*; starting all ranks again$'
said '^dslaunch: epoch 1: 3 nodes and 6 ranks \(before: 4 and 8\)$'
said '^dslaunch: the ranks have paused; beginning the next epoch$'
said '^dslaunch: epoch 2: 4 nodes and 8 ranks \(before: 3 and 6\); n1 joins$'
python3 - <<'END' || die "epochs in the verdict: $(cat v.json)"
import json
verdict = json.load(open("v.json"))
epochs = verdict["epochs"]
assert [e["cause"] for e in epochs] == ["start", "lost", "paused"], epochs
assert [e["nodes"] for e in epochs] == [4, 3, 4] and [e["ranks"] for e in epochs] == [8, 6, 8], epochs
assert [e["nodes_before"] for e in epochs] == [0, 4, 3] and not any(e["restart"] for e in epochs), epochs
for e in epochs[1:]:
    assert 0 <= e["stopped"] <= e["placed"] <= e["started"] < 15, e
assert verdict["restarts"] == [] and verdict["nodes"] == ["n0", "n2", "n3", "n1"], verdict
END
nothing_left || die "left: $(job_processes)"

# A failure of a rank counts; the loss of a node does not.
fresh
background --transport "$by_dial" --hostfile hosts --nodes 2:4 --max-restarts 1 --verdict v.json -- bash -c "$body"
wait_for epoch_is_up 0 8
lose n0 0 0
wait_for epoch_is_up 1 6
is_back n0
wait_for grep -q 'n0 is ready' err
end_epoch 1 5
wait_for epoch_is_up 2 8
end_epoch 2 6
finish
expect 6 "a second failure of ranks"
places_are 2 8 1/1
said '; restart 1 of 1$'
grep -q 'after 1 restart$' err || die "the reason of the end"
! grep -q 'exited 6; starting' err || die "it says that all ranks start again, and ends"
said '^dslaunch: epochs: 4 nodes; 3 \(node n0 is lost: .*\); 4 \(rank [0-9] on n[0-9]: exited 5\)$'

# A spare fills in; nothing is said of it before.
fresh
background --transport "$by_dial" --hostfile hosts --nodes 2:3 -- bash -c "$body"
wait_for epoch_is_up 0 6
lose n2 0 5
wait_for epoch_is_up 1 6
end_epoch 1 0
finish
expect 0 "a spare"
said '^dslaunch: epoch 1: 3 nodes and 6 ranks; n3 joins$'

# Below MIN the job waits for the host.
fresh
background --transport "$by_dial" --hostfile hosts --nodes 4 -- bash -c "$body"
wait_for epoch_is_up 0 8
lose n3 0 7
wait_for grep -q 'waiting up to 10 min for hosts: 3 of at least 4 are ready$' err
is_back n3
wait_for epoch_is_up 1 8
end_epoch 1 0
finish
expect 0 "a lost host that answers again"

# Without MIN:MAX 94 is an exit code like any other.
run -n 2 -- bash -c 'exit 94'
expect 94 "exit code 94 of another job"
[ "$(grep -c '' err)" = 1 ] || die "what is said of 94"

refused() { # TEXT ARGS...
  local text=$1
  shift
  run "$@" -- true
  [ "$rc" = 64 ] || [ "$rc" = 65 ] || die "not refused: $*"
  [ "$(grep -c '^dslaunch: ' err)" = 1 ] || die "several messages for: $*"
  grep -qF -- "$text" err || die "the message for $* is not: $text"
}
refused 'MIN is greater than MAX' --hostfile hosts --nodes 4:2
refused 'MIN must be at least 1' --hostfile hosts --nodes 0:2
refused 'must be MIN:MAX, MIN: or N' --hostfile hosts --nodes 1:x
refused '--nodes 5:9 needs at least 5 hosts, but 4 are given' --hostfile hosts --nodes 5:9
refused '--nodes and -n cannot be combined' --hostfile hosts --nodes 1:4 -n 3
refused '--nodes and --spares cannot be combined' --hostfile hosts --nodes 1:4 --spares 1
refused '--nodes and --part cannot be combined' --nodes 1:4 --part 0/1
refused '--on-loss needs --nodes' --hostfile hosts --on-loss wait
refused '--stdin: rank 3 is missing' --hostfile hosts --nodes 1:4 --stdin 3
run --hostfile hosts --nodes 1:4 -- true : -n 1 -- true
expect 64 "several programs"
grep -qF -- '--nodes and several programs cannot be combined' err || die "several programs"
run --hostfile hosts --nodes 2:9 --dry-run -- true # MAX may be more than there are hosts now
expect 0 "MAX beyond the hosts"
[ "$(grep -c '^ *[0-9] *n[0-3] ' out)" = 8 ] || die "the table of --dry-run"
echo "any program: all cases passed"
