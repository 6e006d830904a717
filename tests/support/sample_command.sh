# Sourced after train_ranks.sh by the tests of `dslaunch sample`.
dslaunch=$DS_BIN/dslaunch

# sample WORDS...: what `dslaunch sample` prints
sample() { timeout -s KILL 60 "$dslaunch" sample "$@" 2>"$work/err" || fail "sample $*: exit $?: $(cat "$work/err")"; }

# refused CODE TEXT WORDS...: it ends with this code and says this text
refused() {
  local code=$1 text=$2 out
  shift 2
  out=$(timeout -s KILL 60 "$dslaunch" sample "$@" 2>&1 </dev/null)
  [ $? = "$code" ] || fail "sample $*: exit code is not $code: $out"
  case $out in *"$text"*) ;; *) fail "sample $*: expected '$text', found: $out" ;; esac
}
