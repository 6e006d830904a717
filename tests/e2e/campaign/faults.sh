# Sourced by campaign.sh: the faults. Each function damages the running job and sets the expected result:
#   want_code     exit code of the launcher; empty: none is asked for (it was killed itself)
#   want_cause    what must stand in "cause" of the verdict file
#   harmed        ranks whose output may end early
# and describes itself in `target`. Given: rank (a random one), node (its host: 0 for the head), shape, up.RANK files.

fault_names=(kill_rank stop_rank kill_shim stop_shim kill_agent stop_agent kill_guard stop_guard kill_root stop_root
  link_down kill_session kill_sshd full_disk slow_reader two_ranks slow_reader_kill)

parent() { awk '$1 == "PPid:" { print $2 }' "/proc/$1/status" 2> /dev/null; }
name_of() { cat "/proc/$1/comm" 2> /dev/null; }
rank_pid() { cat "$job/up.$1"; }
shim_of() { parent "$(rank_pid "$1")"; }
agent_of() { parent "$(shim_of "$1")"; }
guard_of() { parent "$(agent_of "$1")"; }
ranks_of_node() { # NODE: its ranks
  local r
  for ((r = 0; r < ranks; r++)); do [ "${rank_node[r]}" != "$1" ] || echo "$r"; done
}
host_name() { if [ "$1" = 0 ]; then echo 10.77.0.1; else echo "node$1"; fi; }
want_lost_node() {
  want_code=69
  want_cause="\"kind\": \"node\" \"node\": \"$(host_name "$node")\""
  harmed=$(ranks_of_node "$node")
}
want_rank() { # RANK
  want_code=137
  want_cause="\"kind\": \"rank\" \"rank\": $1,"
  harmed=$1
}
hit() { # SIGNAL LINK: guard, agent or shim above the rank
  target="$2 of $(host_name "$node")"
  kill "-$1" "$("$2_of" "$rank")"
  want_lost_node
}

fault_kill_rank() {
  target="rank $rank"
  kill -9 "$(rank_pid "$rank")"
  want_rank "$rank"
}
# A stopped rank is no failure: the deadline of the job finds it.
options_stop_rank=(--timeout 3s)
fault_stop_rank() {
  target="rank $rank"
  kill -STOP "$(rank_pid "$rank")"
  want_code=124 want_cause='"kind": "deadline"' harmed=$rank
}
# The job must not end before a fault that a loaded machine is slow to make, nor before a stop is believed: it is seen
# twice then, half a second apart.
for fault in "${fault_names[@]}"; do declare "run_ms_$fault=4000"; done
run_ms_slow_reader=1200 run_ms_full_disk=1200 run_ms_kill_sshd=1200 # nothing ends these early
fault_kill_shim() { hit KILL shim; }
fault_stop_shim() { hit STOP shim; }
fault_kill_agent() { hit KILL agent; }
fault_stop_agent() { hit STOP agent; }
fault_kill_guard() { hit KILL guard; }
fault_stop_guard() { hit STOP guard; }
fault_kill_root() {
  target=launcher
  kill -9 "$root"
  want_code= want_cause= harmed=all
}
run_ms_stop_root=15000
# The nodes must not wait for a launcher that is stopped; when it goes on it finds them gone.
fault_stop_root() {
  target=launcher
  kill -STOP "$root"
  until_none_left 12 "$root" || problem="left while the launcher was stopped: $(describe_left "$root")"
  kill -CONT "$root"
  want_code=69 want_cause='"kind": "node"' harmed=all
}
needs_ssh="link_down kill_session kill_sshd"
fault_link_down() {
  target="link of node$node"
  ip -n "$head_ns" link set "leg$node" down
  want_lost_node
}
after_link_down() { ip -n "$head_ns" link set "leg$node" up; }
fault_kill_session() {
  target="ssh session of node$node"
  local pid
  pid=$(parent "$(guard_of "$rank")")
  while [ "$(name_of "$pid")" = sshd ] && [ "$pid" != "$(cat "$dir/node$node/sshd.pid")" ]; do
    local above
    above=$(parent "$pid")
    kill -9 "$pid"
    pid=$above
  done
  want_lost_node
}
# Who is connected stays connected.
fault_kill_sshd() {
  target="sshd of node$node"
  kill -9 "$(cat "$dir/node$node/sshd.pid")"
  want_code=0 want_cause='"kind": "none"' harmed=
}
after_kill_sshd() { netns_sshd "$node"; }
options_full_disk=(--log-dir) # the folder is added by campaign.sh
fault_full_disk() {
  target="log folder"
  want_code=0 want_cause='"kind": "none"' harmed=
}
fault_slow_reader() {
  target="standard output"
  want_code=0 want_cause='"kind": "none"' harmed=
}
fault_two_ranks() {
  local other=$(((rank + 1 + RANDOM % (ranks - 1)) % ranks))
  target="ranks $rank, $other"
  kill -9 "$(rank_pid "$rank")" "$(rank_pid "$other")"
  want_rank "$rank"
  want_cause="\"kind\": \"rank\" \"rank\": \\($rank\\|$other\\),"
  harmed="$rank $other"
}
fault_slow_reader_kill() { fault_kill_rank; }
