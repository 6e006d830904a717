# DNS of a cluster: dnsmasq has the records; unbound caches them, also missing names, as CoreDNS and node caches do.
# One file per pod under $PODS/dns/records; what is asked is in unbound.log (by pod) and dnsmasq.log (past the cache).

pods_dns_address=10.77.0.10
pods_dns_address6=fd77::a
pods_ttl=${PODS_TTL:-3} # seconds that an answer and a denial are kept; `cache 30` in clusters

pods_dns_up() {
  local ns=$cluster_id-dns dir=$PODS/dns i
  pods_leg "$ns" legdns $pods_dns_address $pods_dns_address6 || return 1
  cat > "$dir/unbound.conf" << EOF
server:
  interface: $pods_dns_address
  interface: $pods_dns_address6
  access-control: 0.0.0.0/0 allow
  access-control: ::/0 allow
  directory: "$dir"
  pidfile: "$dir/unbound.pid"
  logfile: "$dir/unbound.log"
  use-syslog: no
  username: ""
  chroot: ""
  do-daemonize: yes
  module-config: "iterator"
  do-not-query-localhost: no
  harden-below-nxdomain: no
  qname-minimisation: no
  log-queries: yes
  log-time-ascii: no
  cache-max-ttl: $pods_ttl
  infra-host-ttl: 1
  infra-keep-probing: yes
  num-threads: 1
  local-zone: "." static
  local-zone: "cluster.local." transparent
  so-reuseport: no
remote-control:
  control-enable: yes
  control-interface: "$dir/control"
  control-use-cert: no
forward-zone:
  name: "cluster.local"
  forward-addr: 127.0.0.1@5353
EOF
  # As the authority of the zone its denials carry an SOA, which is what a cache keeps them by.
  nsenter --net="/run/netns/$ns" dnsmasq --conf-file=/dev/null --port=5353 --bind-interfaces --listen-address=127.0.0.1 \
    --no-resolv --no-hosts --hostsdir="$dir/records" --local=/#/ --local-ttl=$pods_ttl --cache-size=10000 \
    --auth-server=ns.cluster.local,127.0.0.1 --auth-zone=cluster.local --auth-ttl=$pods_ttl \
    --auth-soa=1,hostmaster.cluster.local,1200,120,$pods_ttl \
    --log-queries --log-facility="$dir/dnsmasq.log" --user=root --pid-file="$dir/dnsmasq.pid" || return 1
  # Refuses whatever it is asked, which unbound reports as SERVFAIL: the fault `dns servfail`.
  nsenter --net="/run/netns/$ns" dnsmasq --conf-file=/dev/null --port=5354 --bind-interfaces --listen-address=127.0.0.1 \
    --no-resolv --no-hosts --auth-server=ns.nowhere,127.0.0.1 --auth-zone=nowhere \
    --log-facility="$dir/refuser.log" --user=root --pid-file="$dir/refuser.pid" || return 1
  nsenter --net="/run/netns/$ns" unbound -c "$dir/unbound.conf" || return 1
  for ((i = 0; i < 200; i++)); do
    pods_unbound status > /dev/null 2>&1 && [ -s "$dir/dnsmasq.pid" ] && return 0
    sleep 0.02
  done
  echo "podctl: the DNS servers did not start: $(cat "$dir"/*.log)" >&2
  return 1
}
pods_unbound() { unbound-control -c "$PODS/dns/unbound.conf" "$@"; }

# The names by which cluster DNS knows pod NAME, one "ADDRESS NAME" a line.
pods_records() {
  local pod=$PODS/pods/$1 domain ip ip6 name
  domain=$(< "$pod/namespace").svc.cluster.local
  ip=$(< "$pod/ip")
  ip6=$(< "$pod/ip6")
  for name in $(< "$pod/names"); do
    case $(< "$pod/families") in *4*) echo "$ip $name.$domain" ;; esac
    case $(< "$pod/families") in *6*) echo "$ip6 $name.$domain" ;; esac
  done
}

# ready NAME...: its records appear; comes back when the server has them. (What the cache has denied before, it denies on.)
pod_ready() {
  local name i file log=$PODS/dns/dnsmasq.log before
  for name in "$@"; do
    file=$PODS/dns/records/$name
    before=$(grep -cF "read $file - " "$log")
    pods_records "$name" > "$PODS/dns/new.$name" && mv "$PODS/dns/new.$name" "$file"
    for ((i = 0; i < 100; i++)); do
      [ "$(grep -cF "read $file - " "$log")" -gt "$before" ] && continue 2
      sleep 0.02
    done
    echo "podctl: the DNS server has not taken the records of $name" >&2
    return 1
  done
}

# unready NAME...: its records go.
pod_unready() {
  local name
  for name in "$@"; do rm -f "$PODS/dns/records/$name"; done
}

# dns ok|nxdomain|servfail|drop [NAME.SUBDOMAIN]: what all questions, or those for one pod, are answered with from now on.
# dns flush: the cache forgets everything.   dns down|up: the server stops answering at all, TCP too, and comes back.
pod_dns() {
  local zone=cluster.local
  [ -z "${2:-}" ] || zone=$2.default.svc.cluster.local
  case $1 in
    ok)
      pods_unbound local_zone $zone transparent
      if [ $zone = cluster.local ]; then pods_unbound forward_add $zone 127.0.0.1@5353; else pods_unbound forward_remove $zone; fi
      pods_unbound flush_zone $zone
      ;;
    nxdomain) pods_unbound local_zone $zone always_nxdomain ;;
    drop) pods_unbound local_zone $zone always_deny ;;
    servfail)
      pods_unbound forward_add $zone 127.0.0.1@5354
      pods_unbound flush_zone $zone
      ;;
    flush) pods_unbound flush_zone cluster.local ;;
    down) kill -STOP "$(< "$PODS/dns/unbound.pid")" ;;
    up) kill -CONT "$(< "$PODS/dns/unbound.pid")" ;;
    *) echo "podctl: dns ok|nxdomain|servfail|drop|flush|down|up, not '$1'" >&2; return 64 ;;
  esac > /dev/null
}

# queries [NAME]: how often each name was asked for by all pods, or by pod NAME: "COUNT NAME TYPE" a line.
pod_queries() {
  local ip= ip6=
  [ -z "${1:-}" ] || { ip=$(< "$PODS/pods/$1/ip"); ip6=$(< "$PODS/pods/$1/ip6"); }
  awk -v ip="$ip" -v ip6="$ip6" '$3 == "info:" && $7 == "IN" && (ip == "" || $4 == ip || $4 == ip6) { n[$5 " " $6]++ }
    END { for (q in n) print n[q], q }' "$PODS/dns/unbound.log" | sort -k2
}

# ask NAME QUESTION [A|AAAA]: what DNS answers pod NAME (one with IPv4), past its hosts file and search list: "NOERROR 1" (answers), "NXDOMAIN
# 0", "SERVFAIL 0" or "nothing", after 1 s.
pod_ask() {
  local label labels type=1 packet answer names=(NOERROR FORMERR SERVFAIL NXDOMAIN NOTIMP REFUSED)
  [ "${3:-A}" = A ] || type=28
  packet='\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00'
  IFS=. read -r -a labels <<< "${2%.}"
  for label in "${labels[@]}"; do packet+=$(printf '\\x%02x%s' ${#label} "$label"); done
  packet+=$(printf '\\x00\\x00\\x%02x\\x00\\x01' $type)
  answer=$(nsenter --net="/run/netns/$(< "$PODS/pods/$1/ns")" bash -c \
    'exec 3<> /dev/udp/'$pods_dns_address'/53; printf "$1" >&3; timeout 1 dd bs=512 count=1 <&3 2> /dev/null' ask "$packet" |
    od -An -v -tu1 -j3 -N5 2> /dev/null)
  read -r -a labels <<< "$answer"
  [ ${#labels[@]} -ge 5 ] || { echo nothing; return; }
  echo "${names[$((labels[0] & 15))]:-rcode} $((labels[3] * 256 + labels[4]))"
}
