#!/usr/bin/env bash
# Training with states in files: the same weights with every I/O engine, nothing left on the disk after any end, and a clear error
# for each kind of disk failure.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
. "$(dirname "$0")/../support/tile_places.sh" || exit 1
disk=$work/disk
mkdir "$disk"
offload=(offload.optimizer.device=nvme "offload.optimizer.paths=$disk" offload.optimizer.tile=16384)

# says NAME RANK TEXT: checks that the rank's output contains TEXT
says() { grep -qF -- "$3" "$work/$1.$2.out" || fail "$1: rank $2 does not say '$3': $(tail -5 "$work/$1.$2.out")"; }
same_weights() {
  [ "$(summary_of "$1" weights_hash)" = "$hash" ] || fail "$1: other weights than without files: $(tail -3 "$work/$1.0.out")"
}
no_files() { [ -z "$(ls -A "$disk")" ] || fail "$1: left on the disk: $(ls -A "$disk")"; }
has_steps() { [ "$(cat "$work/$1/metrics.jsonl" 2>/dev/null | wc -l)" -ge "$2" ]; }
# code_of RANK: sets code to the exit code of a rank that must end within 30 s
code_of() {
  wait_for 30 eval "! kill -0 ${pids[$1]} 2>/dev/null" || fail "rank $1 hangs"
  kill -9 "${pids[$1]}" 2>/dev/null
  wait "${pids[$1]}" 2>/dev/null
  code=$?
}
# ends NAME RANK CODE TEXT: checks exit code and output of a rank
ends() {
  code_of "$2"
  [ $code = "$3" ] || fail "$1: rank $2 exits $code, not $3: $(tail -5 "$work/$1.$2.out")"
  says "$@" >/dev/null 2>&1 || says "$1" "$2" "$4"
}

"$DS_TESTS/tile_traffic" folders="$disk" mib=2 tile=1 engine=uring >"$work/uring" 2>&1 && has_uring=1 || has_uring=
run_job 2 plain
hash=$(summary_of plain weights_hash)
[ ${#hash} = 32 ] || fail "no weights_hash"

# Every I/O engine gives the same weights; engine and rates are printed at the start.
run_job 2 auto "${offload[@]}"
same_weights auto
no_files auto
grep -qE '^files +(io_uring|threads) .*; 1 folder, .* read [0-9.]+ GB/s, write [0-9.]+ GB/s' "$work/auto.0.out" ||
  fail "the start does not name the step of the ladder and the rates: $(grep '^files' "$work/auto.0.out")"
if [ -n "$has_uring" ]; then
  says auto 0 "io_uring with registered buffers"
else
  note "io_uring: $(head -n 1 "$work/uring")"
fi
dsrunner_itself=$dsrunner
wrapped() { # NAME WRAPPER KEYS...: a job whose ranks are started by the wrapper
  printf '#!/bin/sh\nexec env %s "%s" "$@"\n' "$2" "$dsrunner_itself" >"$work/wrapped"
  chmod +x "$work/wrapped"
  dsrunner=$work/wrapped
  start_job 2 "$1" "${offload[@]}" "${@:3}"
  dsrunner=$dsrunner_itself
}
wrapped forbidden "$DS_TESTS/forbid_io_uring"
end_job forbidden
same_weights forbidden
says forbidden 0 "threads with pread and pwrite (io_uring is not available: Operation not permitted)"
run_job 2 threads "${offload[@]}" offload.io.engine=threads offload.io.block=4096
same_weights threads
says threads 0 "threads with pread and pwrite, as configured"

# Faults of single calls, with the threads engine.
preload="LD_PRELOAD=$DS_TESTS/libio_faults.so"
if ldd "$dsrunner" | grep -q 'lib[at]san'; then
  note "faults by LD_PRELOAD: not possible with a sanitizer"
else
  wrapped short "$preload DS_IO_FAULT=short:1" offload.io.engine=threads
  end_job short
  same_weights short
  wrapped error "$preload DS_IO_FAULT=error:20:5 DS_IO_FAULT_WHEN=$work/break" offload.io.engine=threads train.steps=100000
  wait_for 60 has_steps error 3 || fail "error: no step"
  : >"$work/break"
  for rank in 0 1; do code_of $rank; done
  no_files error
  cat "$work"/error.?.out | grep -E "^dsrunner: [a-z0-9_.]+: .*offloaded state\) at byte [0-9]+ \(tile byte [0-9]+\): Input/output error" >/dev/null ||
    fail "an I/O error: $(tail -3 "$work"/error.?.out)"
fi

# A full disk is detected before the first step.
if in_mounts true; then
  cat >"$work/full" <<END
mount -t tmpfs -o size=1m tmpfs "$disk" || exit 125
RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 exec "$dsrunner" "$work/train.toml" "log.dir=$work/full.run" ${offload[*]}
END
  in_mounts bash "$work/full" >"$work/full.0.out" 2>&1
  code=$?
  [ $code = 65 ] || fail "a full disk: exit $code: $(tail -5 "$work/full.0.out")"
  says full 0 "$disk: needs "
  says full 0 "has 1.0 MiB free"
  [ ! -s "$work/full.run/metrics.jsonl" ] || fail "a full disk: steps were run"
else
  note "a full disk: no mount namespaces"
fi

# kill -9 of everything: nothing is left, and no file had a name before.
start_job 2 killed "${offload[@]}" train.steps=100000
wait_for 60 has_steps killed 3 || fail "killed: no step"
for rank in 0 1; do
  [ -n "$(nameless_files "${pids[$rank]}" "$disk")" ] || fail "killed: rank $rank has no file in $disk"
done
no_files "while it runs"
kill -9 "${pids[@]}"
for rank in 0 1; do code_of $rank; done
no_files killed

# The folder is removed during the job.
start_job 2 removed "${offload[@]}" debug.slow_data=0:40
wait_for 60 eval "[ -n \"\$(nameless_files ${pids[1]} $disk)\" ]" || fail "removed: no file"
rmdir "$disk"
end_job removed
same_weights removed
mkdir "$disk"

# Bytes that change on the disk end the job with an error that names them.
start_job 2 spoiled "${offload[@]}" train.steps=100000
wait_for 60 has_steps spoiled 3 || fail "spoiled: no step"
file=$(nameless_files "${pids[1]}" "$disk" | head -n 1)
spoilt() { # repeated, because a byte changed between a read and the next write is never read
  spoil_bytes "$file" 70000 2>/dev/null
  ! kill -0 "${pids[1]}" 2>/dev/null
}
wait_for 30 spoilt || fail "spoiled: nobody noticed"
ends spoiled 1 1 "checksum mismatch"
says spoiled 1 "(rank 1, offloaded state) at byte"
code_of 0
[ $code != 0 ] || fail "spoiled: rank 0 ended as if nothing had happened"

[ $failures = 0 ] && echo "ok"
exit $((failures > 0))
