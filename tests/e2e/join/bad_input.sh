#!/usr/bin/env bash
# What can be wrong with a job of nodes that find each other: one clear message each, and its exit code.
set -u
. "$DS_SOURCE/tests/support/join_nodes.sh"

# refused CODE TEXT ARGS...: that node alone says so in at most two lines and ends with the code.
refused() {
  node 0 "${@:3}"
  ends "$1" 0
  must_say 0 "$2"
  [ "$(grep -v '^dslaunch: peers:' 0.out | wc -l)" -le 2 ] || die "too many words: $(cat 0.out)"
}

peers_of 4
# Without any secret, an empty one, one that is not there.
token=$DSLAUNCH_TOKEN
unset DSLAUNCH_TOKEN
HOME=$work refused 65 "DSLAUNCH_TOKEN" -- true
DSLAUNCH_TOKEN=' ' refused 65 "DSLAUNCH_TOKEN" -- true
DSLAUNCH_TOKEN=hunter2 refused 65 'make a good one with: openssl rand -hex 32' -- true
refused 65 "$work/no-such-key" --key-file "$work/no-such-key" -- true
has_report 0 '"exit_code":65' "$work/no-such-key"
: >empty
refused 65 "empty" --key-file "$work/empty" -- true
export DSLAUNCH_TOKEN=$token

# Command lines and places that cannot be.
refused 64 "nothing to run"
refused 64 "--hostfile cannot be used with dslaunch agent --join" --hostfile x -- true
refused 64 "--root, --peers and a command cannot be combined" --root a -- true
refused 64 "--nnodes is 3, but there are 4" --nnodes 3 -- true
peers_of 2
as=bad node 2 -- true
ends 64 bad
must_say bad "index 2"
log=/nowhere/log refused 65 "/nowhere/log" -- true

# A wrong secret: neither side goes on, each says why; the right one still joins.
as=stranger DSLAUNCH_TOKEN=the-token-of-another-job node 1 --wait 1500ms -- true
node 0 -- true
wait_for said 0 "key"
ends 69 stranger
must_say stranger "key"
has_report stranger '"exit_code":69'
! grep -qF -e "$token" -e the-token-of-another-job ./*.out ./*.log || die "a secret was written"
node 1 -- true
ends 0 0 1

# Another job behind the same address is refused, and dials on: it may be ours in a moment.
as=other node 1 --job-id theirs --wait 1500ms -- true
node 0 --job-id ours --wait 20s -- true
wait_for said 0 "theirs"
ends 69 other
must_say other "this is the root of job ours"
node 1 --job-id ours -- true
ends 0 0 1

# Two nodes with one index: the newer one stays, the older one ends with one message.
peers_of 3
as=old node 1 -- true
node 0 --wait 20s -- true
wait_for said old "has joined"
as=new node 1 -- true
ends 69 old
must_say old "two nodes say that they are $net.12"
must_say 0 "two nodes say that they are $net.12"
has_report old '"exit_code":69' "two nodes say"
node 2 -- true
ends 0 0 new 2

# A node is missing at the deadline: the root names it, and all end with 69.
node 0 --wait 1500ms -- true
node 1 -- true
ends 69 0 1
must_say 0 "missing: $net.13"
has_report 0 '"exit_code":69' "missing: $net.13"
has_report 1 '"exit_code":69' "missing: $net.13"

# Nobody is the root.
node 1 --wait 1s -- true
ends 69 1
must_say 1 "no root within 1 s"
echo OK
