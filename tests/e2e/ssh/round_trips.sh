#!/usr/bin/env bash
# Tests a login through a relay: acknowledgements are sent at once, and all answers may come in one packet.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
. "$DS_SOURCE/tests/support/launch.sh"
relay=
trap '[ -z "$relay" ] || kill "$relay" 2> /dev/null; sshd_stop "$work/ssh"; clean_up' EXIT
mkdir ssh
sshd_setup "$work/ssh"
port=$(free_port)
sshd_start "$work/ssh" 127.0.0.1 "$port" || die "no sshd"

# through WORD OPTION...: one job by way of a relay that does WORD.
through() {
  local near word=$1
  shift
  near=$(free_port)
  sshd_know "$work/ssh" "[127.0.0.1]:$near"
  : > said
  python3 "$DS_SOURCE/tests/e2e/ssh/holding_relay.py" "$near" "$port" "$word" > said &
  relay=$!
  wait_for grep -q listening said
  echo "127.0.0.1 port=$near" > hosts
  run --ssh-config "$work/ssh/ssh_config" --hostfile hosts "$@" -- echo arrived
  wait_for grep -q packets said
  kill "$relay"
  relay=
}

# Behind its NEWKEYS a client sends 1: the request for the login service, 2: the login, 3: for a channel, 4: for the command.
# sshd answers the service and the login by a small packet each: its kernel holds the second back until the first is
# acknowledged, which ours puts off unless it is told not to. Of five, for the machine may be busy.
for _ in 1 2 3 4 5; do
  through ack-2
  ! grep -q acknowledged said || break
done
grep -q acknowledged said || die "the answer to a login waits for an acknowledgement"

# A command that is over before libssh has told of its start has run all the same.
through burst-4
expect 0 "all at once"
grep -q arrived out || die "its output, all at once"
through burst-4 --agent-path /nowhere/dslaunch
expect 69 "no agent, said all at once"
grep -q '/nowhere/dslaunch' err || die "it does not say what is missing"
echo "ok"
