# Sourced by tests: creates hosts as network namespaces on one bridge, each with its own sshd, name and address.
#   netns_need               skips the test (77) where namespaces are not allowed
#   netns_up DIR COUNT       makes the head (10.77.0.1) and node1..nodeN (10.77.0.11, ...), starts an sshd on each
#   on_head COMMAND...       runs a command on the head, where node1.. are known by /etc/hosts
#   on_node N COMMAND...     runs a command on node N
#   netns_sshd N             starts the sshd of node N again
#   node_pids N              processes on node N, without those of sshd
#   netns_down               ends all processes in the namespaces and removes them; call it from a trap
# Only namespaces made here are touched; nothing of this machine's own network changes.

netns_prefix=dst$$

netns_need() {
  local tool
  for tool in ip ssh-keygen /usr/sbin/sshd unshare; do
    command -v "$tool" > /dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
  done
  [ -e /etc/hosts ] || { echo "SKIP: there is no /etc/hosts, in whose place the hosts' names go"; exit 77; }
  [ "$(id -u)" -eq 0 ] || { echo "SKIP: network namespaces need root"; exit 77; }
  local works=0
  ip netns add "$netns_prefix-try" 2> /dev/null || { echo "SKIP: this system does not allow network namespaces"; exit 77; }
  ip netns exec "$netns_prefix-try" true 2> /dev/null && works=1
  ip netns delete "$netns_prefix-try"
  # In a plain chroot, for instance, whose root is no mount point.
  [ "$works" = 1 ] || { echo "SKIP: this system does not let a process enter a network namespace"; exit 77; }
}

head_ns=$netns_prefix-head
node_ns() { echo "$netns_prefix-node$1"; }
on_head() { ip netns exec "$head_ns" "$@"; }
on_node() {
  local node=$1
  shift
  ip netns exec "$(node_ns "$node")" "$@"
}

node_pids() {
  local pid name
  for pid in $(ip netns pids "$(node_ns "$1")"); do
    name=$(cat "/proc/$pid/comm" 2> /dev/null) || continue # gone meanwhile
    [ "$name" = sshd ] || echo "$pid"                      # a session may outlive its dead client
  done
}

# One namespace with a leg to the bridge of the head.
netns_add() {
  local ns=$1 address=$2 leg=$3
  ip netns add "$ns"
  ip -n "$ns" link set lo up
  ip -n "$ns" link add eth0 type veth peer name "$leg" netns "$head_ns"
  ip -n "$ns" address add "$address/16" dev eth0
  ip -n "$ns" link set eth0 up
  ip -n "$head_ns" link set "$leg" master br0 up
}

# The sshd of node N; more lines for its config: netns_sshd_lines, an array. Commands that run before it, in a mount
# namespace of the node: netns_start_lines.
netns_sshd() {
  local dir=$netns_dir/node$1
  cat > "$dir/start" << END
hostname node$1
mount -t tmpfs -o size=256m tmpfs /dev/shm # as hosts of their own: MPI ranks of one host meet there
${netns_start_lines-}
exec /usr/sbin/sshd -f $dir/sshd_config -E $dir/sshd.log
END
  # The prefix word splits on purpose: a host name of its own, in the node's network.
  SSHD_START="ip netns exec $(node_ns "$1") unshare --uts sh $dir/start" \
    sshd_start "$dir" 0.0.0.0 22 ${netns_sshd_lines[@]+"${netns_sshd_lines[@]}"}
}

netns_up() {
  netns_dir=$1
  netns_count=$2
  chmod 755 "$netns_dir"
  ip netns add "$head_ns"
  ip -n "$head_ns" link set lo up
  ip -n "$head_ns" link add br0 type bridge
  ip -n "$head_ns" address add 10.77.0.1/16 dev br0
  ip -n "$head_ns" link set br0 up
  local i dir names
  names=$(printf '127.0.0.1 localhost\n10.77.0.1 head'; for ((i = 1; i <= netns_count; i++)); do printf '\n10.77.0.%d node%d' $((10 + i)) "$i"; done)
  mkdir -p "/etc/netns/$head_ns"
  echo "$names" > "/etc/netns/$head_ns/hosts"
  ssh-keygen -q -t ed25519 -N '' -C client -f "$netns_dir/client_key"
  : > "$netns_dir/known_hosts"
  printf 'IdentityFile %s\nUserKnownHostsFile %s\nGlobalKnownHostsFile none\nIdentityAgent none\n' \
    "$netns_dir/client_key" "$netns_dir/known_hosts" > "$netns_dir/ssh_config"
  for ((i = 1; i <= netns_count; i++)); do
    dir=$netns_dir/node$i
    mkdir "$dir"
    netns_add "$(node_ns "$i")" "10.77.0.$((10 + i))" "leg$i"
    mkdir -p "/etc/netns/$(node_ns "$i")"
    echo "$names" > "/etc/netns/$(node_ns "$i")/hosts" # each node knows all, as a site's name service does
    ssh-keygen -q -t ed25519 -N '' -C "node$i" -f "$dir/host_key"
    cp "$netns_dir/client_key.pub" "$dir/authorized_keys"
    echo "node$i $(cut -d' ' -f1,2 "$dir/host_key.pub")" >> "$netns_dir/known_hosts"
    netns_sshd "$i" || return 1
  done
}

netns_down() {
  local ns pid
  for ns in $(ip netns list | awk '{print $1}' | grep "^$netns_prefix-"); do
    for pid in $(ip netns pids "$ns"); do kill -9 "$pid" 2> /dev/null; done
    ip netns delete "$ns"
    rm -rf "/etc/netns/$ns"
  done
  rmdir /etc/netns 2> /dev/null || true # ours only if it is empty now
}
