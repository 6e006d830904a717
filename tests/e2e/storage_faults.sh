#!/usr/bin/env bash
# Files on a fast disk under what systems and disks do: each step of the ladder, kill -9, a full disk, errors, silence, wrong bytes.
. "$(dirname "$0")/../support/tile_places.sh" || exit 1
traffic=$DS_TESTS/tile_traffic
disk=$work/disk
mkdir "$disk"
trap "" PIPE # a process that died early is told by its exit code
small="folders=$disk mib=8 tile=2 block=64" # its two tiles take 8 MiB of what may be locked

# try CODE TEXT WHAT COMMAND...: the exit code, and a part of what it printed
try() {
  local code=$1 text=$2 what=$3 rc=0
  shift 3
  "$@" >"$work/out" 2>&1 </dev/null || rc=$?
  [ "$rc" = 125 ] && [ "$code" != 125 ] && { note "$what: no mount namespaces"; return; }
  [ "$rc" = "$code" ] || { fail "$what: exit code $rc, not $code: $(cat "$work/out")"; return; }
  grep -qF -- "$text" "$work/out" || fail "$what: no '$text' in: $(cat "$work/out")"
}

# The ladder, by the means that take its steps away on real machines.
if "$traffic" $small engine=uring >"$work/out" 2>&1; then
  try 0 "io_uring with registered buffers; " "registered" "$traffic" $small
  # The limit counts what all processes of the user have locked, so the room for the rings alone is searched.
  for kib in 1024 4096 7168 10240 13312 16384 24576 32768 49152; do
    unlocked $kib "$traffic" $small >"$work/out" 2>&1
    ! grep -q "^io_uring without registered buffers (Cannot allocate memory, see ulimit -l)" "$work/out" || break
  done
  grep -q "^io_uring without registered buffers (Cannot" "$work/out" && grep -q "^read " "$work/out" ||
    fail "little locked memory: $(cat "$work/out")"
  try 0 "read " "no locked memory" unlocked 0 "$traffic" $small # kernels differ: plain io_uring or threads
else
  note "io_uring: $(head -n 1 "$work/out")"
fi
try 0 "threads with pread and pwrite (io_uring is refused: Operation not permitted)" "io_uring forbidden" \
  "$DS_TESTS/forbid_io_uring" "$traffic" $small
try 65 "io_uring is refused: Operation not permitted" "io_uring forbidden but asked for" \
  "$DS_TESTS/forbid_io_uring" "$traffic" $small engine=uring
try 0 "threads with pread and pwrite, as configured" "threads" "$traffic" $small engine=threads

# Faults of one read or write, on the threads.
faulty() { DS_IO_FAULT=$1 LD_PRELOAD=$DS_TESTS/libio_faults.so "$traffic" $small engine=threads "${@:2}"; }
if ldd "$traffic" | grep -q 'lib[at]san'; then
  note "faults by preloading: a sanitizer wants to be the first library"
else
  try 0 "read " "short moves" faulty short:1
  try 0 "read " "interruptions" faulty eintr:1
  try 1 "(rank 0, optimizer state) at byte" "an I/O error" faulty error:200:5
  grep -q "Input/output error" "$work/out" && grep -q "hint: the disk reports an error" "$work/out" ||
    fail "an I/O error: $(cat "$work/out")"
  try 1 "No space left on device" "space that goes away" faulty error:3:28
  try 124 "no answer for 0.3 s" "a disk that hangs" timeout 20 env DS_IO_FAULT=hang:100 \
    LD_PRELOAD="$DS_TESTS/libio_faults.so" "$traffic" $small engine=threads patience=300
fi

# Places that cannot hold the files.
try 65 "$work/none: does not exist" "a missing folder" "$traffic" folders="$work/none" mib=8
try 65 "may make files of 4.0 MiB at most" "a limit of file sizes" bash -c 'ulimit -f 4096; exec "$@"' limit "$traffic" $small
mkdir "$work/mount"
mounted() { in_mounts bash -c 'mount -t tmpfs -o "$1" tmpfs "$2" || exit 125; shift 2; exec "$@"' mounted "$1" "$work/mount" "${@:2}"; }
try 65 "mount: needs 8.0 MiB for this rank, has 4.0 MiB free" "a full disk" mounted size=4m "$traffic" folders="$work/mount" mib=8
try 65 "mount: its file system is read-only" "a read-only disk" mounted ro "$traffic" folders="$work/mount" mib=8
try 0 "mount is in memory (tmpfs), not on a disk" "tmpfs" mounted size=20m "$traffic" folders="$work/mount" mib=8 tile=2
chmod 711 "$work"
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --clear-groups -- test -x "$traffic"; then
  try 65 "disk: no file can be made there: Permission denied" "a folder of another" \
    setpriv --reuid 65534 --clear-groups -- "$traffic" folders="$disk" mib=8
fi

# held ARGS...: in the background until a line is written to descriptor 7, once all is written; sets held
held() {
  rm -f "$work/lines"
  mkfifo "$work/lines"
  "$traffic" $small wait=1 "$@" >"$work/out" 2>&1 <"$work/lines" &
  held=$!
  exec 7>"$work/lines"
  local tries
  for ((tries = 0; tries < 200; ++tries)); do
    grep -q waiting "$work/out" && return
    sleep 0.05
  done
  fail "tile_traffic never came to wait: $(cat "$work/out")"
}
# released: lets it read; its exit code to rc
released() {
  echo >&7
  exec 7>&-
  rc=0
  wait "$held" || rc=$?
}

# No names, also after kill -9; what the files took is free again.
held
files=$(nameless_files "$held" "$disk")
[ "$(echo "$files" | wc -w)" = 1 ] || fail "one nameless file was expected: '$files'"
[ "$(stat -Lc '%b * %B' $files)" = "16384 * 512" ] || fail "8 MiB should be taken: $(stat -Lc '%b * %B' $files)"
[ -z "$(ls -A "$disk")" ] || fail "files with names: $(ls -A "$disk")"
kill -9 "$held"
rc=0
wait "$held" 2>/dev/null || rc=$?
exec 7>&-
[ "$rc" = 137 ] || fail "kill -9 gave $rc"
[ -z "$(ls -A "$disk")" ] || fail "files after kill -9: $(ls -A "$disk")"

# The folder goes away while the files are used.
held
rmdir "$disk" || fail "the folder is not empty"
released
[ "$rc" = 0 ] || fail "without its folder: $rc, $(cat "$work/out")"
mkdir "$disk"

# Wrong bytes are found and named.
held
spoil_bytes "$(nameless_files "$held" "$disk")" 3000000 || fail "no byte could be changed"
released
[ "$rc" = 1 ] || fail "changed bytes: exit code $rc, $(cat "$work/out")"
grep -qF "at byte 2949120 (tile byte 2949120): the 64.0 KiB there are not what was written (checksum)" "$work/out" ||
  fail "changed bytes: $(cat "$work/out")"

# A file that was cut.
held
truncate -s 1M "$(nameless_files "$held" "$disk")"
released
[ "$rc" = 1 ] || fail "a cut file: exit code $rc"
grep -qF "the file ends there" "$work/out" || fail "a cut file: $(cat "$work/out")"

[ "$failures" = 0 ] && echo "ok"
exit "$((failures > 0))"
