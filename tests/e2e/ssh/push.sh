#!/usr/bin/env bash
# Nodes without dslaunch: it is copied to them, once, as a whole or not at all; and each way in which that cannot be.
# One sshd in a mount namespace where the launcher's own folder is empty. shells.sh does the same with every login shell.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
unshare -m true 2> /dev/null || { echo "SKIP: this system does not allow mount namespaces"; exit 77; }
. "$DS_SOURCE/tests/support/launch.sh"
trap 'sshd_stop "$work/ssh"; clean_up' EXIT
mkdir ssh here_only cache first_in_path
sshd_setup "$work/ssh"
cp "$dslaunch" here_only/dslaunch
dslaunch=$work/here_only/dslaunch
printf '#!/bin/sh\nmount -t tmpfs none "%s/here_only" && exec /usr/sbin/sshd -f "%s/ssh/sshd_config" -E "%s/ssh/sshd.log"\n' \
  "$work" "$work" "$work" > start_sshd
port=$(free_port)
SSHD_START="unshare -m sh $work/start_sshd" sshd_start "$work/ssh" 0.0.0.0 "$port" \
  "SetEnv SHLVL=1 XDG_CACHE_HOME=$work/cache PATH=$work/first_in_path:/usr/bin:/bin" || die "no sshd"
sshd_know "$work/ssh" "[127.0.9.*]:$port"
for i in 1 2 3 4; do echo "127.0.9.$i port=$port"; done > hosts
job() { run --ssh-config "$work/ssh/ssh_config" --hostfile hosts "$@"; }
# They share a folder here, as nodes with one home do.
copies() { find cache -type f; }
reason() { grep -qE "$1" err || die "no reason like: $1"; }

job --push never -- true
expect 69 "--push never"
reason 'dslaunch is not on this node: no .*/here_only/dslaunch'
job --agent-path /nowhere/dslaunch -- true
expect 69 "a path that was given and is not there"
[ -z "$(copies)" ] || die "copied against the user's wish"

job -- bash -c 'echo "rank $RANK"; read -r line; echo "$line"' < /dev/null
expect 0 "four nodes at once"
reason 'warning: 127.0.9.[1-4] has no dslaunch: this one is copied to ~/.cache/dslaunch there'
[ "$(grep -c warning err)" = 1 ] || die "said more than once"
[ "$(grep -c 'rank [0-3]' out)" = 4 ] || die "not four ranks"
[ "$(copies | wc -l)" = 1 ] || die "something is left beside the copy: $(copies)"
cmp -s "$(copies)" "$dslaunch" || die "the copy differs"
made=$(stat -c %i:%Y "$(copies)")

job -- true
expect 0 "the second time"
[ ! -s err ] || die "said again"
[ "$(stat -c %i:%Y "$(copies)")" = "$made" ] || die "copied again"
"$dslaunch" exec --ssh-config ssh/ssh_config --hostfile hosts -b -- 'echo from exec' > out 2> err || die "exec: $?"
grep -q 'from exec' out || die "exec says nothing"

# What comes only in part is not run.
rm -r cache/dslaunch
printf '#!/bin/sh\nexec /usr/bin/head -c 1000000\n' > first_in_path/head
chmod 755 first_in_path/head
job -- true
expect 69 "a part of the program"
reason 'could not be copied to .*/cache/dslaunch/.*: not all of it came'
[ -z "$(copies)" ] || die "the part is left: $(copies)"
printf '#!/bin/sh\necho no room on the disk >&2\nexit 1\n' > first_in_path/head
job -- true
expect 69 "a full disk"
reason 'could not be copied to .*: no room on the disk'
rm first_in_path/head
printf '#!/bin/sh\necho sparc64\n' > first_in_path/uname
chmod 755 first_in_path/uname
job -- true
expect 69 "another kind of machine"
reason "this one is for $(uname -m), not sparc64"
rm first_in_path/uname
rm -r cache
: > cache
job -- true
expect 69 "a folder that cannot be made"
reason 'could not be copied to .*/cache/dslaunch/.*: mkdir: '
job --push sometimes -- true
expect 64 "--push sometimes"
echo "ssh push: all passed"
