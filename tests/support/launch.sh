# Sourced by end-to-end scripts of the launcher: gives a work folder, checks that print the expected value, and a launcher
# in the background with a process id.
# Needs: DS_BIN. Gives: dslaunch, die, run (fills out, err, rc), background, still_runs, wait_for.
dslaunch="$DS_BIN/dslaunch"
work=$(mktemp -d)
launcher=
clean_up() {
  [ -z "$launcher" ] || kill -9 "$launcher" 2>/dev/null
  rm -rf "$work"
}
trap clean_up EXIT
cd "$work" || exit 1
# Jobs of this script, and no others, are seen by ps and its like.
export DSLAUNCH_RUNTIME_DIR="$work/.sockets"
# Found in the environment of everything that a job starts.
export DS_TEST_COOKIE="e2e-$$-$RANDOM$RANDOM"

# sanitized: whether a sanitizer, which needs memory and descriptors of its own, is in the programs.
sanitized() { ldd "$DS_BIN/dslaunch" | grep -q 'lib[at]san'; }

die() {
  echo "FAILED: $*"
  for file in out err; do
    [ ! -s "$work/$file" ] || { echo "--- $file"; head -c 2000 "$work/$file"; }
  done
  exit 1
}

# run ARGS...: dslaunch ARGS; standard output to the file out, standard error to err, exit code to rc.
run() {
  rc=0
  "$dslaunch" "$@" >out 2>err </dev/null || rc=$?
}

# expect CODE WHAT: the last run ended so.
expect() {
  [ "$rc" = "$1" ] || die "$2: exit code $rc, not $1"
}

# last_line_is TEXT: of standard error.
last_line_is() {
  [ "$(tail -n 1 err)" = "$1" ] || die "last line of standard error is not: $1"
}

# background ARGS...: dslaunch ARGS in the background, in a process group of its own; sets launcher.
background() {
  : >out # what an earlier run wrote must not be taken for this one's
  : >err
  setsid "$dslaunch" "$@" >out 2>err </dev/null &
  launcher=$!
}

# wait_for COMMAND...: until it succeeds; dies after 40 s, longer than a host that cannot join waits for its next check.
wait_for() {
  local tries
  for ((tries = 0; tries < 800; ++tries)); do
    "$@" && return
    sleep 0.05
  done
  die "gave up waiting for: $*"
}

# finish: waits for the launcher in the background; its exit code to rc.
finish() {
  rc=0
  wait "$launcher" || rc=$?
  launcher=
}

files_there() {
  local file
  for file in "$@"; do [ -e "$file" ] || return 1; done
}

# Process ids of all that has this script's cookie and is not a zombie, without this script and its shells.
job_processes() {
  local file pid
  for file in $(grep -lsF "$DS_TEST_COOKIE" /proc/[0-9]*/environ); do
    pid=${file#/proc/}
    pid=${pid%/environ}
    [ "$pid" != $$ ] && [ "$pid" != "$BASHPID" ] || continue
    [ ! -e "$file" ] || echo "$pid" # grep itself is gone by now
  done
}

# The guard of a node outlives its agent, and so the launcher's last look, by some milliseconds.
nothing_left() {
  local try
  for try in {1..40}; do
    [ -n "$(job_processes)" ] || return 0
    sleep 0.05
  done
  return 1
}

# state_of PID: the letter of proc(5).
state_of() {
  local stat
  read -r stat <"/proc/$1/stat" || return 1
  stat=${stat##*) }
  echo "${stat%% *}"
}

is_stopped() {
  [ "$(state_of "$1" 2>/dev/null)" = T ]
}
