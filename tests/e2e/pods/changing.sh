# Sourced by tests: a training in the pods of a StatefulSet whose size changes (dslaunch agent --join --nodes MIN:MAX).
#   changing_begin STEPS MOST STEP_MS   the configuration, for at most MOST pods with one rank each, and the undisturbed run
#   set_pod INDEX MIN   the pod as its controller makes it: new, or again under its name with another address
#   set_delete INDEX... all at once, with 60 s of grace; comes back when they are gone
#   set_step            the last step of the run
#   set_history         compares it with the undisturbed run (tests/e2e/elastic/check_history.py); prints what it finds
# $job names the StatefulSet, $dir is the folder of the test.
. "$DS_SOURCE/tests/support/small_training.sh"

changing_begin() {
  local steps=$1
  changing_most=$2 changing_ms=$3
  export DSLAUNCH_CUDA_PLUGIN=none
  mkdir "$dir/data"
  find "$DS_SOURCE/engine" -name '*.h' | LC_ALL=C sort | xargs cat > "$dir/data/text"
  small_training "$dir/data/train.toml" "$steps" $((changing_most * 2)) "optimizer.lr = 3e-3" "zero.stage = ${changing_stage:-2}" \
    "checkpoint.every = 400" "checkpoint.keep = 2" "comm.timeout = 5"
  "$DS_BIN/dslaunch" -n 1 "$dir/data/train.toml" "log.dir=$dir/reference" "determinism.virtual_ranks=$((changing_most * 2))" \
    "checkpoint.dir=$dir/reference-saves" > "$dir/reference.out" 2>&1 ||
    { echo "FAIL: the undisturbed run: $(tail -n 3 "$dir/reference.out")"; exit 1; }
}

set_pod() {
  mkdir -p -m 777 "$dir/run.$job"
  if [ -e "$PODS/pods/$job.$1" ]; then
    podctl replace "$job.$1"
    return
  fi
  substrate_pod statefulset "$job" "$1" "$changing_most" --env "DSLAUNCH_TOKEN=$token" --env DSLAUNCH_CUDA_PLUGIN=none \
    --mount "/data=$dir/data" --mount "/runs=$dir/run.$job" -- \
    dslaunch agent --join --nodes "$2:$changing_most" --slots 1 --node-timeout 2s --max-restarts 100000 --grace 20s \
    /data/train.toml log.dir=/runs/run checkpoint.dir=/runs/saves "debug.slow_data=0:$changing_ms"
}
set_delete() {
  local index deleted=()
  for index in "$@"; do
    podctl delete "$job.$index" 60 &
    deleted+=($!)
  done
  wait "${deleted[@]}"
}
set_step() {
  local at
  at=$(tail -c 20000 "$dir/run.$job/run/metrics.jsonl" 2> /dev/null | grep -o '"step": *[0-9]*' | tail -n 1 | grep -o '[0-9]*$')
  echo "${at:-0}"
}
set_history() {
  python3 "$DS_SOURCE/tests/e2e/elastic/check_history.py" "$dir/reference" "$dir/run.$job/run" --times "${1:-/dev/null}" --batch $((changing_most * 2))
}
