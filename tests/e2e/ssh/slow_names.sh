#!/usr/bin/env bash
# Tests that a silent name server delays only lookups of the names that it serves.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
unshare -m true 2>/dev/null || { echo "SKIP: no mount namespaces here"; exit 77; }
. "$DS_SOURCE/tests/support/launch.sh"
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; sshd_stop "$work/ssh"; clean_up' EXIT
mkdir ssh
sshd_setup "$work/ssh"
port=$(free_port)
sshd_start "$work/ssh" 127.0.2.1 "$port" || die "no sshd"
sshd_know "$work/ssh" "[known]:$port"
printf 'Host *\nPort %s\n' "$port" >>ssh/ssh_config

: >bound
python3 -c '
import signal, socket
taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
taken.bind(("127.0.2.53", 53))
print("bound", flush=True)
signal.pause()' >bound &
server=$!
wait_for grep -q bound bound
echo 'nameserver 127.0.2.53' >resolv.conf
printf '127.0.0.1 localhost\n127.0.2.1 known\n' >hosts
echo 'hosts: files dns' >nsswitch.conf
# here ARGS...: dslaunch where these are the files of /etc.
here() {
  rc=0
  unshare -m sh -c 'for file in resolv.conf hosts nsswitch.conf; do mount --bind "$file" "/etc/$file" || exit 1; done
    exec timeout 60 "$@"' sh "$dslaunch" "$@" >out 2>err </dev/null || rc=$?
}

here exec --ssh-config ssh/ssh_config -t 3 -S -w 'lost[01-40],known' -- echo here
expect 69 "forty names that nobody knows"
[ "$(cat out)" = "known: here" ] || die "a name of /etc/hosts behind them"
grep -q '^dslaunch: 40 of 41 nodes were not reached:' err || die "how many"
grep -Eq '^  lost\[01-40\] \(40\) +name lookup ' err || die "which, and why"
echo "ok"
