#!/usr/bin/env bash
# Tests lookups through a negative cache of real servers: dnsmasq with a pod's records behind unbound, which hides a new
# record for a while. Checks that the cache is effective, that a waiting launcher finds the record, and the query counts.
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

# ask SERVER NAME: prints the server's answer, an address or the error code.
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

# A host that listens from the start, so that only DNS delays it.
listener=$((port + 1))
python3 -c "
import socket, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(('127.0.0.83', $listener)); s.listen(); time.sleep(250)" &
pids+=($!)
for i in $(seq 100); do
  (: < /dev/tcp/127.0.0.83/$listener) 2> /dev/null && break
  [ "$i" -lt 100 ] || die "nothing listens"
  sleep 0.1
done

# through_cache NAME: a lookup before the record exists, then the record, then a wait. Returns 1 if this machine was so slow
# that the cache, which keeps NXDOMAIN for 5 s, had already dropped it.
through_cache() {
  local name=$1 full=$1.$zone i began
  # A lookup before the record exists: four candidates, two queries each.
  : > "$work/unbound.log"
  "$probe" "$work/resolv.conf" "$port" look "$name" > "$work/out" || die "dns_probe"
  grep -qE "^$name: no DNS record \(NXDOMAIN from $cache\); for $name: SERVFAIL from $cache ttl=[0-9]+$" "$work/out" ||
    die "a lookup: $(cat "$work/out")"
  asked=$(grep -cE "$name\S* (A|AAAA) IN" "$work/unbound.log")
  [ "$asked" = 8 ] || die "unbound was asked $asked times, not 8"
  # The record is added; the origin has it, the cache still answers NXDOMAIN.
  echo "127.0.0.83 $full" > "$work/hosts/$name"
  for i in $(seq 100); do
    [ "$(ask $origin "$full")" = 127.0.0.83 ] && break
    [ "$i" -lt 100 ] || die "dnsmasq does not read its folder"
    sleep 0.1
  done
  [ "$(ask $cache "$full")" = NXDOMAIN ] || return 1
  # A waiting launcher finds it in the end.
  : > "$work/unbound.log"
  began=$(date +%s%N)
  "$probe" "$work/resolv.conf" "$port" wait 60 $listener "$name" > "$work/out" 2> "$work/err" || die "the wait did not end well"
  [ "$(cat "$work/out")" = "$name 127.0.0.83" ] || die "pinned: $(cat "$work/out")"
  waited=$((($(date +%s%N) - began) / 1000000))
  looks=$(grep -cE "$full\. A IN" "$work/unbound.log")
  [ "$looks" -ge 2 ]
}
name=''
for i in 1 2 3 4; do
  through_cache "gpt-$i.gpt" && { name=gpt-$i.gpt; break; }
done
[ -n "$name" ] || die "the negative cache never showed"

# Present at the first candidate: two queries, and two for each form of the full name.
: > "$work/unbound.log"
"$probe" "$work/resolv.conf" "$port" look $name $name.$zone $name.$zone. > "$work/out"
[ "$(grep -c ' 127.0.0.83 ' "$work/out")" = 3 ] || die "present: $(cat "$work/out")"
asked=$(grep -cE "$name\S* (A|AAAA) IN" "$work/unbound.log")
[ "$asked" = 6 ] || die "unbound was asked $asked times for three lookups of a name that exists, not 6"

# A pod that never comes: exit code 69, and a row with its stage.
"$probe" "$work/resolv.conf" "$port" wait 3 $listener $name gpt-9.gpt > "$work/out" 2> "$work/err"
[ $? = 69 ] || die "a missing host ends with 69"
grep -q "^1 of 2 hosts did not answer within 3 s" "$work/err" || die "the table's first line"
grep -qE "^  gpt-9.gpt  no DNS record \(NXDOMAIN from $cache\)" "$work/err" || die "the table names the host"
echo "record behind a negative cache: found at lookup $looks after $waited ms; a lookup takes 8 queries while it is missing, 2 when it exists"
