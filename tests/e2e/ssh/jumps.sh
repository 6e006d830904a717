#!/usr/bin/env bash
# Tests the ssh transport through jump hosts and ProxyCommands, with real sshd programs on loopback: one session on the
# jump host for many targets, further ones when it is full, chains, and the message of each failure.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
probe=$DS_TESTS/ssh_probe
dir=$(mktemp -d)
cleanup() {
  local each
  for each in "$dir" "$dir/gate" "$dir/closed"; do sshd_stop "$each"; done
  [ -z "${mux_pid-}" ] || kill "$mux_pid" 2> /dev/null
  rm -rf "$dir"
}
trap cleanup EXIT
unset SSH_AUTH_SOCK
failures=0
fail() { echo "FAIL: $case: $*"; head -c 2000 "$dir/err" | sed 's/^/    /'; failures=$((failures + 1)); }
run() {
  case=$1
  shift
  timeout 60 "$probe" -F "$dir/ssh_config" "$@" > "$dir/out" 2> "$dir/err" < "${input:-/dev/null}"
  status=$?
}
want_status() { [ "$status" -eq "$1" ] || fail "exit $status, expected $1"; }
want() { grep -qE -- "$1" "$dir/err" || fail "no message like: $1"; }
logins_at_gate() { grep -c 'Accepted publickey' "$dir/gate/sshd.log"; }

# Targets on one sshd, a jump host with a log, and a jump host that forwards nothing. The same client key everywhere.
sshd_setup "$dir"
for each in gate closed; do
  mkdir "$dir/$each"
  sshd_setup "$dir/$each"
  cp "$dir/authorized_keys" "$dir/$each/"
done
port=$(free_port)
sshd_start "$dir" 0.0.0.0 "$port" || exit 1
gate_port=$(free_port)
sshd_start "$dir/gate" 127.0.0.1 "$gate_port" "LogLevel VERBOSE" "MaxSessions 1" || exit 1
closed_port=$(free_port)
sshd_start "$dir/closed" 127.0.0.1 "$closed_port" "AllowTcpForwarding no" || exit 1
for each in gate closed; do
  # Their own host keys under an alias: HostKeyAlias counts for jump hosts too.
  echo "$each $(cut -d' ' -f1,2 "$dir/$each/host_key.pub")" >> "$dir/known_hosts"
done
# A multiplexer of protocols on one port: it asks the server only when it has seen how the client begins.
cat > "$dir/mux.py" << 'END'
import socket, sys, threading
def carry(here, there):
    while data := here.recv(65536):
        there.sendall(data)
    there.shutdown(socket.SHUT_WR)
listener = socket.create_server(("127.0.0.10", 0))
print(listener.getsockname()[1], flush=True)
while True:
    client = listener.accept()[0]
    greeting = client.recv(255)
    server = socket.create_connection(("127.0.0.10", int(sys.argv[1])))
    server.sendall(greeting)
    for pair in (client, server), (server, client):
        threading.Thread(target=carry, args=pair, daemon=True).start()
END
python3 "$dir/mux.py" "$port" > "$dir/mux_port" 2> /dev/null &
mux_pid=$!
until [ -s "$dir/mux_port" ]; do kill -0 "$mux_pid" || exit 1; sleep 0.02; done
mux_port=$(cat "$dir/mux_port")
sshd_know "$dir" "[127.0.*]:$port" "[127.0.*]:$mux_port"
{
  printf 'Host gate\n HostName 127.0.0.1\n Port %s\n HostKeyAlias gate\n' "$gate_port"
  printf 'Host closed\n HostName 127.0.0.1\n Port %s\n HostKeyAlias closed\n' "$closed_port"
  printf 'Host inner\n HostName 127.0.0.7\n Port %s\n' "$port"
  printf 'Host 127.0.3.*\n Port %s\n ProxyJump gate\n' "$port"
  printf 'Host nobody\n HostName 127.0.3.1\n Port %s\n ProxyJump gate\n' "$(free_port)"
  printf 'Host chain\n HostName 127.0.0.4\n Port %s\n ProxyJump gate,inner\n' "$port"
  printf 'Host late\n HostName 127.0.0.5\n Port %s\n ProxyJump closed\n' "$port"
  printf 'Host lost\n HostName 127.0.0.5\n Port %s\n ProxyJump unknown\n' "$port"
  printf 'Host unknown\n HostName 127.0.0.1\n Port %s\n' "$gate_port"
  printf 'Host netcat\n HostName 127.0.0.6\n Port %s\n ProxyCommand bash %s/pipe %%h %%p\n' "$port" "$dir"
  printf 'Host sshw\n HostName 127.0.0.8\n Port %s\n ProxyCommand ssh -F %s -W %%h:%%p gate\n' "$port" "$dir/ssh_config"
  printf 'Host waits\n HostName 127.0.0.10\n Port %s\n' "$mux_port"
  printf 'Host narrow\n HostName 127.0.0.10\n Port %s\n ProxyCommand bash %s/pipe %%h %%p\n' "$mux_port" "$dir"
  printf 'Host broken\n HostName 127.0.0.9\n ProxyCommand no-such-program %%h\n'
  printf 'Host *\n'
  cat "$dir/ssh_config"
} > "$dir/config"
mv "$dir/config" "$dir/ssh_config"
export SHELL=/bin/bash
echo 'exec 3<>/dev/tcp/$1/$2; cat <&3 & exec cat >&3' > "$dir/pipe"

many=()
for i in $(seq 1 40); do many+=("127.0.3.$i"); done
run "forty targets through one session of the jump host" -c 'echo "$SSH_CONNECTION"' "${many[@]}"
want_status 0
[ "$(cut -d' ' -f3 "$dir/out" | sort -u | wc -l)" = 40 ] || fail "not forty targets"
[ "$(logins_at_gate)" = 1 ] || fail "$(logins_at_gate) logins at the jump host"
before=$(logins_at_gate)
run "a jump host that takes ten at a time" -j 10 -c 'sleep 1' "${many[@]}"
want_status 0
[ $(($(logins_at_gate) - before)) = 4 ] || fail "$(($(logins_at_gate) - before)) logins at the jump host, not 4"
head -c 3000000 /dev/urandom > "$dir/data"
input=$dir/data run "bytes through a jump host" -i -c cat 127.0.3.1
input=
want_status 0
cmp -s "$dir/data" "$dir/out" || fail "the bytes differ"
run "20 MB both ways for four at once" -b 20000000 -c cat "${many[@]:0:4}"
want_status 0
want 'received=80000000'

run "a chain of jump hosts" -c 'echo "$SSH_CONNECTION"' chain
want_status 0
grep -q '127.0.0.4' "$dir/out" || fail "not at the target"
run "a way that waits for the client to begin" -c 'echo "$SSH_CONNECTION"' waits narrow
want_status 0
[ "$(grep -c '127.0.0.10' "$dir/out")" = 2 ] || fail "not at the target"
run "ProxyCommand" -c 'echo "$SSH_CONNECTION"' netcat sshw
want_status 0
grep -q '127.0.0.8' "$dir/out" || fail "not at the target"

run "every bad way at once" 127.0.3.1 nobody late lost broken
want_status 69
want 'hosts=5 bad=4 .*sockets=0'
want '^unreachable: \[connection\] nobody \(127.0.3.1\): jump host gate cannot connect to 127.0.3.1 port [0-9]+: the jump host says: '
want '^unreachable: \[connection\] late .*jump host closed cannot connect .*AllowTcpForwarding'
want '^unreachable: \[host key\] lost .*: jump host unknown: host key .* is unknown'
want '^unreachable: \[key exchange\] broken .*ProxyCommand exited 127: .*no-such-program'

run "the jump host goes away" -c 'echo hi; for pid in $(pgrep -f "sshd: .*" -P '"$(cat "$dir/gate/sshd.pid")"'); do kill -9 $pid; done; sleep 20' 127.0.3.1
want_status 69
want '^lost: \[running\] 127.0.3.1: the ssh connection broke'

[ "$failures" -eq 0 ] && echo "ssh jumps: all cases passed" || { echo "$failures failed"; exit 1; }
