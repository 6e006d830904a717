#!/usr/bin/env bash
# Tests jobs over ssh on two nodes of one sshd on loopback and on this machine: environment, output, first failure, bad
# nodes, and clean-up when the launcher, or a node's agent or guard, is killed.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
. "$DS_SOURCE/tests/support/launch.sh"
trap 'sshd_stop "$work/ssh"; clean_up' EXIT
mkdir ssh
sshd_setup "$work/ssh"
port=$(free_port)
sshd_start "$work/ssh" 127.0.0.1 "$port" "ListenAddress 127.0.0.2" "ListenAddress 127.0.0.3" ||
  die "no sshd"
sshd_know "$work/ssh" "[127.0.0.2]:$port" "[127.0.0.3]:$port"
printf '127.0.0.2 port=%s slots=2\n127.0.0.3 port=%s slots=2\n' "$port" "$port" >two
printf 'localhost slots=1\n127.0.0.2 port=%s slots=1\n' "$port" >mixed
job() {
  local hosts=$1
  shift
  run --ssh-config "$work/ssh/ssh_config" --hostfile "$hosts" "$@"
}

job two --wdir "$work" -x GIVEN="a 'b' \$c" -- bash -c 'env -0 >"env.$RANK"; echo "out $RANK"; echo "err $RANK" >&2'
expect 0 "two nodes"
[ "$(sort out)" = "$(for rank in 0 1 2 3; do echo "[$rank] out $rank"; done)" ] || die "output of two nodes"
[ "$(sort err)" = "$(for rank in 0 1 2 3; do echo "[$rank] err $rank"; done)" ] || die "errors of two nodes"
for rank in 0 1 2 3; do
  for pair in WORLD_SIZE=4 RANK=$rank LOCAL_RANK=$((rank % 2)) LOCAL_WORLD_SIZE=2 NODE_RANK=$((rank / 2)) \
    GROUP_RANK=$((rank / 2)) CROSS_RANK=$((rank / 2)) CROSS_SIZE=2 "GIVEN=a 'b' \$c" PWD="$work"; do
    tr '\0' '\n' <env.$rank | grep -qxF "$pair" || die "rank $rank lacks $pair"
  done
done
[ "$(cat env.? | tr '\0' '\n' | grep -E '^MASTER_(ADDR|PORT)=' | sort -u | wc -l)" = 2 ] || die "MASTER_* differ"

job mixed --wdir "$work" -- bash -c 'echo "node $NODE_RANK"'
expect 0 "this machine and another"
[ "$(sort out)" = "[0] node 0
[1] node 1" ] || die "this machine and another: output"

# Slots that the node is asked for, and an address that is dialled instead of a name.
sshd_know "$work/ssh" "[node9]:$port"
printf '127.0.0.2 port=%s slots=auto\nnode9 port=%s addr=127.0.0.3\n' "$port" "$port" >auto
job auto --wdir "$work" -- bash -c 'echo "$LOCAL_WORLD_SIZE $CROSS_SIZE"'
expect 0 "slots=auto and addr="
[ "$(sed 's/^\[[0-9]*\] //' out | sort | uniq -c | tr -s ' ' | tr '\n' ';')" = \
  "$(printf '%s 2\n' $(yes "$(nproc)" | head -n "$(nproc)") 1 | sort | uniq -c | tr -s ' ' | tr '\n' ';')" ] ||
  die "slots=auto: $(cat out)"
printf '127.0.0.2 port=%s slots=auto\n127.0.0.9 port=%s slots=auto\n' "$port" "$port" >auto
job auto -- true
expect 69 "slots=auto of a host that is not there"
grep -q '1 of 2 hosts with slots=auto cannot be asked' err && grep -q '127.0.0.9.*refused' err || die "its message"

job two --grace 30s -- bash -c 'if [ $RANK = 3 ]; then exit 9; fi; exec sleep 60'
expect 9 "a failure on one node stops the other"
last_line_is "dslaunch: rank 3 on 127.0.0.3: exited 9 (first failure); 3 ranks ended after it"
job two -- no-such-command-anywhere
expect 127 "missing command on a node"
wait_for nothing_left

# All that is bad is named at once, and nothing starts.
printf '127.0.0.2 port=%s\n127.0.0.[9-40] port=%s\nnosuchhost.invalid\n' "$port" "$port" >bad
job bad --wdir "$work" --verdict bad.json -- touch started
expect 69 "bad nodes"
grep -q '^dslaunch: 33 of 34 nodes cannot be used:$' err && [ "$(wc -l <err)" = 4 ] || die "bad nodes are not one table"
grep -qE '^  127\.0\.0\.\[9-40\] \(32\) +connection +cannot connect to port [0-9]+: Connection refused' err &&
  grep -qE '^  nosuchhost\.invalid +name lookup +the name nosuchhost\.invalid cannot be looked up: ' err ||
  die "bad nodes, stages and reasons are not named"
[ "$(grep -c '"stage": "connection"' bad.json)" = 32 ] || die "the verdict has no stages"
[ ! -e started ] || die "something ran although nodes are bad"

# The agent is not there: the node says so.
job two --agent-path /no/such/dslaunch -- true
case $rc in
0 | 69) ;; # a dslaunch on PATH is used instead
*) die "missing agent: exit code $rc" ;;
esac

parent_of() {
  awk '$1 == "PPid:" {print $2}' "/proc/$1/status"
}
# start_two: a job that ignores TERM, all ranks up; ids of one node's agent and of its guard to agent, guard.
start_two() {
  rm -f up.*
  background --ssh-config "$work/ssh/ssh_config" --hostfile two --wdir "$work" --grace 1s \
    -x DS_TEST_COOKIE -- bash -c \
    'trap "" TERM; setsid sleep 60 & echo $$ >pid.$RANK; mv pid.$RANK up.$RANK; while :; do sleep 1; done'
  wait_for files_there up.0 up.1 up.2 up.3
  agent=$(parent_of "$(parent_of "$(cat up.0)")")
  guard=$(parent_of "$agent")
  grep -q dsguard "/proc/$guard/comm" || die "guard: $(cat "/proc/$guard/comm")"
}
gone() {
  [ ! -e "/proc/$1" ] || [ "$(state_of "$1")" = Z ]
}
for victim in launcher agent guard; do
  for signal in KILL STOP; do
    [ "$victim $signal" != "launcher STOP" ] || continue # noticed by silence alone: --node-timeout
    start_two
    case $victim in
    launcher) kill -9 "$launcher" ;;
    agent) kill -$signal "$agent" ;;
    guard) kill -$signal "$guard" ;;
    esac
    finish
    [ $victim = launcher ] || expect 69 "$signal of a node's $victim"
    wait_for nothing_left
    wait_for gone "$agent"
    wait_for gone "$guard"
  done
done
echo "jobs over ssh: environment, output, failures, nothing left"
