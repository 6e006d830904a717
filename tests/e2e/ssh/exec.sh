#!/usr/bin/env bash
# Tests --transport exec: jobs through the OpenSSH client and a plain shell, the message of each failed start, clean-up.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
command -v ssh >/dev/null || { echo "SKIP: ssh is not installed"; exit 77; }
. "$DS_SOURCE/tests/support/launch.sh"
trap 'sshd_stop "$work/ssh"; clean_up' EXIT
mkdir ssh
sshd_setup "$work/ssh"
port=$(free_port)
sshd_start "$work/ssh" 127.0.0.1 "$port" "ListenAddress 127.0.0.2" "ListenAddress 127.0.0.3" || die "no sshd"
sshd_know "$work/ssh" "[127.0.0.2]:$port" "[127.0.0.3]:$port"
printf '127.0.0.2 port=%s slots=2\n127.0.0.3 port=%s slots=2\n' "$port" "$port" >two
printf 'red slots=2\nblue slots=2\n' >names
ssh_client="ssh -F $work/ssh/ssh_config -p {port} {host}"

run --transport "exec:$ssh_client" --hostfile two -- sh -c 'echo "out $RANK"; echo "err $RANK" >&2'
expect 0 "a job through ssh"
[ "$(sort out)" = "$(for rank in 0 1 2 3; do echo "[$rank] out $rank"; done)" ] || die "output"
[ "$(sort err)" = "$(for rank in 0 1 2 3; do echo "[$rank] err $rank"; done)" ] || die "errors"
run --transport "exec:sh -c {command}" --hostfile names -- sh -c 'echo "node $NODE_RANK"; [ $RANK != 3 ] || { sleep 0.5; exit 6; }'
expect 6 "a job without any ssh"
grep -q '^\[2\] node 1$' out || die "output without ssh"

run --transport "exec:sh -c 'echo the reason >&2; exit 255' {host}" --hostfile names -- true
expect 69 "a program that fails"
grep -q 'red.*sh exited 255.*the reason' err && grep -q 'blue.*the reason' err || die "no reason"
run --transport "exec:no-such-program {host}" --hostfile names -- true
expect 69 "no program"
grep -q 'red.*cannot start no-such-program: No such file' err || die "no reason"
run --transport "exec:ssh {host}" --hostfile two -- true
expect 69 "a port that nobody takes"
grep -q "127.0.0.*gives it port $port, but --transport exec has no {port}" err || die "no reason"
run --transport "exec:ssh {hots}" --hostfile two -- true
expect 64 "a token that is none"
rc=0
"$DS_TESTS/ssh_probe" -x "sh -c 'exec sleep 50' {host}" -t 300 a b >out 2>err </dev/null || rc=$?
expect 69 "a program that says nothing"
grep -q '^no_agent: \[agent start\] a: sh gave no answer within 0.3 s' err || die "no reason"

# The program dies: the node is lost. The launcher dies: the programs and the ranks end.
clients() {
  local pid
  for pid in $(job_processes); do
    [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != ssh ] || echo "$pid"
  done
}
no_clients() { [ -z "$(clients)" ]; }
for victim in client launcher; do
  rm -f up.*
  background --transport "exec:$ssh_client" --hostfile two --wdir "$work" --grace 1s -x DS_TEST_COOKIE -- \
    sh -c 'touch up.$RANK; exec sleep 60'
  wait_for files_there up.0 up.1 up.2 up.3
  if [ $victim = client ]; then
    kill -9 "$(clients | head -n 1)"
    finish
    expect 69 "a program that is killed"
    grep -q 'ssh killed by SIGKILL' err || die "no reason"
  else
    kill -9 "$launcher"
    finish
  fi
  wait_for no_clients
  wait_for nothing_left
done
echo "exec transport: jobs, reasons, nothing left"
