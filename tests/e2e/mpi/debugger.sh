#!/usr/bin/env bash
# Tests the symbols of MPIR with gdb: the table of a running job, in a stripped dslaunch too, after a restart, and in a PID
# namespace; a job that survives a long stop of dslaunch; and ranks that are held at their start.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
command -v gdb >/dev/null || { echo "SKIP: gdb is not installed (scripts/install_packages.sh test)"; exit 77; }
sleep 60 &
probe=$!
gdb -nx -batch -p $probe -ex 'print 1' >gdb.out 2>&1
kill $probe
grep -q '^\$1 = 1' gdb.out && ! grep -q 'ptrace: ' gdb.out || { echo "SKIP: gdb may not attach to processes here: $(grep -m 1 ptrace gdb.out)"; exit 77; }

# A rank: its pid, by epoch and rank, and then what $END says.
cat >rank.sh <<'S'
#!/bin/sh
echo $$ > "$PIDS/$TORCHELASTIC_RESTART_COUNT.$RANK"
eval "$END"
S
chmod +x rank.sh
export PIDS=$work/pids END='exec sleep 100'
started() { [ "$(ls "$PIDS" | grep -c "^$1\\.")" = "$2" ]; }

# A debugger that has no types reads the symbols as addresses: 24 bytes for a rank.
words='set pagination off
set print elements 300
set $row = *(unsigned long*)&MPIR_proctable
printf "state %d size %d\n", *(int*)&MPIR_debug_state, *(int*)&MPIR_proctable_size
set $i = 0
while $i < *(int*)&MPIR_proctable_size
  printf "rank %d host %s program %s pid %d\n", $i, *(char**)$row, *(char**)($row + 8), *(int*)($row + 16)
  set $row = $row + 24
  set $i = $i + 1
end'
echo "$words" >table.gdb
# The table is complete a moment after the last rank runs.
read_table() {
  local try
  for ((try = 0; try < 20; ++try)); do
    gdb -nx -batch -p "$1" -x table.gdb 2>gdb.err | grep -E '^(state|rank) ' >table
    grep -q '^state 1' table && return
    sleep 0.1
  done
}
# want_table EPOCH HOST...: a row for each rank, with the pid that the rank has written.
want_table() {
  local epoch=$1 rank=0
  shift
  { echo "state 1 size $#"
    for host in "$@"; do
      echo "rank $rank host $host program $work/rank.sh pid $(cat "$PIDS/$epoch.$rank")"
      rank=$((rank + 1))
    done; } >wanted
  diff wanted table >difference || { cat difference gdb.err; die "$case: the table"; }
}
end_job() { kill -TERM "$launcher"; finish; rm -rf "$PIDS"; }
start_job() {
  mkdir -p "$PIDS"
  background -x PIDS -x END "$@" -- ./rank.sh
}

case='attach'
start_job -n 4
wait_for started 0 4
read_table "$launcher"
want_table 0 localhost localhost localhost localhost
[ "$(gdb -nx -batch -p "$launcher" -ex 'print MPIR_proctable[3].pid' 2>/dev/null | grep '^\$1')" = "\$1 = $(cat "$PIDS/0.3")" ] ||
  die "$case: the types of the symbols"
kill -0 "$launcher" || die "$case: the job has ended"
end_job
[ "$rc" = 143 ] || die "$case: exit code $rc"

case='attach, two hosts'
start_job -H n1:1,n2:2 --transport local
wait_for started 0 3
read_table "$launcher"
want_table 0 n1 n2 n2
end_job

case='attach to a stripped dslaunch'
mkdir bin
strip -o bin/dslaunch "$dslaunch"
(dslaunch=$work/bin/dslaunch
  start_job -n 2
  wait_for started 0 2
  read_table "$launcher"
  want_table 0 localhost localhost
  end_job) || exit 1
if ! sanitized; then
  case='nothing but these symbols is exported by their option'
  nm -D --defined-only bin/dslaunch | awk '{ print $NF }' | grep '^MPIR_' | sort >exported
  printf '%s\n' MPIR_Breakpoint MPIR_acquired_pre_main MPIR_being_debugged MPIR_debug_abort_string MPIR_debug_state \
    MPIR_i_am_starter MPIR_partial_attach_ok MPIR_proctable MPIR_proctable_size | sort | diff - exported || die "$case"
fi

case='after a restart'
export END='[ $TORCHELASTIC_RESTART_COUNT = 1 ] && exec sleep 100; [ $RANK = 1 ] && exit 5; exec sleep 100'
start_job -n 2 --max-restarts 1
wait_for started 1 2
read_table "$launcher"
want_table 1 localhost localhost
end_job
export END='exec sleep 100'

case='in a PID namespace'
if unshare -p -f true 2>/dev/null; then
  start_job -n 2 --isolate pid
  wait_for started 0 2
  read_table "$launcher"
  [ "$(grep -c '^rank' table)" = 2 ] || die "$case: the table"
  for rank in 0 1; do
    pid=$(awk -v rank=$rank '$1 == "rank" && $2 == rank { print $NF }' table)
    grep -qsx "NSpid:.*[[:space:]]$(cat "$PIDS/0.$rank")" "/proc/$pid/status" || die "$case: rank $rank is not $pid"
  done
  end_job
fi

case='a debugger stops dslaunch for longer than the node timeout'
start_job -n 1 --node-timeout 1s
wait_for started 0 1
gdb -nx -batch -p "$launcher" -ex 'shell sleep 3' >gdb.out 2>&1
sleep 1
kill -0 "$launcher" 2>/dev/null || die "$case: the job has ended"
end_job
[ "$rc" = 143 ] || die "$case: exit code $rc"

# Launch mode: held_at_start WORDS... runs dslaunch in gdb, which looks at the ranks while they are held.
cat >look.sh <<'S'
# The pids are in the table: stopped, with the program of the rank, and nothing has run yet.
echo "ran $(ls "$PIDS" | wc -l)"
for pid in $(awk '$1 == "rank" { print $NF }' table); do
  stat=$(cat /proc/$pid/stat)
  stat=${stat##*) }
  echo "held ${stat%% *} $(readlink /proc/$pid/exe)"
done
# Another debugger attaches to rank 0.
gdb -nx -batch -p "$(awk '$1 == "rank" { print $NF; exit }' table)" -ex 'print 40 + 2' 2>&1 | grep '^\$1'
sleep 3
S
held_at_start() {
  mkdir -p "$PIDS"
  rm -f seen
  cat >launch.gdb <<S
set confirm off
set disable-randomization off
starti
set *(int*)&MPIR_being_debugged = 1
break MPIR_Breakpoint
continue
set logging redirect on
set logging file table
set logging overwrite on
set logging enabled on
$words
set logging enabled off
shell sh look.sh >seen
continue
printf "state %d: %s\n", *(int*)&MPIR_debug_state, *(char**)&MPIR_debug_abort_string
continue
S
  timeout 100 gdb -nx -batch -x launch.gdb --args "$dslaunch" --node-timeout 1s -x PIDS -x END "$@" >gdb.out 2>err </dev/null
}
case='ranks are held until the debugger lets dslaunch go on'
export END='[ $RANK = 0 ] || exit 0; sleep 1; exit 3'
held_at_start -n 3 -- ./rank.sh
shell=$(readlink -f /bin/sh)
printf 'ran 0\nheld T %s\nheld T %s\nheld T %s\n$1 = 42\n' "$shell" "$shell" "$shell" | diff - seen || { cat gdb.out; die "$case: the ranks"; }
[ "$(ls "$PIDS" | wc -l)" = 3 ] || die "$case: $(ls "$PIDS" | wc -l) of 3 ranks ran"
cp table held_table
grep -E '^(state|rank) ' held_table >table
want_table 0 localhost localhost localhost
grep -q '^state 2: rank 0 on localhost: exited 3$' gdb.out || { cat gdb.out; die "$case: the abort"; }
grep -q 'exited with code 03' gdb.out || { cat gdb.out; die "$case: the exit code"; }
rm -rf "$PIDS"

case='a program that does not exist, when ranks are held'
held_at_start -n 1 -- ./missing
grep -q 'exited with code 0177' gdb.out || { cat gdb.out err; die "$case"; }
nothing_left || die "processes are left: $(job_processes | tr '\n' ' ')"
