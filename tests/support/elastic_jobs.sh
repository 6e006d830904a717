# Sourced after train_ranks.sh by tests of elastic trainings under dslaunch: starts jobs, kills agents, and compares with the undisturbed
# run, which is the job "plain" with the weights $hash. The test sets `common`, the keys of all its jobs.
[ -x "$DS_BIN/dslaunch" ] || { echo "FAILED: $DS_BIN/dslaunch is to be built first"; exit 1; }

# job NAME HOSTS KEYS...: in the background, with steps of at least 60 ms
job() {
  "$DS_BIN/dslaunch" -H "$2" --transport local --nodes 1:4 --max-restarts 9 "$work/train.toml" "log.dir=$work/$1" "${common[@]}" \
    debug.slow_data=0:60 "${@:3}" >"$work/$1.out" 2>&1 </dev/null &
  pids=($!)
}
# reached NAME STEPS: so many steps are logged
reached() {
  local count
  count=$(grep -sc '"loss"' "$work/$1/metrics.jsonl")
  [ "${count:-0}" -ge "$2" ]
}
# ranks_of NAME NODE_RANK: processes of the ranks there
ranks_of() {
  local process
  for process in $(pgrep -f "dsrunner .*log\.dir=$work/$1 "); do
    ! grep -q -e --check "/proc/$process/cmdline" 2>/dev/null || continue # the check of a host that joins
    tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null | grep -qx "NODE_RANK=$2" && echo "$process"
  done
}
parent_of() { sed -n 's/^PPid:[[:space:]]*//p' "/proc/$1/status"; }
# agent_of NAME NODE_RANK
agent_of() {
  local rank shim
  rank=$(ranks_of "$1" "$2" | head -1)
  [ -n "$rank" ] && shim=$(parent_of "$rank") && [ "${shim:-0}" -gt 1 ] && parent_of "$shim"
}
# find_agent NAME NODE_RANK: sets agent
find_agent() {
  agent=$(agent_of "$@" 2>/dev/null)
  [ "${agent:-0}" -gt 1 ]
}
# kill_agents NAME STEPS NODE_RANK...: when so many steps are logged. Agents live through epochs and are found before, because that takes
# a busy machine the time of several steps. Ranks are away for a moment while a host joins.
kill_agents() {
  local node agent agents=() i
  wait_for 60 reached "$1" 1 || { fail "$1: no step: $(cat "$work/$1.out")"; return; }
  for node in "${@:3}"; do
    wait_for 20 find_agent "$1" "$node" || { fail "$1: no agent of node $node: $(cat "$work/$1.out")"; return; }
    agents+=("$agent")
  done
  for ((i = 0; i < 6000; i++)); do
    ! reached "$1" "$2" || { kill -9 "${agents[@]}"; return; }
    sleep 0.01
  done
  fail "$1: no step $2: $(cat "$work/$1.out")"
}
ended() {
  wait "${pids[0]}"
  local code=$?
  pids=()
  [ $code = 0 ] || fail "$1: exit $code: $(cat "$work/$1.out")"
  same "$1"
}
# same NAME: weights, and loss and norm of each step, as undisturbed
same() {
  python3 "$DS_SOURCE/tests/e2e/elastic/check_history.py" "$work/plain" "$work/$1" >"$work/$1.check" ||
    fail "$1: $(cat "$work/$1.check" "$work/$1.out")"
}
says() { grep -qE -- "$2" "$work/$1.out" || fail "$1: does not say '$2': $(cat "$work/$1.out")"; }
# said_soon NAME TEXT: waits for it
said_soon() {
  local i
  for ((i = 0; i < 2000; i++)); do
    grep -qE -- "$2" "$work/$1.out" && return
    sleep 0.01
  done
  fail "$1: it does not say '$2': $(cat "$work/$1.out")"
}
