# Sourced by tests of Kubernetes mode: runs cases in parallel in one cluster, each with its own job.
#   cases_begin          a cluster in $dir, whose end cleans up
#   cases_run LIMIT CASE...   runs each function case_CASE in a subshell; CASE is its job's name too. Exits with the number failed
#   fail TEXT, want_code POD CODE, want POD PATTERN, want_not POD PATTERN, want_report POD PATTERN
#   agents KIND COUNT -- WORDS...     all pods of the case's job at once, index 0 first; WORDS follow `dslaunch agent --join`
#   agent KIND INDEX COUNT [options of create] -- WORDS...    one of them
. "$(dirname "${BASH_SOURCE[0]}")/podctl.sh"
. "$pods_home/substrates.sh"

cases_begin() {
  pods_need
  dir=$(mktemp -d)
  trap 'kill $(jobs -p) 2> /dev/null; wait; pods_down; rm -rf "$dir"' EXIT # no case goes on making pods
  pods_up "$dir/cluster" || exit 1
  token=$(printf '5e%.0s' $(seq 32))
}

fail() { echo "FAIL: $job: $*"; failures=$((failures + 1)); }
show() { sed "s/^/    $1: /" "$PODS/pods/$1/log" | tail -n 12; }
want_code() {
  podctl wait "${3:-90}" "$1" || { fail "pod $1 has not ended"; show "$1"; return; }
  [ "$(podctl code "$1")" = "$2" ] || { fail "pod $1 exits $(podctl code "$1"), expected $2"; show "$1"; }
}
want() { grep -qE -- "$2" "$PODS/pods/$1/log" || { fail "the log of $1 has no line like: $2"; show "$1"; }; }
want_not() { ! grep -qE -- "$2" "$PODS/pods/$1/log" || { fail "the log of $1 has a line like: $2"; show "$1"; }; }
want_report() { podctl termination "$1" | grep -qE -- "$2" || fail "the termination log of $1 is not like $2: $(podctl termination "$1")"; }
until_line() { podctl until "$1" "$2" "$3" || { fail "not in time"; show "$2"; }; }

agent() {
  local kind=$1 index=$2 count=$3 options=()
  shift 3
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  substrate_pod "$kind" "$job" "$index" "$count" --env "DSLAUNCH_TOKEN=$token" ${options[@]+"${options[@]}"} \
    -- dslaunch agent --join $(substrate_words "$kind" "$job" "$count") "$@" || fail "pod $index is not made"
}
agents() {
  local kind=$1 count=$2 i
  shift 2
  for ((i = 0; i < count; i++)); do agent "$kind" "$i" "$count" "$@"; done
}

cases_run() {
  local limit=$1 bad=0 name begun=$SECONDS
  shift
  for name in "$@"; do
    while [ "$(jobs -rp | wc -l)" -ge "$limit" ]; do wait -n; done
    (
      trap - EXIT
      job=${name//_/-}
      failures=0
      begun=$SECONDS
      "case_$name"
      echo "$((SECONDS - begun)) s, $failures failed" > "$dir/$name.done"
      exit $((failures > 0))
    ) > "$dir/$name.out" 2>&1 &
  done
  wait
  for name in "$@"; do
    if [ -e "$dir/$name.done" ] && grep -q ', 0 failed' "$dir/$name.done"; then
      echo "ok    $name ($(< "$dir/$name.done")) $(grep -h '^measured: ' "$dir/$name.out" | tr '\n' ' ')"
    else
      echo "FAIL  $name"
      cat "$dir/$name.out"
      bad=$((bad + 1))
    fi
  done
  echo "$# cases in $((SECONDS - begun)) s, $bad failed"
  exit $((bad > 0))
}
