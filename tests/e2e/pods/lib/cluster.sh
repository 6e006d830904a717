# Cluster of podctl: its bridge in a namespace of its own, the folder of its state, and its removal.
# 10.77.0.0/16 and fd77::/64 exist only inside these namespaces; nothing of the machine's network changes.

pods_need() {
  local tool works=0 try=dsp$$-try
  [ "$(id -u)" -eq 0 ] || { echo "SKIP: pods need root"; exit 77; }
  for tool in ip unshare nsenter setpriv pivot_root flock dnsmasq unbound unbound-control; do
    command -v "$tool" > /dev/null || { echo "SKIP: $tool is not installed (scripts/install_packages.sh test)"; exit 77; }
  done
  ip netns add "$try" 2> /dev/null || { echo "SKIP: this system does not allow network namespaces"; exit 77; }
  nsenter --net="/run/netns/$try" unshare --mount --uts --ipc --pid --fork mount -t proc none /proc 2> /dev/null && works=1
  ip -n "$try" link add br0 type bridge 2> /dev/null || works=0
  ip netns delete "$try"
  [ "$works" = 1 ] || { echo "SKIP: this system does not allow mount and pid namespaces, or has no bridges"; exit 77; }
}

pods_up() {
  PODS=$(realpath "$1")
  export PODS
  mkdir -p "$PODS/pods" "$PODS/dns/records"
  chmod 755 "$PODS"
  # A name that no other cluster of this machine has, whoever starts it.
  cluster_id=dsp$$-$(basename "$PODS" | tr -cd 'A-Za-z0-9' | tail -c 6)
  echo "$cluster_id" > "$PODS/id"
  echo 0 > "$PODS/next"
  ip netns add "$cluster_id-net"
  ip -n "$cluster_id-net" -batch - << 'EOF'
link set lo up
link add br0 type bridge
address add 10.77.0.1/16 dev br0
link set br0 up
EOF
  pods_image
  pods_dns_up
}

pods_id() { cat "$PODS/id"; }
pods_net() { echo "$(pods_id)-net"; }

# pods_leg NAMESPACE LEG ADDRESS ADDRESS6, one of which may be empty: a leg of that namespace to the bridge.
pods_leg() {
  ip netns add "$1" || return 1
  ip -n "$1" -batch - << EOF || return 1
link set lo up
link add eth0 type veth peer name $2 netns $(pods_net)
${3:+address add $3/16 dev eth0}
${4:+address add $4/64 dev eth0 nodad}
link set eth0 up
EOF
  ip -n "$(pods_net)" link set "$2" master br0 up
}

# Ends every process in a namespace of this cluster, also one that is stopped, and removes the namespace.
pods_end_namespace() {
  local pid
  for pid in $(ip netns pids "$1" 2> /dev/null); do kill -9 "$pid" 2> /dev/null; done
  ip netns delete "$1" 2> /dev/null
}

pods_down() {
  [ -n "${PODS:-}" ] && [ -s "$PODS/id" ] || return 0
  local id ns pod i
  id=$(pods_id)
  for pod in "$PODS"/pods/*/; do
    [ ! -e "$pod/pid" ] || [ -e "$pod/exit" ] || kill -9 "$(< "$pod/pid")" 2> /dev/null
  done
  for pod in "$PODS"/pods/*/; do # their runners have seen it, and write nothing any more
    for ((i = 0; i < 100; i++)); do
      [ ! -e "$pod/pid" ] || [ -e "$pod/exit" ] && break
      sleep 0.02
    done
  done
  for ns in $(ip netns list | awk '{print $1}' | grep "^$id-"); do pods_end_namespace "$ns"; done
}

# What every pod's /etc begins with: as an image lays it down, with a user for those that do not run as root.
pods_image() {
  local item etc=$PODS/image/etc
  mkdir -p "$etc"
  for item in passwd group shadow ld.so.cache ld.so.conf ld.so.conf.d alternatives ssl ssh services protocols rpc \
              localtime host.conf gai.conf profile bash.bashrc login.defs pam.d security debian_version os-release openmpi; do
    [ ! -e "/etc/$item" ] || cp -a "/etc/$item" "$etc/"
  done
  rm -f "$etc"/ssh/ssh_host_*
  sed -i '/^[^:]*:[^:]*:1000:/d; /^mpiuser:/d' "$etc/passwd" "$etc/group"
  echo 'mpiuser:x:1000:1000::/home/mpiuser:/bin/bash' >> "$etc/passwd"
  echo 'mpiuser:x:1000:' >> "$etc/group"
  echo 'mpiuser:*:19000:0:99999:7:::' >> "$etc/shadow"
  printf 'passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\n' > "$etc/nsswitch.conf"
}
