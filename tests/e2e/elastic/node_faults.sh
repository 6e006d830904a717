# Sourced by campaign.sh: what happens to nodes. fault_KIND NODE returns 1 where it cannot happen now. mend_nodes brings back, by chance, what
# was taken away; mend_all brings back everything.

fault_names=(kill_rank kill_shim kill_agent kill_guard stop_rank stop_agent link_down power_off two_nodes planned leave_and_lose)
! mountpoint -q "$dir/saves" || fault_names+=(full_disk)
[ -z "${DS_FAULTS:-}" ] || read -ra fault_names <<< "$DS_FAULTS"
declare -A is_down=()

parent() { awk '$1 == "PPid:" { print $2 }' "/proc/$1/status" 2> /dev/null; }
rank_on() { # NODE: one rank's main process, not the check of a host that joins
  local pid
  for pid in $(node_pids "$1"); do
    [ "$(cat "/proc/$pid/comm" 2> /dev/null)" = dsrunner ] && ! grep -q -e --check "/proc/$pid/cmdline" 2> /dev/null || continue
    echo "$pid"
    return 0
  done
  return 1
}
hit() { # SIGNAL NODE LEVELS: the process so many levels above a rank
  local pid level
  pid=$(rank_on "$2") || return 1
  for ((level = 0; level < $3; level++)); do pid=$(parent "$pid"); done
  [ -n "$pid" ] && kill "-$1" "$pid" 2> /dev/null
}
fault_kill_rank() { hit KILL "$1" 0; }
fault_kill_shim() { hit KILL "$1" 1; }
fault_kill_agent() { hit KILL "$1" 2; }
fault_kill_guard() { hit KILL "$1" 3; }
fault_stop_rank() { hit STOP "$1" 0; }
fault_stop_agent() { hit STOP "$1" 2; }
fault_link_down() {
  rank_on "$1" > /dev/null || return 1
  ip -n "$head_ns" link set "leg$1" down
  is_down[$1]=link
}
# All processes of the node, its sshd too, at one moment.
fault_power_off() {
  rank_on "$1" > /dev/null || return 1
  kill -9 $(ip netns pids "$(node_ns "$1")") 2> /dev/null
  is_down[$1]=power
}
fault_two_nodes() { # a node and the next one, which may keep each other's copies; at once, because the job ends its ranks within milliseconds
  local next=$(($1 % hosts + 1))
  rank_on "$1" > /dev/null && rank_on "$next" > /dev/null || return 1
  kill -9 $(ip netns pids "$(node_ns "$1")") $(ip netns pids "$(node_ns "$next")") 2> /dev/null
  is_down[$1]=power is_down[$next]=power
}
on_head() { timeout 30 ip netns exec "$head_ns" "$DS_BIN/dslaunch" "$@" > "$dir/asked" 2>&1; }
fault_planned() { # the node leaves as it was told to
  rank_on "$1" > /dev/null && on_head scale --remove "node$1" || return 1
  is_down[$1]=planned
}
fault_leave_and_lose() { # the node leaves, and within a second the next one is lost, which may have its copies
  local next=$(($1 % hosts + 1))
  rank_on "$next" > /dev/null && fault_planned "$1" || return 1
  sleep 0.$((RANDOM % 10))
  fault_power_off "$next" || true
}
# The training goes on; a save that is asked for says why there is none.
fault_full_disk() {
  [ -z "${is_down[disk]:-}" ] || return 1
  dd if=/dev/zero of="$dir/saves/full" bs=64k 2> /dev/null
  is_down[disk]=disk
  if on_head checkpoint; then
    echo "BAD: a save on a full disk: $(cat "$dir/asked")"
    bad=$((bad + 1))
  fi
}
mend() { # NODE
  case ${is_down[$1]} in
    planned) on_head scale --add "node$1" || return 0 ;; # later, when the job is not changing
    disk) rm -f "$dir/saves/full" ;;
    link) ip -n "$head_ns" link set "leg$1" up ;;
    power) netns_sshd "$1" ;;
  esac
  unset "is_down[$1]"
}
mend_nodes() {
  local node
  for node in "${!is_down[@]}"; do
    # Half of the hosts at least stay, so that faults have somebody to meet.
    if [ $((RANDOM % 3)) -gt 0 ] || [ ${#is_down[@]} -gt $((hosts / 2)) ]; then mend "$node"; fi
  done
}
mend_all() {
  local node
  for node in "${!is_down[@]}"; do mend "$node"; done
}
