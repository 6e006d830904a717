#!/usr/bin/env bash
# Signals to a training that saves checkpoints: SIGTERM in the middle of a step, to launcher and ranks at once, or while a rank
# dies; save requests and saves before a deadline; a restart after kill -9. The ledgers show that each sample is taken once.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
. "$DS_SOURCE/tests/support/jobs.sh"
. "$DS_SOURCE/tests/support/ledger.sh"
export DSLAUNCH_CUDA_PLUGIN=none DSLAUNCH_TEST_WIRE=rate=2000M,latency=4ms # makes steps long enough for a signal to arrive within one
cat "$DS_SOURCE"/launcher/*/*.h >text
cat >train.toml <<'END'
[model]
preset = "gpt-tiny"
[data]
train = "text"
validation = 0
seq_len = 32
[batch]
micro = 2
accum = 1
[train]
steps = 1000000
[log]
every = 1
dir = "run"
samples = true
[device]
threads = 1
[checkpoint]
dir = "ck"
END
id=
state_is() { [ "$(column state "$id")" = "$1" ]; }
at_step() { [ "$(column step "$id")" -ge "$1" ] 2>/dev/null; }
# train ARGS...: starts a job of two ranks in the background
train() {
  detached -n 2 --verdict verdict "$@"
  log=$work/dslaunch-$id.log
}
rank_pids() { pgrep -P "$(pgrep -d, -P "$(pgrep -d, -P "$(pgrep -d, -P "$(column pid "$id")")")")" dsrunner; }
# ended CODE: waits for the end of the job and checks its exit code
ended() {
  wait_for is_over "$id"
  wait_for files_there verdict
  grep -q "\"exit_code\": $1," verdict || { tail -n 5 "$log"; die "exit code: $(grep exit_code verdict), not $1"; }
}
# A save request; then TERM to the ranks and to dslaunch at the same moment, as systemd and Slurm send it.
train train.toml
wait_for at_step 3
"$dslaunch" checkpoint >said 2>err || die "dslaunch checkpoint: $?"
grep -qE "^step [0-9]+ saved in $work/ck/step-[0-9]+ \(" said || die "dslaunch checkpoint says: $(cat said)"
files_there "$(sed 's/.* saved in \([^ ]*\) .*/\1/' said)/manifest.json" || die "no such checkpoint: $(cat said)"
ranks=$(rank_pids)
[ "$(wc -w <<<"$ranks")" = 2 ] || die "ranks: $ranks"
kill -TERM "$(column pid "$id")" $ranks
ended 143
first=$(newest ck)
steps=$(step_of $first)
grep -q "\"checkpoint\": \"$work/ck/$first\"" verdict || die "the verdict has $(grep checkpoint verdict), not $first"
grep -q "stopped after $steps steps" "$log" || { tail -n 4 "$log"; die "stopped elsewhere than at $first"; }
ls ck | grep tmp && die "half-written folders"
samples_once 2 $steps

# The same command continues with the next sample. TERM again; after the ranks received it one dies, and the other does not wait.
train train.toml
wait_for grep -q "resumed from $work/ck/$first" "$log"
wait_for at_step $((steps + 3))
victim=$(rank_pids | tail -n 1)
kill -STOP "$victim" # so that it does not end by the TERM
kill -TERM "$(column pid "$id")"
wait_for state_is stopping
kill -9 "$victim"
ended 143
second=$(newest ck)
for name in "$second" "$(cat ck/latest)"; do [ -e "ck/$name/manifest.json" ] || die "half a checkpoint: $name"; done

# Before a deadline: USR1 to all ranks makes one or two checkpoints, and training continues. Then a rank is killed; the restart
# resumes.
train --timeout 1000s --pre-signal USR1@997s --max-restarts 1 train.toml
wait_for grep -q 'until the deadline: sending SIGUSR1 to all ranks' "$log"
wait_for grep -qE 'saved in .*, asked for\)$' "$log"
at=$(newest ck)
wait_for at_step $(($(step_of $at) + 5))
kill -9 "$(rank_pids | tail -n 1)"
wait_for grep -q 'restart 1 of 1' "$log"
resumed_again() { [ "$(grep -c 'resumed from' "$log")" = 2 ]; }
wait_for resumed_again
# Ranks may receive the signal in two steps, which gives two checkpoints. A checkpoint is complete only when later steps were run.
third=$(newest ck)
at=$(step_of $third)
grep 'resumed from' "$log" | tail -n 1 | grep -q "resumed from $work/ck/$third" || die "not resumed from $third: $(grep 'resumed from' "$log")"
wait_for at_step $((at + 2))
"$dslaunch" kill "$id" --wait 2>/dev/null
ended 143
grep -q 'restart 1 of 1' "$log" || die "no restart"
last=$(newest ck)
samples_once 2 $(step_of $last)
[ "$(times_run $((at + 1)))" = 2 ] || die "step $((at + 1)) was run $(times_run $((at + 1))) times, not 2"
[ "$(times_run $steps)" = 1 ] || die "step $steps, the last of a saved run, was run $(times_run $steps) times"

# The options; and a save request in a job without a checkpoint folder, which is answered.
run -n 1 train.toml --resume "ck/$last" --load weights checkpoint.dir=other train.steps=2 log.dir=run2 determinism.virtual_ranks=1
expect 0 "--load weights"
grep -q "^step 1/2 " out || die "--load weights does not begin at step 0"
"$DS_BIN/dsrunner" --resume never train.toml --load=some >out 2>err
[ $? = 65 ] && grep -q 'checkpoint.load' err || die "dsrunner --load=some"
run -n 1 train.toml --load weights
expect 65 "--load without a path"
train train.toml checkpoint.dir= log.dir=run3
wait_for at_step 2
"$dslaunch" checkpoint >said 2>err
[ $? = 1 ] && grep -q "could not save at step [0-9]*: checkpoint.dir is not set" err || die "without a folder: $(cat said)"
"$dslaunch" kill "$id" --wait 2>/dev/null
ended 143

# A rank that still waits for the others has nothing to save.
(RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=127.0.0.1 MASTER_PORT=$("$DS_TESTS/comm_rank" free-port) \
  exec "$DS_BIN/dsrunner" train.toml log.dir=run4 checkpoint.dir= >out 2>err) &
waiting=$!
has_handlers() { # of USR1 (signal 10) and TERM (15)
  local mask
  mask=$(sed -n 's/^SigCgt:\t//p' "/proc/$waiting/status" 2>/dev/null)
  [ -n "$mask" ] && (((16#$mask & 0x4200) == 0x4200))
}
wait_for has_handlers
kill -TERM $waiting
over() { ! kill -0 $waiting 2>/dev/null; }
wait_for over
wait $waiting
[ $? = 143 ] || die "TERM at the start: $?"
nothing_left || die "left: $(job_processes)"
echo "ok: saved at $steps by TERM, at $at before a deadline, resumed after TERM and kill -9: each sample once in $(step_of $last) steps"
