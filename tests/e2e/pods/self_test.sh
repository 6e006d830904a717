#!/usr/bin/env bash
# Tests podctl itself: each verb does what README.md says, and a removed cluster leaves nothing behind.
set -u
. "$(dirname "$0")/podctl.sh"
pods_need
dir=$(mktemp -d)
trap 'pods_down; rm -rf "$dir"' EXIT
failures=0
fail() { echo "FAIL: $*"; failures=$((failures + 1)); }
same() { [ "$2" = "$3" ] || fail "$1: '$2', expected '$3'"; }
has() { grep -qE -- "$2" "$PODS/pods/$1/log" || fail "the log of $1 has no line like: $2"$'\n'"$(podctl logs "$1")"; }
zone=default.svc.cluster.local
pods_up "$dir/one" || exit 1

# What a command finds in its pod.
mkdir "$dir/keys"
echo secret > "$dir/keys/id_rsa"
podctl create gpt-0 --subdomain gpt --uid 1000 --fsgroup 2000 --env 'WORDS=two words' --env 'IP=@POD_IP@' \
  --secret /etc/keys="$dir/keys" 0440 -- sh -c 'echo pid $$; id; hostname; echo "env $WORDS $IP ${DS_SOURCE-none}"; cat /etc/resolv.conf /etc/hosts
    stat -Lc "%a %u:%g" /etc/keys/id_rsa; readlink /etc/keys/id_rsa; cat /etc/keys/id_rsa; touch /etc/keys/x || echo read-only
    echo why > /dev/termination-log; ls /proc | grep -c "^[0-9]*$"; command -v dslaunch; exit 7'
podctl wait 10 gpt-0 || fail "gpt-0 does not end"
same "the exit code" "$(podctl code gpt-0)" 7
same "the termination log" "$(podctl termination gpt-0)" why
has gpt-0 '^pid 1$'
has gpt-0 '^uid=1000\(mpiuser\) gid=1000\(mpiuser\) groups=1000\(mpiuser\),2000$'
has gpt-0 '^gpt-0$'
has gpt-0 "^env two words $(podctl ip gpt-0) none\$"
has gpt-0 '^search default\.svc\.cluster\.local svc\.cluster\.local cluster\.local$'
has gpt-0 '^options ndots:5$'
has gpt-0 "^$(podctl ip gpt-0).gpt-0\.gpt\.$zone.gpt-0\$"
has gpt-0 '^440 0:2000$'
has gpt-0 '^\.\.data/id_rsa$'
has gpt-0 '^secret$'
has gpt-0 '^read-only$'
has gpt-0 '^/opt/dslaunch/bin/dslaunch$'
[ "$(podctl logs gpt-0 | grep -cE '^[2-9]$')" = 1 ] || fail "gpt-0 sees processes of others"

# Names: none, then denied out of the cache, then there; by the search list; in another pod's eyes.
podctl create gpt-1 --subdomain gpt --not-ready -- sleep 600
podctl create gpt-2 --subdomain gpt -- sh -c 'trap "exit 5" TERM; sleep 600 & wait'
same "a name before its record" "$(podctl ask gpt-2 gpt-1.gpt.$zone)" "NXDOMAIN 0"
podctl ready gpt-1
same "a denial stays" "$(podctl ask gpt-2 gpt-1.gpt.$zone)" "NXDOMAIN 0"
podctl dns flush
same "a name with its record" "$(podctl ask gpt-2 gpt-1.gpt.$zone)" "NOERROR 1"
same "no AAAA" "$(podctl ask gpt-2 gpt-1.gpt.$zone AAAA)" "NOERROR 0"
same "a name of no cluster" "$(podctl ask gpt-2 gpt-1.gpt)" "NXDOMAIN 0"
same "the search list" "$(podctl exec gpt-2 getent ahostsv4 gpt-1.gpt | awk 'NR == 1 { print $1 }')" "$(podctl ip gpt-1)"
same "the service's name" "$(podctl ask gpt-2 gpt.$zone)" "NOERROR 3"
[ "$(podctl queries gpt-2 | awk '$2 == "gpt-1.gpt.'$zone'." && $3 == "A" { print $1 }')" -ge 4 ] || fail "the questions of gpt-2 are not counted: $(podctl queries gpt-2)"
podctl create v6-0 --subdomain v6 --families 6 -- sleep 600
same "AAAA only: A" "$(podctl ask gpt-2 v6-0.v6.$zone)" "NOERROR 0"
same "AAAA only: AAAA" "$(podctl ask gpt-2 v6-0.v6.$zone AAAA)" "NOERROR 1"

# Faults of DNS.
for fault in servfail:"SERVFAIL 0" nxdomain:"NXDOMAIN 0" drop:nothing ok:"NOERROR 1"; do
  podctl dns "${fault%%:*}"
  same "dns ${fault%%:*}" "$(podctl ask gpt-2 gpt-1.gpt.$zone)" "${fault#*:}"
done
podctl dns servfail gpt-1.gpt
same "dns servfail of one" "$(podctl ask gpt-2 gpt-1.gpt.$zone) $(podctl ask gpt-2 gpt-2.gpt.$zone)" "SERVFAIL 0 NOERROR 1"
podctl dns ok gpt-1.gpt
same "dns ok of one" "$(podctl ask gpt-2 gpt-1.gpt.$zone)" "NOERROR 1"

# The network, and stopped processes.
reach() { podctl exec gpt-2 timeout 1 ping -c 1 -W 1 "$(podctl ip gpt-1)" > /dev/null 2>&1 && echo yes || echo no; }
# A busy machine may need more than a second for an answer, and a relay some time to begin.
reach_soon() {
  local try
  for ((try = 0; try < 20; try++)); do [ "$(reach)" = no ] || { echo yes; return; }; done
  echo no
}
if command -v ping > /dev/null; then
  same "pods reach each other" "$(reach_soon)" yes
  podctl partition gpt-1
  same "a partition" "$(reach)" no
  podctl heal gpt-1
  same "after it" "$(reach_soon)" yes
fi
if command -v ping > /dev/null && command -v python3 > /dev/null; then
  podctl slow gpt-1 150
  same "by a relay" "$(reach_soon)" yes
  ms=$(podctl exec gpt-2 ping -c 1 -W 3 "$(podctl ip gpt-1)" | sed -nE 's/.*time=([0-9]+).*/\1/p')
  [ "${ms:-0}" -ge 300 ] || fail "a slow pod answers after ${ms:-no} ms"
  podctl slow gpt-1 0
  same "no longer slow" "$(reach_soon)" yes
fi
podctl freeze gpt-1
for ((i = 0; i < 100; i++)); do [ "$(awk '{ print $3 }' "/proc/$(podctl pid gpt-1)/stat")" != T ] || break; sleep 0.02; done
[ "$i" -lt 100 ] || fail "a frozen pod is not stopped"
podctl thaw gpt-1
[ "$(awk '{ print $3 }' "/proc/$(podctl pid gpt-1)/stat")" != T ] || fail "a thawed pod is stopped"

# Ends.
podctl delete gpt-2 20
same "SIGTERM within the grace" "$(podctl code gpt-2)" 5
podctl create bad-0 -- sh -c 'trap "" TERM; setsid sleep 600 & sleep 600'
for ((i = 0; i < 100; i++)); do
  left=$(podctl ps bad-0 | wc -l)
  [ "$left" -lt 2 ] || break
  sleep 0.05
done
[ "$left" -ge 2 ] || fail "ps shows $left processes"
podctl delete bad-0 1
same "after the grace" "$(podctl code bad-0)" 137
old=$(podctl ip gpt-1)
podctl create gpt-3 --subdomain gpt -- sleep 600
podctl kill9 gpt-3
podctl wait 5 gpt-3
same "SIGKILL" "$(podctl code gpt-3)" 137
podctl restart gpt-3
podctl running gpt-3 || fail "a restarted pod runs"
podctl kill9 gpt-3 'sleep 600'
podctl wait 5 gpt-3 || fail "kill9 with a pattern"
podctl replace gpt-1 --keep-record
[ "$(podctl ip gpt-1)" != "$old" ] || fail "a replaced pod has a new address"
same "a stale record" "$(awk '{ print $1; exit }' "$PODS/dns/records/gpt-1")" "$old"
podctl ready gpt-1
same "a fresh record" "$(awk '{ print $1; exit }' "$PODS/dns/records/gpt-1")" "$(podctl ip gpt-1)"
old=$(podctl ip gpt-3)
podctl delete gpt-3 0
podctl reuse-ip gpt-3 other-0 --subdomain other -- sleep 600
same "another job's pod at an old address" "$(podctl ip other-0)" "$old"

# A secret that changes.
echo new > "$dir/keys/id_rsa"
podctl create keys-0 --secret /etc/keys="$dir/keys" 0400 -- sleep 600
echo newer > "$dir/keys/id_rsa"
same "a secret before its update" "$(podctl exec keys-0 cat /etc/keys/id_rsa)" new
podctl update keys-0 /etc/keys
same "a secret after it" "$(podctl exec keys-0 cat /etc/keys/id_rsa)" newer
same "the environment of exec" "$(podctl exec keys-0 sh -c 'echo $HOSTNAME $HOME $$ | cut -d" " -f1,2')" "keys-0 /root"

# Mounts, files, and a place of one's own.
podctl create files-0 --mount /data="$dir/keys" --file /etc/mpi/hostfile="$dir/keys/id_rsa" 0444:1000:1000 --tmpfs /scratch \
  --workdir /scratch -- sh -c 'pwd; touch /data/made here /etc/mine; stat -c "%a %u" /etc/mpi/hostfile; cat /etc/mpi/hostfile'
podctl wait 10 files-0
same "mounts" "$(podctl logs files-0 | tr '\n' ' ')" "/scratch 444 1000 newer "
[ -e "$dir/keys/made" ] && [ ! -e /etc/mine ] || fail "what a pod writes goes to its mounts, and nowhere else"

podctl create strict-0 --restricted --uid 1000 --tmpfs /scratch -- sh -c 'grep -E "CapBnd|NoNewPrivs" /proc/self/status | tr -d "\t\n"
  touch /tmp/x 2> /dev/null && echo written; touch /scratch/x && echo " scratch"'
podctl wait 10 strict-0
same "a restricted pod" "$(podctl logs strict-0)" "CapBnd:0000000000000000NoNewPrivs:1 scratch"

# Another cluster beside this one, with a pod of the same name and address; then its end.
one=$PODS
pods_up "$dir/two" || exit 1
podctl create gpt-1 --subdomain gpt -- sh -c 'setsid sleep 600 & sleep 600'
pid=$(podctl pid gpt-1)
id=$(pods_id)
pods_down
[ -d "/proc/$pid" ] && fail "a process of the second cluster is left"
[ -n "$(ip netns list | grep "^$id-")" ] && fail "a namespace of the second cluster is left"
PODS=$one
podctl running gpt-1 || fail "the end of one cluster has ended the pod of another"
pid=$(podctl pid gpt-1)
id=$(pods_id)
pods_down
[ -d "/proc/$pid" ] && fail "a process is left"
[ -n "$(ip netns list | grep "^$id-")" ] && fail "a namespace is left"

[ "$failures" -eq 0 ] && echo "pods: every verb does what it says" || { echo "$failures failed"; exit 1; }
