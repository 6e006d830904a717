#!/usr/bin/env bash
# Tests `dslaunch doctor` on loopback nodes of one sshd: usable and bad nodes, as text, JSON and hostfile.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
. "$DS_SOURCE/tests/support/launch.sh"
trap 'sshd_stop "$work/ssh"; clean_up' EXIT
mkdir ssh
sshd_setup "$work/ssh"
port=$(free_port)
sshd_start "$work/ssh" 127.0.3.1 "$port" "ListenAddress 127.0.3.2" "ListenAddress 127.0.3.3" || die "no sshd"
sshd_know "$work/ssh" "[127.0.3.1]:$port" "[127.0.3.2]:$port" "[127.0.3.4]:$port"
printf '127.0.3.[1-2] slots=1 port=%s\n' "$port" >good
{ cat good; printf '127.0.3.[3-4] slots=1 port=%s\n' "$port"; } >hosts
doctor() { run doctor --ssh-config "$work/ssh/ssh_config" "$@"; }
out_has() { grep -qE -- "$1" out || die "$2: no line like: $1"; }

doctor --hostfile good
expect 0 "two good nodes"
out_has '^2 nodes: dslaunch [0-9.]+ \([0-9a-f]{12}\), .*Linux' "what they have in common"
out_has '^127\.0\.3\.1 +(good|warning) +[0-9]' "a line for each node"
out_has '^127\.0\.3\.2 .* 127\.0\.3\.2$' "the address by which a node was reached"
out_has 'one machine under 2 names: 127\.0\.3\.\[1-2\]' "one machine under two names"
[ "$(tail -n 1 out)" = "all 2 nodes can be used" ] || die "the sum of two good nodes"

doctor --hostfile hosts
expect 69 "bad nodes"
out_has '^127\.0\.3\.3 +BAD +- ' "a node that was not reached has a line"
out_has '  127\.0\.3\.3: not reached: .*host key' "the reason of the host key"
out_has '  127\.0\.3\.4: not reached: .*refused' "the reason of the other"
[ "$(tail -n 1 out)" = "2 of 4 nodes can be used" ] || die "the sum"

doctor --hostfile hosts --skip-bad --good-hosts kept
expect 0 "--skip-bad"
[ "$(cat out)" = "127.0.3.1 port=$port slots=1
127.0.3.2 port=$port slots=1" ] || die "--skip-bad prints a hostfile"
cmp -s out kept || die "--good-hosts writes it"
grep -q '2 of 4 nodes can be used' err || die "the table goes to standard error"
run --hostfile kept --ssh-config "$work/ssh/ssh_config" -- true
expect 0 "a job on the good nodes"

doctor --hostfile good --wdir /no/such/folder --path /etc/passwd --path /also/missing
expect 69 "missing folders"
out_has '  127\.0\.3\.\[1-2\] \(2\): /no/such/folder: No such file or directory' "the working directory is missing"
out_has '  127\.0\.3\.\[1-2\] \(2\): /also/missing: No such file or directory' "a path is missing"

doctor --json --hostfile hosts
expect 69 "--json"
if command -v python3 >/dev/null; then
  python3 - <<'END' || die "--json"
import json
report = json.load(open("out"))
states = {node["name"]: node["state"] for node in report["nodes"]}
assert states["127.0.3.3"] == states["127.0.3.4"] == "bad", states
assert states["127.0.3.1"] != "bad" and report["good"] == 2, states
facts = report["nodes"][0]["facts"]
assert facts["cores"] > 0 and facts["memory_bytes"] > 1 << 20 and facts["folders"][1]["path"] == "/tmp", facts
low, high = report["nodes"][0]["clock_ahead_ms"]
assert low <= 0 <= high, (low, high)
END
fi

if [ -x "$DS_BIN/dsrunner" ]; then
  doctor --hostfile good "$DS_SOURCE/configs/tiny.toml" 'data.train=["/no/such/text"]'
  expect 69 "a config whose data is not there"
  out_has '  127\.0\.3\.\[1-2\] \(2\): dsrunner --check: .*/no/such/text' "what dsrunner says"
fi

doctor --hostfile good --wdir /no/such/folder "$DS_SOURCE/configs/tiny.toml"
expect 69 "a config in a missing folder"
out_has '  127\.0\.3\.\[1-2\] \(2\): .*cannot enter the working directory /no/such/folder' "the missing folder is named"

# The choices of a job.
names() { sed -n '/^node /,/^$/p' out | sed '1d;/^$/d;s/ .*//' | tr '\n' ' '; }
doctor --hostfile hosts -i 127.0.3.2
expect 0 "--include"
[ "$(names)" = "127.0.3.2 " ] || die "--include leaves: $(names)"
doctor --hostfile hosts -e 127.0.3.3@127.0.3.4
expect 0 "--exclude"
[ "$(names)" = "127.0.3.1 127.0.3.2 " ] || die "--exclude leaves: $(names)"
doctor --hostfile hosts --host 127.0.3.1 --skip-bad
[ "$(cat out)" = "127.0.3.1 port=$port slots=1" ] || die "--host with a hostfile"
printf '127.0.3.1 slots=4 port=%s\n127.0.3.2 slots=auto port=%s\n' "$port" "$port" >slots
doctor --hostfile slots -i 127.0.3.1:1,3@127.0.3.2 --skip-bad
[ "$(cat out)" = "127.0.3.1 port=$port gpus=1,3 slots=2
127.0.3.2 port=$port slots=auto" ] || die "slots of a host, and a whole one: $(cat out)"
doctor --hostfile slots -e 127.0.3.2:1
expect 65 "slots of slots=auto"
grep -q "'127.0.3.2:1' picks slots of 127.0.3.2, which has slots=auto" err || die "slots of slots=auto are refused"
doctor --hostfile hosts -i 127.0.3.9
expect 65 "a host that is not there"
doctor --hostfile hosts -i 127.0.3.1 -e 127.0.3.2
expect 64 "--include and --exclude"
run doctor --host localhost
expect 0 "--host alone"

run doctor -w localhost --path "$work"
expect 0 "this machine"
run doctor
expect 64 "no hosts"
run doctor -w n1 hosts
expect 64 "a hostfile without its option"
run doctor --hostfile /no/such/file
expect 65 "a hostfile that is not there"
echo "ok"
