# Faults of pods and of their network.

# kill9 NAME [PATTERN]: SIGKILL to PID 1, which ends all of the pod's processes; with PATTERN only to processes whose
# command line matches (grep -E).
pod_kill9() {
  local pid
  if [ $# -eq 1 ]; then
    pid=$(pod_pid "$1") && kill -9 "$pid"
    return
  fi
  pid=$(pod_ps "$1" | grep -E -- "$2" | cut -d' ' -f1)
  [ -n "$pid" ] || { echo "podctl: no process of pod $1 matches $2" >&2; return 1; }
  kill -9 $pid
}

# partition NAME / heal NAME: nothing goes out of its network or in, and nobody is told; it goes on running.
pod_partition() { ip -n "$(pods_net)" link set "$(< "$PODS/pods/$1/leg")" down; }
pod_heal() { ip -n "$(pods_net)" link set "$(< "$PODS/pods/$1/leg")" up; }

# freeze NAME / thaw NAME: every process of it stops, as on a node that hangs, and goes on.
pod_freeze() {
  local i pids
  for ((i = 0; i < 3; i++)); do # one may have begun meanwhile
    pids=$(pod_ps "$1" | cut -d' ' -f1)
    [ -z "$pids" ] || kill -STOP $pids 2> /dev/null
  done
}
pod_thaw() {
  local pids
  pids=$(pod_ps "$1" | cut -d' ' -f1)
  [ -z "$pids" ] || kill -CONT $pids
}

# slow NAME MILLISECONDS [LOSS%]: each frame to the pod and from it comes so much later, and some of them never; a relay
# between its leg and the bridge, as kernels without netem are common. `slow NAME 0` ends it.
pod_slow() {
  local number net leg far
  number=$(< "$PODS/pods/$1/number")
  net=$(pods_net)
  leg=leg$number
  far=far$number
  if [ -e "$PODS/pods/$1/relay" ]; then
    kill "$(< "$PODS/pods/$1/relay")" 2> /dev/null
    rm "$PODS/pods/$1/relay"
    ip -n "$net" link delete "$far" 2> /dev/null # and its other end
  fi
  if [ "$2" = 0 ]; then
    ip -n "$net" link set "$leg" master br0
    return
  fi
  ip -n "$net" link set "$leg" nomaster
  ip -n "$net" link add "$far" type veth peer name "near$number" || return 1
  ip -n "$net" link set "near$number" up
  ip -n "$net" link set "$far" master br0 up
  nsenter --net="/run/netns/$net" python3 "$pods_home/lib/slow_leg.py" "$leg" "near$number" "$2" "${3:-0}" < /dev/null > "$PODS/pods/$1/relay.log" 2>&1 &
  echo $! > "$PODS/pods/$1/relay"
}
