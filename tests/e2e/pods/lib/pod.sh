# Life of a pod: create, replace, restart, delete, watch.

# create NAME [options] [-- COMMAND...]; the options stand in README.md. Comes back when the command runs.
pod_create() {
  local name=$1 pod
  shift
  pod=$PODS/pods/$name
  [ ! -e "$pod" ] || { echo "podctl: there is a pod '$name' already" >&2; return 64; }
  mkdir -p "$pod"
  pods_options "$name" "$@" || return
  pods_start "$name"
}

# Puts what the options say into files of the pod's folder.
pods_options() {
  local name=$1 pod=$PODS/pods/$1 ready=1 group= hostname=$1 subdomain= uid=0 gid=0 namespace=default
  local ip= families=4 workdir=/ restricted= extra=() variables=() mounts=()
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --hostname) hostname=$2; shift 2 ;;
      --subdomain) subdomain=$2; shift 2 ;;
      --namespace) namespace=$2; shift 2 ;;
      --service) extra+=("$2"); shift 2 ;;
      --uid) uid=$2; [ "$gid" != 0 ] || gid=$2; shift 2 ;;
      --gid) gid=$2; shift 2 ;;
      --fsgroup) group=$2; shift 2 ;;
      --ip) ip=$2; shift 2 ;;
      --families) families=$2; shift 2 ;;
      --not-ready) ready=0; shift ;;
      --restricted) restricted=yes; shift ;;
      --workdir) workdir=$2; shift 2 ;;
      --env) variables+=("$2"); shift 2 ;;
      --mount) mounts+=("bind"$'\t'"${2%%=*}"$'\t'"${2#*=}"); shift 2 ;;
      --mount-ro) mounts+=("robind"$'\t'"${2%%=*}"$'\t'"${2#*=}"); shift 2 ;;
      --secret | --config) mounts+=("volume"$'\t'"${2%%=*}"$'\t'"${2#*=}"$'\t'"${3}"); shift 3 ;;
      --file) mounts+=("file"$'\t'"${2%%=*}"$'\t'"${2#*=}"$'\t'"${3}"); shift 3 ;;
      --tmpfs) mounts+=("tmpfs"$'\t'"$2"); shift 2 ;;
      --) shift; break ;;
      *) echo "podctl: create: unknown option '$1'" >&2; return 64 ;;
    esac
  done
  pods_address "$pod" "$ip"
  echo "$hostname" > "$pod/hostname"
  echo "$subdomain" > "$pod/subdomain"
  echo "$namespace" > "$pod/namespace"
  echo "$families" > "$pod/families"
  echo "${subdomain:+$hostname.$subdomain $subdomain} ${extra[*]}" > "$pod/names"
  echo "$uid $gid ${group:-}" > "$pod/user"
  echo "$workdir" > "$pod/workdir"
  echo "$restricted" > "$pod/restricted"
  echo $ready > "$pod/ready"
  echo "$group" > "$pod/group"
  printf '%s\n' ${mounts[@]+"${mounts[@]}"} > "$pod/mounts"
  printf '%s\0' ${variables[@]+"${variables[@]}"} > "$pod/variables"
  [ $# -gt 0 ] || set -- sleep infinity
  printf '%s\0' "$@" > "$pod/command"
}

# A number that no pod of the cluster had before, and the addresses made of it, or the IPv4 address given.
pods_address() {
  local number
  number=$({ flock 9; echo $(($(< "$PODS/next") + 1)) | tee "$PODS/next.new"; mv "$PODS/next.new" "$PODS/next"; } 9> "$PODS/lock")
  echo "$number" > "$1/number"
  echo "${2:-10.77.$((1 + number / 250)).$((1 + number % 250))}" > "$1/ip"
  printf 'fd77::1:%x\n' "$number" > "$1/ip6"
}

# The network of a pod that has its address in $pod/ip, then its container.
pods_start() {
  local name=$1 pod=$PODS/pods/$1
  echo "$(pods_id)-p$(< "$pod/number")" > "$pod/ns"
  echo "leg$(< "$pod/number")" > "$pod/leg"
  pods_leg "$(< "$pod/ns")" "$(< "$pod/leg")" "$(pods_ip4 "$name")" "$(pods_ip6 "$name")" || return 1
  [ -z "$(pods_ip4 "$name")" ] || ip -n "$(< "$pod/ns")" route add default via 10.77.0.1
  pods_network_files "$name"
  [ "$(< "$pod/ready")" = 0 ] || pod_ready "$name" || return 1
  pods_container "$name"
}

# Starts the container's command; comes back when it runs.
pods_container() {
  local pod=$PODS/pods/$1 i
  rm -f "$pod/exit" "$pod/running" "$pod/pid"
  : > "$pod/termination-log"
  chmod 666 "$pod/termination-log"
  (PODS_IMAGE=$PODS/image DS_BIN=$DS_BIN exec setsid bash "$pods_home/lib/pod_run.sh" "$pod") < /dev/null > /dev/null 2>&1 &
  for ((i = 0; i < 1000; i++)); do
    [ ! -e "$pod/exit" ] || return 0
    [ ! -e "$pod/running" ] || pods_preparing "$pod" || return 0
    sleep 0.01
  done
  echo "podctl: pod $1 has not started: $(< "$pod/log")" >&2
  return 1
}

# PID 1 is not the command yet, but one of the programs that prepare it (see pod_init.sh).
pods_preparing() {
  local words
  mapfile -d '' -n 2 words < "/proc/$(< "$1/pid")/cmdline" 2> /dev/null
  case "${words[*]:-}" in *pod_init.sh | setpriv* | "env -i") return 0 ;; esac
  return 1
}

# pid NAME: of its PID 1, as this machine numbers it.
pod_pid() { pod_running "$1" && cat "$PODS/pods/$1/pid"; }

# Nothing where the pod has IPv6 alone; nothing where it has IPv4 alone, as in most clusters.
pods_ip4() { case $(< "$PODS/pods/$1/families") in *4*) echo "$(< "$PODS/pods/$1/ip")" ;; esac; }
pods_ip6() { case $(< "$PODS/pods/$1/families") in *6*) cat "$PODS/pods/$1/ip6" ;; esac; }
pod_ip() { if [ "$(< "$PODS/pods/$1/families")" = 6 ]; then pods_ip6 "$1"; else pods_ip4 "$1"; fi; }
pod_logs() { cat "$PODS/pods/$1/log"; }
pod_termination() { cat "$PODS/pods/$1/termination-log"; }
pod_list() { ls "$PODS/pods"; }
pod_running() { [ ! -e "$PODS/pods/$1/exit" ]; }

# code NAME: the exit code of its last command; 1 and nothing while it runs.
pod_code() { cat "$PODS/pods/$1/exit" 2> /dev/null; }

# wait SECONDS NAME...: until all have ended; 1 and who has not, when the time is over.
pod_wait() {
  local tries=$(($1 * 20 + 1)) name left=
  shift
  for ((; tries > 0; tries--)); do
    left=
    for name in "$@"; do [ -e "$PODS/pods/$name/exit" ] || left+=" $name"; done
    [ -n "$left" ] || return 0
    sleep 0.05
  done
  echo "podctl: still running:$left" >&2
  return 1
}

# until SECONDS NAME PATTERN: until the log of NAME has a line like it (grep -E).
pod_until() {
  local tries=$(($1 * 20))
  for ((; tries > 0; tries--)); do
    grep -qE -- "$3" "$PODS/pods/$2/log" 2> /dev/null && return 0
    sleep 0.05
  done
  echo "podctl: the log of $2 has no line like: $3" >&2
  return 1
}

# term NAME: SIGTERM to PID 1 and no more. Its records go, as of every pod that is being deleted.
pod_term() {
  local pid
  pod_unready "$1"
  pid=$(pod_pid "$1") && kill -TERM "$pid"
}

# delete NAME [GRACE]: SIGTERM, after GRACE seconds (30) SIGKILL; then its network goes. Its files stay for logs and code.
pod_delete() {
  pod_term "$1"
  pod_wait "${2:-30}" "$1" 2> /dev/null || pod_kill9 "$1"
  pod_wait 5 "$1"
  pods_end_namespace "$(< "$PODS/pods/$1/ns")"
}

# restart NAME: the container again in the same pod (restartPolicy OnFailure, Always): same address, empty file system.
pod_restart() {
  pod_running "$1" && { pod_kill9 "$1"; pod_wait 5 "$1"; }
  pods_container "$1"
}

# replace NAME [--keep-record] [--ip ADDRESS]: another pod in its place: same name and command, new address. What is left of
# the old one is killed. With --keep-record DNS goes on with the old address, until `ready NAME`.
pod_replace() {
  local name=$1 pod=$PODS/pods/$1 keep=0 ip=
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --keep-record) keep=1; shift ;;
      --ip) ip=$2; shift 2 ;;
      *) echo "podctl: replace: unknown option '$1'" >&2; return 64 ;;
    esac
  done
  pod_running "$name" && { pod_kill9 "$name"; pod_wait 5 "$name"; }
  pods_end_namespace "$(< "$pod/ns")"
  cat "$pod/log" >> "$pod/log.before" 2> /dev/null
  pods_address "$pod" "$ip"
  echo $((1 - keep)) > "$pod/ready"
  pods_start "$name"
}

# reuse-ip OLD NEW [options] [-- COMMAND...]: a pod NEW, of another job, at the address that the deleted pod OLD had.
pod_reuse_ip() {
  local old=$1 new=$2
  shift 2
  [ ! -e "/run/netns/$(< "$PODS/pods/$old/ns")" ] || { echo "podctl: reuse-ip: pod $old still has its address: delete it first" >&2; return 64; }
  pod_create "$new" --ip "$(pod_ip "$old")" "$@"
}
