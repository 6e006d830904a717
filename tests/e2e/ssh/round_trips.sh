#!/usr/bin/env bash
# What dslaunch need not wait for it does not wait for: a relay holds the server back until the client has sent it.
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

# through 'PAIR...' OPTION...: one job by way of a relay that expects these of the client.
through() {
  local near pairs=$1
  shift
  near=$(free_port)
  sshd_know "$work/ssh" "[127.0.0.1]:$near"
  : > said
  python3 "$DS_SOURCE/tests/e2e/ssh/holding_relay.py" "$near" "$port" $pairs > said &
  relay=$!
  wait_for grep -q listening said
  echo "127.0.0.1 port=$near" > hosts
  run --ssh-config "$work/ssh/ssh_config" --hostfile hosts "$@" -- echo arrived
  wait_for grep -q packets said
  kill "$relay"
  relay=
}

# Behind its NEWKEYS: 1 asks for the login service, 2 logs in, 3 asks for a channel, 4 for the command.
ldd "$dslaunch" | grep -q libssh && login='' || login=1-2 # a shared libssh waits there
through "$login 3-4"
expect 0 "a job through the relay"
grep -q held said && die "it waited for what it need not: $(cat said)"
grep -q arrived out || die "its output"

# The relay does notice who waits: what comes behind the command answers the agent's first words.
through 4-5
grep -q 'held 4' said || die "nothing was held: $(cat said)"

# sshd answers the service and the login by a small packet each: its kernel holds the second back until the first is
# acknowledged, which ours puts off unless it is told not to. Of five, for the machine may be busy.
for _ in 1 2 3 4 5; do
  through ack-2
  ! grep -q acknowledged said || break
done
grep -q acknowledged said || die "the answer to a login waits for an acknowledgement"

# What is over before its channel was heard of has run all the same.
through burst-4
expect 0 "all at once"
grep -q arrived out || die "its output, all at once"
through burst-4 --agent-path /nowhere/dslaunch
expect 69 "no agent, said all at once"
grep -q '/nowhere/dslaunch' err || die "it does not say what is missing"
grep -q 'refused a channel' err && die "the channel was not refused"
echo "ok"
