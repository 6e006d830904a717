# Sourced by tests of `dslaunch agent --join`: runs the nodes of a job as processes, each with its own loopback address.
# Needs: DS_BIN, DS_SOURCE. Gives what support/launch.sh does, and: peers_of, node, end_of, ends, said, must_say, has_report, stop_nodes.
. "$DS_SOURCE/tests/support/launch.sh"
# Addresses that no other script on this machine has: the port may then be the same for all.
net="127.$((1 + $$ / 250 % 250)).$((1 + $$ % 250))"
export DSLAUNCH_TOKEN="the token of this test, $$"
unset KUBERNETES_SERVICE_HOST RANK WORLD_SIZE
declare -A pids=()
# peers_of N: the names of so many.
peers_of() { peers="$net.{11..$((10 + $1))}"; }

stop_nodes() {
  local name
  for name in "${!pids[@]}"; do kill -9 "${pids[$name]}" 2>/dev/null; done
  for name in "${!pids[@]}"; do wait "${pids[$name]}" 2>/dev/null; done
  pids=()
}
trap 'stop_nodes; clean_up' EXIT
# What the nodes said goes with a failure.
eval "$(declare -f die | sed '1s/die/plain_die/')"
die() {
  tail -n 20 "$work"/*.out
  plain_die "$@"
}

# node INDEX ARGS...: the node of that index in the background; output to INDEX.out, its report to INDEX.log.
# `as=NAME node ...` calls it so, for a second one with one index; `log=FILE node ...`: its report goes there;
# `by=PROGRAM node ...`: started by that.
node() {
  local index=$1 name=${as:-$1}
  setsid ${by:-} "$dslaunch" agent --join --peers "$peers" --node-rank "$index" --termination-log "${log:-$work/$name.log}" \
    "${@:2}" >"$name.out" 2>&1 </dev/null &
  pids[$name]=$!
}

still_runs() { [ -e "/proc/$1" ] && ! grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }

# end_of NAME: waits for it; its exit code to rc.
end_of() {
  local tries
  for ((tries = 0; tries < 600; ++tries)); do
    still_runs "${pids[$1]}" || break
    sleep 0.05
  done
  still_runs "${pids[$1]}" && die "node $1 still runs after 30 s"
  rc=0
  wait "${pids[$1]}" || rc=$?
  unset "pids[$1]"
}

# ends CODE NAMES...: they end so.
ends() {
  local name
  for name in "${@:2}"; do
    end_of "$name"
    [ "$rc" = "$1" ] || die "node $name ended with $rc, not $1"
  done
}

# said NAME TEXT: a line of its output has it.
said() { grep -qF -- "$2" "$1.out"; }
# must_say NAME TEXT: a line of its output has it, or comes soon: lines of ranks pass two more processes.
must_say() {
  local tries
  for ((tries = 0; tries < 200; ++tries)); do
    said "$@" && return
    sleep 0.05
  done
  die "node $1 does not say: $2"
}
# has_report NAME TEXT...: its termination log is one line of JSON with these pieces.
has_report() {
  local text
  [ "$(wc -l <"$1.log")" = 1 ] && grep -q '^{.*}$' "$1.log" || die "no report of node $1: $(cat "$1.log")"
  for text in "${@:2}"; do
    grep -qF -- "$text" "$1.log" || die "the report of node $1 lacks $text: $(cat "$1.log")"
  done
}
