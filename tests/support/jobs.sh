# Sourced after launch.sh by scripts with jobs in the background: stops them when the script ends.
end_jobs() {
  local id
  for id in $("$dslaunch" ps --ids); do "$dslaunch" kill "$id" --signal KILL --wait 2>/dev/null; done
  clean_up
}
trap end_jobs EXIT

# detached ARGS...: starts a job in the background; its id to id.
detached() {
  run --detach "$@"
  expect 0 "detached job"
  id=$(cat out)
  [[ "$id" =~ ^[0-9a-f]{16}$ ]] || die "the id of a detached job is '$id'"
}

# column NAME ID: of `dslaunch ps --json`, a number or a simple text.
column() {
  "$dslaunch" ps --json | grep -A 20 "\"id\": \"$2\"" | sed -n "s/^ *\"$1\": \"*\([^\",]*\)\"*,*\$/\1/p" | head -n 1
}

is_over() { ! "$dslaunch" ps --ids | grep -q "$1"; }
