#!/usr/bin/env bash
# Time that nodes which find each other by DNS need to run a job (ranks: true) from the moment the root's DNS record exists, and the
# queries they send. Each node is a process of this machine with the host name and /etc/hosts of a pod of an Indexed Job, in a
# network namespace with dnsmasq as its name server. Needs root.
# Usage: join_startup.sh [NODES [RUNS]]   (DS_BIN: folder of the binaries; default build/release/bin)
set -u
nodes=${1:-200} runs=${2:-3}
bin=${DS_BIN:-$(cd "$(dirname "$0")/../.." && pwd)/build/release/bin}
if [ "${DS_INSIDE:-}" != 1 ]; then
  command -v dnsmasq >/dev/null && unshare --net --mount true 2>/dev/null || {
    echo "SKIPPED: needs dnsmasq and the right to make namespaces"
    exit 77
  }
  DS_INSIDE=1 exec unshare --net --mount "$0" "$@"
fi
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
ip link set lo up
printf 'nameserver 127.0.0.1\nsearch ns.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n' >resolv.conf
mount --bind resolv.conf /etc/resolv.conf
export DSLAUNCH_TOKEN=the-token-of-a-benchmark DSLAUNCH_RUNTIME_DIR=$work/sockets CUDA_VISIBLE_DEVICES=
last=$((nodes - 1))

# pod INDEX: runs that node in the foreground
cat >pod <<'END'
hostname "gpt-$1"
printf '127.0.0.1 localhost\n127.0.0.1 gpt-%d.gpt.ns.svc.cluster.local gpt-%d\n' "$1" "$1" >hosts.$1
mount --bind hosts.$1 /etc/hosts
JOB_COMPLETION_INDEX=$1 exec "$2" agent --join --nnodes "$3" -- true >$1.out 2>&1 </dev/null
END

# one_run: sets took to the milliseconds from the root's record to the end of the job
one_run() {
  mkdir records
  dnsmasq --keep-in-foreground --conf-file=/dev/null --user=root --no-hosts --no-resolv --hostsdir="$work/records" \
    --local=/cluster.local/ --neg-ttl=1 --listen-address=127.0.0.1 --bind-interfaces --log-queries \
    --log-facility="$work/queries" --pid-file= &
  server=$!
  sleep 0.3
  for ((i = last; i > 0; --i)); do
    unshare --uts --mount sh ./pod $i "$bin/dslaunch" "$nodes" &
  done
  unshare --uts --mount sh ./pod 0 "$bin/dslaunch" "$nodes" &
  root=$!
  sleep 4 # all nodes query and find nothing
  local start=${EPOCHREALTIME/./}
  echo "127.0.0.1 gpt-0.gpt.ns.svc.cluster.local" >records/gpt-0
  wait $root || { echo "FAILED: $(tail -n 5 0.out)"; exit 1; }
  took=$(((${EPOCHREALTIME/./} - start) / 1000))
  kill "$server"
  wait
  bad=$(grep -L "has joined" [1-9]*.out | wc -l)
  [ "$bad" = 0 ] || { echo "FAILED: $bad nodes did not join"; exit 1; }
  names=$(grep -o 'query\[A*\] [^ ]*' queries | cut -d' ' -f2 | sort -u | wc -l)
  queries=$(grep -c 'query\[' queries)
  server=
  rm -rf records queries ./*.out
}

printf '%-6s %-42s %-22s %s\n' nodes "ms from the root's record to the job's end" 'names that were asked' 'datagrams a node, all waiting included'
for ((run = 0; run < runs; ++run)); do
  one_run
  printf '%-6d %-42d %-22d %.1f\n' "$nodes" "$took" "$names" "$(awk "BEGIN {print $queries / $nodes}")"
done
