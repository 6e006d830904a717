# Sourced by tests: starts and stops a real sshd on a high port, with its own keys and configuration.
# sshd_setup DIR        makes keys (host key, client key) and an ssh config in DIR
# sshd_start DIR ADDRESS PORT [sshd_config lines...]   starts sshd in the background; its pid goes to DIR/sshd.pid
# sshd_stop DIR
# Everything lies in DIR, which belongs to the test: it removes it.

sshd_need() {
  local tool
  for tool in /usr/sbin/sshd ssh-keygen; do
    command -v "$tool" > /dev/null || { echo "SKIP: $tool is not installed"; exit 77; }
  done
}

sshd_setup() {
  local dir=$1
  chmod 755 "$dir"
  ssh-keygen -q -t ed25519 -N '' -C host -f "$dir/host_key"
  ssh-keygen -q -t ed25519 -N '' -C client -f "$dir/client_key"
  cp "$dir/client_key.pub" "$dir/authorized_keys"
  cat > "$dir/ssh_config" << END
IdentityFile $dir/client_key
IdentitiesOnly yes
UserKnownHostsFile $dir/known_hosts
GlobalKnownHostsFile none
END
  : > "$dir/known_hosts"
}

# Adds the host key of DIR under the names given (as known_hosts spells them: host or [host]:port).
sshd_know() {
  local dir=$1 name
  shift
  for name in "$@"; do echo "$name $(cut -d' ' -f1,2 "$dir/host_key.pub")" >> "$dir/known_hosts"; done
}

sshd_start() {
  local dir=$1 address=$2 port=$3
  shift 3
  mkdir -p /run/sshd 2> /dev/null || true # privilege separation wants it when run as root
  {
    echo "ListenAddress $address"
    echo "Port $port"
    echo "HostKey $dir/host_key"
    echo "PidFile $dir/sshd.pid"
    # The first value wins in sshd_config: what the caller gives comes before what it leaves open.
    printf '%s\n' "$@"
    echo "StrictModes no"
    echo "UsePAM no"
    echo "PasswordAuthentication no"
    echo "KbdInteractiveAuthentication no"
    echo "AuthorizedKeysFile $dir/authorized_keys"
    echo "PrintMotd no"
    echo "LogLevel ERROR"
    # Debian's bash runs ~/.bashrc under sshd unless it is a nested shell; this one must not matter to tests.
    echo "SetEnv SHLVL=1"
    echo "MaxStartups 1000"
    echo "MaxSessions 100"
  } > "$dir/sshd_config"
  rm -f "$dir/sshd.pid"
  # SSHD_START: another way to start it, such as in a namespace.
  ${SSHD_START:-/usr/sbin/sshd -f "$dir/sshd_config" -E "$dir/sshd.log"} || { cat "$dir/sshd.log"; return 1; }
  local tries=0
  while [ ! -s "$dir/sshd.pid" ]; do
    tries=$((tries + 1))
    [ $tries -lt 400 ] || { echo "sshd wrote no pid file"; cat "$dir/sshd.log"; return 1; }
    sleep 0.05
  done
}

sshd_stop() {
  local dir=$1
  [ -s "$dir/sshd.pid" ] || return 0
  kill "$(cat "$dir/sshd.pid")" 2> /dev/null
  rm -f "$dir/sshd.pid"
}

# Prints a port that no local TCP socket uses now.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    # A listener on any one address forbids a bind to 0.0.0.0.
    [ -n "$(ss -Htan "sport = :$port")" ] || { echo "$port"; return; }
  done
}
