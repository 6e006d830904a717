#!/usr/bin/env bash
# Tests the ssh transport against a real sshd on loopback: what works, and the message of each failure.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
probe=$DS_TESTS/ssh_probe
dir=$(mktemp -d)
agent_pid=
silent_pid=
cleanup() {
  sshd_stop "$dir"
  [ -z "$agent_pid" ] || kill "$agent_pid" 2> /dev/null
  [ -z "$silent_pid" ] || kill "$silent_pid" 2> /dev/null
  rm -rf "$dir"
}
trap cleanup EXIT
unset SSH_AUTH_SOCK
failures=0
fail() { echo "FAIL: $case: $*"; sed 's/^/    /' "$dir/out" "$dir/err"; failures=$((failures + 1)); }
# run NAME ARGS...: the probe with the test's config; output in $dir/out and $dir/err, status in $status.
run() {
  case=$1
  shift
  timeout 60 "$probe" -F "$dir/ssh_config" -p "$port" "$@" > "$dir/out" 2> "$dir/err" < "${input:-/dev/null}"
  status=$?
}
want_status() { [ "$status" -eq "$1" ] || fail "exit $status, expected $1"; }
want() { grep -qE -- "$1" "$dir/err" || fail "no message like: $1"; }
# sshd with other settings, on a fresh port: the old one may be held by a connection that is just closing.
restart() {
  sshd_stop "$dir"
  port=$(free_port)
  sshd_know "$dir" "[127.0.0.2]:$port"
  sshd_start "$dir" 0.0.0.0 "$port" "$@"
}

sshd_setup "$dir"
port=$(free_port)
sshd_know "$dir" "[127.0.0.2]:$port" "[127.0.0.3]:$port" "[127.0.0.4]:$port"
sshd_start "$dir" 0.0.0.0 "$port"

# What works.
echo "over there and back" > "$dir/text"
input=$dir/text run "bytes go both ways" -i -c cat 127.0.0.2
want_status 0
cmp -s "$dir/text" "$dir/out" || fail "the bytes differ"
input=
run "20 MB through the windows" -b 20000000 -c cat 127.0.0.2 127.0.0.3
want_status 0
want 'received=40000000'
run "a command that fails after output is the caller's business" -c 'echo hi; exit 3' 127.0.0.2
want_status 0

# The remote command.
run "no such command" -c nosuchcommand 127.0.0.2
want_status 69
want '^no_agent: \[agent start\] 127.0.0.2: no agent could be started there: the remote command ended with status 127'
want 'nosuchcommand: .*not found'
run "a second command where the first gives no answer" -i -c 'echo noise; nosuchcommand' -a 'here it is' \
  -f 'echo here it is; exit 0' 127.0.0.2
want_status 0
cmp -s "$dir/out" <(printf 'noise\nhere it is\n') || fail "its output is another"
run "neither command gives an answer" -c 'exit 1' -a answer -f 'echo no >&2; exit 2' 127.0.0.2
want_status 69
want '^no_agent: \[agent start\] 127.0.0.2: no agent could be started there: the remote command ended with status 2'
run "an answer is an answer, whatever the status" -c 'echo noise; echo answer; exit 9' -a answer -f 'exit 5' 127.0.0.2
want_status 0
run "killed command" -c 'kill -9 $$' 127.0.0.2
want '^lost: \[running\] 127.0.0.2: the remote command was killed by SIGKILL'
run "broken connection" -c 'echo hi; kill -9 $PPID' 127.0.0.2
want '^lost: \[running\] 127.0.0.2: the ssh connection broke'

# Every bad host at once.
ssh-keygen -q -t ed25519 -N '' -f "$dir/other_key"
echo "[127.0.0.6]:$port $(cut -d' ' -f1,2 "$dir/other_key.pub")" >> "$dir/known_hosts"
changed_line=$(wc -l < "$dir/known_hosts")
echo "@revoked [127.0.0.7]:$port $(cut -d' ' -f1,2 "$dir/host_key.pub")" >> "$dir/known_hosts"
closed=$(free_port)
silent=$(free_port)
while [ "$silent" = "$closed" ]; do silent=$(free_port); done
"$DS_TESTS/net_helper" silent 127.0.0.8 "$silent" &
silent_pid=$!
cp "$dir/ssh_config" "$dir/good_config"
{
  printf 'Host closed\n HostName 127.0.0.2\n Port %s\n' "$closed"
  printf 'Host silent\n HostName 127.0.0.8\n Port %s\n' "$silent"
  printf 'Host proxied\n ProxyJump gate.invalid\n'
  printf 'Host nokey\n HostName 127.0.0.2\n Port %s\n IdentityFile %s\nMatch all\n' "$port" "$dir/other_key"
  grep -v IdentityFile "$dir/good_config"
  printf 'Host 127.*\n Port %s\n IdentityFile %s\n' "$port" "$dir/client_key"
} > "$dir/ssh_config"
port_kept=$port
until (exec 3<> "/dev/tcp/127.0.0.8/$silent") 2> /dev/null; do sleep 0.05; done
port=0 run "every bad host at once" -k 1500 127.0.0.2 127.0.0.5 127.0.0.6 127.0.0.7 closed silent proxied nokey nosuchhost.invalid
port=$port_kept
want_status 69
want 'hosts=9 bad=8 .*sockets=0'
want '^unreachable: \[host key\] 127.0.0.5: host key ssh-ed25519 SHA256:[A-Za-z0-9+/]{43} is unknown; .*ssh-keyscan -p '"$port"' 127.0.0.5 >> '
want "^unreachable: \[host key\] 127.0.0.6: HOST KEY CHANGED: .*$dir/known_hosts:$changed_line holds another"
want '^unreachable: \[host key\] 127.0.0.7: host key .* is revoked'
want "^unreachable: \[connection\] closed \(127.0.0.2\): cannot connect to port $closed: 127.0.0.2: Connection refused"
want '^unreachable: \[key exchange\] silent \(127.0.0.8\): key exchange did not finish within 1.5 s'
want '^unreachable: \[name lookup\] proxied: jump host gate.invalid: the name gate.invalid cannot be looked up'
want "^unreachable: \[authentication\] nokey \(127.0.0.2\): authentication refused for user .*; tried: $dir/other_key; the server takes: publickey"
want '^unreachable: \[name lookup\] nosuchhost.invalid: the name nosuchhost.invalid cannot be looked up: '
cp "$dir/good_config" "$dir/ssh_config"

# Keys.
chmod 644 "$dir/client_key"
run "a key that others can read" 127.0.0.2
want "client_key is not used: its permissions 0644 let others read it"
chmod 600 "$dir/client_key"
ssh-keygen -q -p -P '' -N secret -f "$dir/client_key" > /dev/null
run "an encrypted key and no agent" 127.0.0.2
want_status 69
want "client_key is encrypted, and nobody can be asked"
ssh-keygen -q -p -P secret -N '' -f "$dir/client_key" > /dev/null
eval "$(ssh-agent -s -a "$dir/agent")" > /dev/null
agent_pid=$SSH_AGENT_PID
unset SSH_AUTH_SOCK
for i in 1 2 3 4 5 6 7; do ssh-keygen -q -t ed25519 -N '' -f "$dir/spare$i"; SSH_AUTH_SOCK=$dir/agent ssh-add -q "$dir/spare$i"; done
sed "1i IdentityAgent $dir/agent\nIdentityFile none
/^Identit/d" "$dir/good_config" > "$dir/ssh_config"
run "an agent with seven wrong keys: the server hangs up, we do not wait" 127.0.0.2
want_status 69
want 'authentication refused .*tried: 7 keys of the agent; the server hung up .*IdentitiesOnly yes'
mv "$dir/client_key" "$dir/hidden_key"
SSH_AUTH_SOCK=$dir/agent ssh-add -q -D
SSH_AUTH_SOCK=$dir/agent ssh-add -q "$dir/hidden_key"
sed "1i IdentityAgent $dir/agent
/^Identit/d" "$dir/good_config" > "$dir/ssh_config"
run "a key from the agent, three hosts" 127.0.0.2 127.0.0.3 127.0.0.4
want_status 0
mv "$dir/hidden_key" "$dir/client_key"
kill -STOP "$agent_pid"
sed "1i IdentityAgent $dir/agent" "$dir/good_config" | sed '/IdentitiesOnly/d' > "$dir/ssh_config"
run "an agent that hangs does not hang us" 127.0.0.2 127.0.0.3
want_status 0
kill -CONT "$agent_pid"
cp "$dir/good_config" "$dir/ssh_config"

# Unknown hosts, by the user's own StrictHostKeyChecking.
sed '1i StrictHostKeyChecking accept-new' "$dir/good_config" > "$dir/ssh_config"
run "accept-new writes the key down" 127.0.0.10 127.0.0.11
want_status 0
want 'warning: 127.0.0.\[10-11\]: new host keys added to known_hosts'
[ "$(grep -c warning "$dir/err")" = 1 ] || fail "the warnings of two hosts are not one line"
grep -q "^\[127.0.0.10\]:$port ssh-ed25519" "$dir/known_hosts" || fail "no line in known_hosts"
cp "$dir/good_config" "$dir/ssh_config"
run "and it is known afterwards" 127.0.0.10 127.0.0.11
want_status 0
sed '1i StrictHostKeyChecking accept-new\nHashKnownHosts yes' "$dir/good_config" > "$dir/ssh_config"
run "hashed if the user hashes" 127.0.0.12
want_status 0
want 'warning: 127.0.0.12: new host key ssh-ed25519 SHA256:.* added to known_hosts'
ssh-keygen -F "[127.0.0.12]:$port" -f "$dir/known_hosts" > /dev/null || fail "ssh-keygen does not find it"
sed '1i StrictHostKeyChecking no' "$dir/good_config" > "$dir/ssh_config"
run "no: taken with a warning" 127.0.0.13
want_status 0
want 'warning: 127.0.0.13: unknown host key ssh-ed25519 SHA256:.* accepted without a check'
run "no: a changed key is refused all the same" 127.0.0.6
want_status 69
want 'HOST KEY CHANGED'
sed "s|^UserKnownHostsFile.*|UserKnownHostsFile none|; s|^GlobalKnownHostsFile.*|GlobalKnownHostsFile $dir/known_hosts|" \
  "$dir/good_config" > "$dir/ssh_config"
run "known hosts of the system alone" 127.0.0.2
want_status 0
cp "$dir/good_config" "$dir/ssh_config"

# Limits of the server.
restart "MaxSessions 0"
run "no sessions" 127.0.0.2
want_status 69
want '^unreachable: \[agent start\] 127.0.0.2: the server refused a channel: open failed; check MaxSessions'
restart "MaxSessions 1"
run "a further command where one session is allowed" -c 'exit 1' -a answer -f 'echo answer; exit 0' 127.0.0.2
want_status 0
if unshare -m true 2> /dev/null; then # as pam_nologin: a text, then a refusal
  echo "System maintenance until 18:00" > "$dir/nologin"
  printf 'account optional pam_echo.so file=%s\naccount requisite pam_deny.so\nsession required pam_permit.so\n' \
    "$dir/nologin" > "$dir/pam"
  printf 'mount --bind "%s/pam" /etc/pam.d/sshd && exec /usr/sbin/sshd -f "%s/sshd_config" -E "%s/sshd.log"\n' \
    "$dir" "$dir" "$dir" > "$dir/start"
  SSHD_START="unshare -m sh $dir/start" restart "UsePAM yes"
  run "a login refused by PAM" 127.0.0.2
  want_status 69
  want '^unreachable: \[authentication\] 127.0.0.2: .*; the server hung up.*; it says: "System maintenance until 18:00"'
  ! grep -q 'name the right key' "$dir/err" || fail "the key is not the reason"
else
  echo "not tested, this system does not allow mount namespaces: a login refused by PAM"
fi
restart "MaxStartups 3:90:4"
many=()
for i in $(seq 2 31); do many+=("127.0.9.$i"); done
sshd_know "$dir" "[127.0.9.*]:$port"
run "a server that drops connections at random: tried again" -w 8 "${many[@]}"
want_status 0

[ "$failures" -eq 0 ] && echo "ssh transport: all cases passed" || { echo "$failures failed"; exit 1; }
