# Sourced by end-to-end tests of training: a work folder with text and a train.toml, and ranks started from plain variables.
# By hand: tests/e2e/NAME.sh, with the release build.
set -u
DS_SOURCE=${DS_SOURCE:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
DS_BIN=${DS_BIN:-$DS_SOURCE/build/release/bin}
DS_TESTS=${DS_TESTS:-$DS_SOURCE/build/release/tests}
[ -x "$DS_BIN/dsrunner" ] && [ -x "$DS_TESTS/comm_rank" ] || { echo "FAILED: $DS_BIN/dsrunner and $DS_TESTS/comm_rank are to be built first"; exit 1; }
dsrunner=$DS_BIN/dsrunner
# These are tests of the CPU's ranks, also where there is a GPU; those of another backend name its plugin.
export DSLAUNCH_CUDA_PLUGIN=${DSLAUNCH_CUDA_PLUGIN:-none}
work=$(mktemp -d)
pids=()
finish() {
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null; done
  rm -rf "$work"
}
trap finish EXIT
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# Real text: the sources themselves.
find "$DS_SOURCE/engine" "$DS_SOURCE/launcher" -name '*.h' | LC_ALL=C sort | xargs cat >"$work/text"
cat >"$work/train.toml" <<'END'
[model]
preset = "gpt-tiny"
[data]
train = "text"
validation = 0
seq_len = 32
[batch]
micro = 2
accum = 1
[optimizer]
lr = 3e-3
[train]
steps = 20
[log]
every = 1
[device]
threads = 1
END

unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE NODE_RANK DSLAUNCH_JOB_KEY DSLAUNCH_JOB_ID DSLAUNCH_EPOCH DSLAUNCH_LIVE DSLAUNCH_GRACE
export MASTER_ADDR=127.0.0.1

# start_rank RANK WORLD NAME KEYS...: output in $work/NAME.RANK.out, run folder $work/NAME, the process in pids[RANK]
start_rank() {
  RANK=$1 WORLD_SIZE=$2 LOCAL_RANK=$1 "$dsrunner" "$work/train.toml" "log.dir=$work/$3" "${@:4}" \
    >"$work/$3.$1.out" 2>&1 </dev/null &
  pids[$1]=$!
}
# start_job WORLD NAME KEYS...: all ranks, on a free port
start_job() {
  export MASTER_PORT
  MASTER_PORT=$("$DS_TESTS/comm_rank" free-port)
  pids=()
  local rank
  for ((rank = 0; rank < $1; rank++)); do start_rank "$rank" "$@"; done
}
# end_job NAME: waits for all ranks, each of which must exit 0
end_job() {
  local rank code
  for rank in "${!pids[@]}"; do
    wait "${pids[$rank]}"
    code=$?
    [ $code = 0 ] || fail "job $1, rank $rank: exit $code: $(cat "$work/$1.$rank.out")"
  done
  pids=()
}
# run_job WORLD NAME KEYS...
run_job() {
  start_job "$@"
  end_job "$2"
}
# summary_of NAME KEY: a number or string of NAME's summary.json; empty without one
summary_of() {
  sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\)\"\{0,1\},\{0,1\}$/\1/p" "$work/$1/summary.json" 2>/dev/null
}
# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
  local tries=$(($1 * 20))
  shift
  for ((; tries > 0; tries--)); do
    "$@" && return 0
    sleep 0.05
  done
  return 1
}
