#!/usr/bin/env bash
# Tests copying dslaunch to nodes that lack it or have another build: once, completely or not at all, and each failure.
# One sshd in a mount namespace where the launcher's own folder is empty. shells.sh tests copying with every login shell.
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
# warned TEXT: the only warning, of all four nodes. Nodes that are late on a busy machine have a line of their own.
warned() {
  grep '^dslaunch: warning: ' err > warnings
  grep -vE "^dslaunch: warning: 127.0.9.[^ ]*: $1\$" warnings && die "another warning than: $1"
  [ "$(wc -l < warnings)" -lt 4 ] || die "said for each node"
  [ "$("$dslaunch" exec -n --here -N -w "$(sed 's/^dslaunch: warning: //; s/: .*//' warnings | paste -sd,)" -- echo %h | sort | tr '\n' ' ')" = \
    "127.0.9.1 127.0.9.2 127.0.9.3 127.0.9.4 " ] || die "not all nodes are warned of"
}

job --push never -- true
expect 69 "--push never"
reason 'dslaunch is not on this node: no .*/here_only/dslaunch'
job --agent-path /nowhere/dslaunch -- true
expect 69 "a path that was given and is not there"
[ -z "$(copies)" ] || die "copied against the user's wish"

job -- bash -c 'echo "rank $RANK"; read -r line; echo "$line"' < /dev/null
expect 0 "four nodes at once"
warned 'no dslaunch there; copying this program to ~/.cache/dslaunch \(disable with --push never\)'
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

# Something else of that name is on PATH there.
foreign() { printf "$1" > first_in_path/dslaunch; chmod 755 first_in_path/dslaunch; }
instead="this program is used from ~/.cache/dslaunch there \(disable with --push never\)"
found="$work/first_in_path/dslaunch there"
foreign '#!/bin/sh\necho usage: dslaunch FILE >&2\nexit 2\n'
job -- true
expect 0 "a program of the same name"
warned "$found is not a working dslaunch \(exit status 2\); $instead"
job --push never -- true
expect 69 "a program of the same name, and no copy allowed"
foreign '\177ELF'
job -- true
expect 0 "a broken program"
warned "$found is not a working dslaunch \(exit status 12[67]\); $instead"
foreign '#!/bin/sh\nkill -SEGV $$\n'
job -- true
expect 0 "a program that crashes"
warned "$found is not a working dslaunch \(killed by SIGSEGV\); $instead"
foreign '#!/bin/sh\nprintf "\\001dslaunch-frames\\002\\n"\ncat > /dev/null\n'
job -- true
expect 0 "an older dslaunch"
warned "$found is an older one that does not name its build, this one is build [0-9a-f]{12}; $instead"
foreign '#!/bin/sh\nexec sleep 40\n'
job -- true
expect 0 "a program of the same name that waits"
warned "$found did not answer within 15 s; $instead"
objcopy -O binary --only-section=.note.gnu.build-id "$dslaunch" note
{ head -c 16 note; head -c 20 /dev/zero; } > other_note
objcopy --update-section .note.gnu.build-id=other_note "$dslaunch" first_in_path/dslaunch || die "objcopy"
job -- true
expect 0 "another build"
warned "$found is build 000000000000, this one is build [0-9a-f]{12}; $instead"
job --push never -- true
expect 0 "another build, and no copy allowed"
warned "$found is build 000000000000, this one is build [0-9a-f]{12}; it is used anyway"
rm first_in_path/dslaunch

# A server that allows one session a connection.
sshd_stop "$work/ssh"
start() {
  SSHD_START="unshare -m sh $work/start_sshd" sshd_start "$work/ssh" 0.0.0.0 "$port" \
    "SetEnv SHLVL=1 XDG_CACHE_HOME=$work/cache PATH=$work/first_in_path:/usr/bin:/bin" "$@" || die "no sshd"
}
start "MaxSessions 1"
job -- true
expect 0 "MaxSessions 1, with a copy that is there"
rm -r cache/dslaunch
job -- true
expect 0 "MaxSessions 1, without a copy"

# What comes only in part is not run.
rm -r cache/dslaunch
printf '#!/bin/sh\nexec /usr/bin/head -c 1000000\n' > first_in_path/head
chmod 755 first_in_path/head
job -- true
expect 69 "a part of the program"
reason 'could not be copied to .*/cache/dslaunch/.*: the copy is incomplete'
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
reason "the program to copy is for $(uname -m), not sparc64"
rm first_in_path/uname
rm -r cache
: > cache
job -- true
expect 69 "a folder that cannot be made"
reason 'could not be copied to .*/cache/dslaunch/.*: mkdir: '
job --push sometimes -- true
expect 64 "--push sometimes"
echo "ssh push: all passed"
