#!/usr/bin/env bash
# Real servers on loopback ports: dnsmasq with a pod's records behind unbound, whose negative cache hides a new record
# for a while. Shows that the cache is there, that a waiting launcher comes through it, and what a look costs.
set -u
for tool in dnsmasq unbound dig; do
  PATH=$PATH:/usr/sbin:/sbin command -v $tool > /dev/null || { echo "SKIP: needs $tool (scripts/install_packages.sh test)"; exit 77; }
done
PATH=$PATH:/usr/sbin:/sbin
probe=$DS_TESTS/dns_probe
work=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null; wait "$pid" 2> /dev/null; done
  rm -rf "$work"
}
trap finish EXIT
die() {
  echo "FAILED: $*"
  tail -n 20 "$work"/*.log "$work"/err 2> /dev/null
  exit 1
}

origin=127.0.0.81 cache=127.0.0.82 zone=ns.svc.cluster.local
mkdir "$work/hosts"
chmod 755 "$work" "$work/hosts"
printf 'search %s svc.cluster.local cluster.local\nnameserver %s\noptions ndots:5\n' $zone $cache > "$work/resolv.conf"

# ask SERVER NAME: what it says now, an address or the rcode.
ask() {
  dig +time=1 +tries=1 @"$1" -p "$port" "$2" A > "$work/dig.out" 2>&1
  awk '/^;; ->>HEADER/ {sub(",", "", $6); code = $6} $4 == "A" && $1 !~ /^;/ {address = $5} END {print address ? address : code}' "$work/dig.out"
}
start_servers() {
  dnsmasq --keep-in-foreground --user="$(id -un)" --conf-file=/dev/null --pid-file="$work/dnsmasq.pid" --no-hosts --no-resolv \
    --hostsdir="$work/hosts" --local=/cluster.local/ --local-ttl=5 --bind-interfaces --listen-address=$origin --port="$port" \
    --log-queries --log-facility="$work/dnsmasq.log" > "$work/dnsmasq.err" 2>&1 &
  pids+=($!)
  cat > "$work/unbound.conf" << END
server:
  interface: $cache
  port: $port
  access-control: 127.0.0.0/8 allow
  do-not-query-localhost: no
  do-daemonize: no
  chroot: ""
  username: ""
  directory: "$work"
  pidfile: "$work/unbound.pid"
  logfile: "$work/unbound.log"
  use-syslog: no
  log-queries: yes
  num-threads: 1
  module-config: "iterator"
stub-zone:
  name: "cluster.local"
  stub-addr: $origin@$port
forward-zone:
  name: "."
  forward-addr: $origin@$port
remote-control:
  control-enable: no
END
  unbound -d -c "$work/unbound.conf" > "$work/unbound.err" 2>&1 &
  pids+=($!)
}
for try in 1 2 3 4 5; do
  port=$((20000 + RANDOM % 12000))
  start_servers
  for i in $(seq 50); do
    [ "$(ask $cache up.$zone)" = NXDOMAIN ] && break 2
    kill -0 "${pids[-1]}" 2> /dev/null && kill -0 "${pids[-2]}" 2> /dev/null || break
    sleep 0.1
  done
  [ "$try" -lt 5 ] || { cat "$work"/*.err; die "the servers do not start"; }
  for pid in "${pids[@]}"; do kill "$pid" 2> /dev/null; wait "$pid" 2> /dev/null; done
  pids=()
done

# 1. A look before the record is there: four candidates, two queries each; the cache keeps the "no".
"$probe" "$work/resolv.conf" "$port" look gpt-1.gpt > "$work/out" || die "dns_probe"
grep -qE "^gpt-1.gpt: no DNS record \(NXDOMAIN from $cache\); for gpt-1.gpt: SERVFAIL from $cache queries=8 ttl=[0-9]+$" "$work/out" || die "a look: $(cat "$work/out")"
asked=$(grep -cE 'gpt-1\.gpt\S* (A|AAAA) IN' "$work/unbound.log")
[ "$asked" = 8 ] || die "unbound was asked $asked times, not 8"

# 2. The record comes; the origin has it, the cache still says no.
echo "127.0.0.83 gpt-1.gpt.$zone" > "$work/hosts/gpt-1"
for i in $(seq 50); do
  [ "$(ask $origin gpt-1.gpt.$zone)" = 127.0.0.83 ] && break
  [ "$i" -lt 50 ] || die "dnsmasq does not read its folder"
  sleep 0.1
done
[ "$(ask $cache gpt-1.gpt.$zone)" = NXDOMAIN ] || die "the negative cache does not show"

# 3. A launcher that waits comes through it. Its host listens at once: what delays it is the cache alone.
listener=$((port + 1))
python3 -c "
import socket, sys, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.83', $listener)); s.listen(); time.sleep(60)" &
pids+=($!)
: > "$work/unbound.log"
began=$(date +%s%N)
"$probe" "$work/resolv.conf" "$port" wait 60 $listener gpt-1.gpt > "$work/out" 2> "$work/err" || die "the wait did not end well"
[ "$(cat "$work/out")" = "gpt-1.gpt 127.0.0.83" ] || die "pinned: $(cat "$work/out")"
waited=$((($(date +%s%N) - began) / 1000000))
looks=$(grep -cE "gpt-1\.gpt\.$zone\. A IN" "$work/unbound.log")
[ "$looks" -ge 2 ] || die "the cache did not delay the wait"

# 4. Present at the first candidate: two queries, and two for the full name.
: > "$work/unbound.log"
"$probe" "$work/resolv.conf" "$port" look gpt-1.gpt gpt-1.gpt.$zone gpt-1.gpt.$zone. > "$work/out"
[ "$(grep -c ' 127.0.0.83 .*queries=2 ' "$work/out")" = 3 ] || die "present: $(cat "$work/out")"

# 5. A pod that never comes: 69, its stage by name.
"$probe" "$work/resolv.conf" "$port" wait 1 $listener gpt-1.gpt gpt-2.gpt > "$work/out" 2> "$work/err"
[ $? = 69 ] || die "a missing host ends with 69"
grep -q "^1 of 2 hosts did not answer within 1 s" "$work/err" || die "the table's first line"
grep -qE "^  gpt-2.gpt  no DNS record \(NXDOMAIN from $cache\)" "$work/err" || die "the table names the host"
echo "a record behind a negative cache: found at look $looks after $waited ms; 8 queries a look while it is missing, 2 when it is there"
