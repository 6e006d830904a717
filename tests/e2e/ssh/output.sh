#!/usr/bin/env bash
# Tests output and input over ssh with 4 hosts of one sshd on loopback: no line lost or torn, a reader that stops, times,
# filters, log files on nodes, standard input, terminals.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
. "$DS_SOURCE/tests/support/launch.sh"
trap 'sshd_stop "$work/ssh"; clean_up' EXIT
mkdir ssh
sshd_setup "$work/ssh"
port=$(free_port)
listen=()
for i in 2 3 4 5; do
  sshd_know "$work/ssh" "[127.0.0.$i]:$port"
  printf '127.0.0.%s port=%s\n' "$i" "$port" >>hosts
  listen+=("ListenAddress 127.0.0.$i")
done
# Where a time namespace can be made, the steady clocks of the nodes are ten hours ahead of ours.
if unshare --time --monotonic 36000 true 2>/dev/null; then
  SSHD_START="unshare --time --monotonic 36000 /usr/sbin/sshd -f $work/ssh/sshd_config -E $work/ssh/sshd.log"
fi
sshd_start "$work/ssh" 127.0.0.1 "$port" "${listen[@]}" || die "no sshd"
reach=(--ssh-config "$work/ssh/ssh_config" --hostfile hosts)

# Everything arrives, whole and in order, also when nobody reads for a while.
expected=$(seq 1 500000 | md5sum)
mkfifo pipe
for pause in 0 2; do
  (
    exec 3<pipe
    sleep $pause
    exec cat <&3 >out
  ) &
  reader=$!
  rc=0
  "$dslaunch" "${reach[@]}" -- seq 1 500000 >pipe 2>err </dev/null || rc=$?
  wait $reader
  expect 0 "output of four hosts"
  for rank in 0 1 2 3; do
    [ "$(grep "^\[$rank\] " out | cut -d' ' -f2 | md5sum)" = "$expected" ] || die "lines of rank $rank (pause $pause)"
  done
  [ "$(wc -l <out)" = 2000000 ] || die "lines of nobody"
done

# A flood that nobody reads: Ctrl-C is not late, nothing is left.
setsid "$dslaunch" "${reach[@]}" --grace 100ms -- bash -c ': >"$0/flood.$RANK"; exec yes' "$work" >pipe 2>err </dev/null &
launcher=$!
exec 3<pipe
wait_for files_there flood.0 flood.1 flood.2 flood.3
sleep 0.5
kill -INT "$launcher"
finish
expect 130 "interrupt under a flood"
exec 3<&-
wait_for nothing_left

# Times of nodes are on our clock; what is not shown is kept on the node and told in the verdict.
before=$(date +%Y-%m-%dT%H:%M:%S)
run "${reach[@]}" --timestamps --show 1 --log-dir "node:$work/kept/{node}" -- bash -c 'echo "words of $RANK"
  : >"$0/said.$RANK"; [ $RANK = 2 ] || exit 0; while [ ! -e "$0/said.1" ]; do sleep 0.02; done; exit 4' "$work"
expect 4 "log files on nodes"
read -r time prefix rest <out
[ "$prefix $rest" = "[1] words of 1" ] || die "--show of one rank"
[[ ! $time < $before && ! $time > $(date +%Y-%m-%dT%H:%M:%S.999) ]] || die "time $time"
grep -q 'words of 2' err || die "last lines of a rank that is not shown"
[ "$(cut -d' ' -f2- kept/127.0.0.4/rank_0002.log)" = "words of 2" ] || die "log file on a node"

# Standard input crosses, with its end; a terminal is one there too.
head -c 5000000 /dev/urandom >random
"$dslaunch" "${reach[@]}" --stdin all --prefix '' -- md5sum <random >out 2>err || die "standard input of all"
[ "$(sort -u out)" = "$(md5sum <random)" ] || die "standard input of all"
run "${reach[@]}" --pty --fold -- bash -c 'stty size <&1'
expect 0 "pty"
[ "$(sed 's/^\[[-0-9,]*\] //' out | sort -u)" = "24 80" ] || die "pty"
echo "output over ssh: whole, in order, on time"
