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

# slow NAME MILLISECONDS [LOSS%]: what comes to the pod comes late, and some of it never; 77 where the kernel has no netem.
# `slow NAME 0` ends it.
pod_slow() {
  local leg net
  leg=$(< "$PODS/pods/$1/leg")
  net=$(pods_net)
  if [ "$2" = 0 ]; then
    tc -n "$net" qdisc del dev "$leg" root
    return
  fi
  tc -n "$net" qdisc replace dev "$leg" root netem delay "$2ms" loss "${3:-0}%" 2> /dev/null && return
  echo "podctl: slow: this kernel has no netem" >&2
  return 77
}
