#!/usr/bin/env bash
# Files on a fast disk under faults of kernel and disk: each I/O engine, kill -9, a full disk, errors, hangs, wrong bytes.
. "$(dirname "$0")/../support/tile_places.sh" || exit 1
traffic=$DS_TESTS/tile_traffic
disk=$work/disk
mkdir "$disk"
trap "" PIPE # the exit code tells of a process that died early
small="folders=$disk mib=8 tile=2 block=64" # its two tiles need 8 MiB of locked memory

# try CODE TEXT WHAT COMMAND...: checks the exit code and a part of the output
try() {
  local code=$1 text=$2 what=$3 rc=0
  shift 3
  "$@" >"$work/out" 2>&1 </dev/null || rc=$?
  [ "$rc" = 125 ] && [ "$code" != 125 ] && { note "$what: no mount namespaces"; return; }
  [ "$rc" = "$code" ] || { fail "$what: exit code $rc, not $code: $(cat "$work/out")"; return; }
  grep -qF -- "$text" "$work/out" || fail "$what: no '$text' in: $(cat "$work/out")"
}

# The I/O engines, refused by the same means as on real machines.
if "$traffic" $small engine=uring >"$work/out" 2>&1; then
  try 0 "io_uring with registered buffers; " "registered" "$traffic" $small
  # The limit counts the locked memory of all processes of the user, so the right limit for the rings alone is searched.
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
try 0 "threads with pread and pwrite (io_uring is not available: Operation not permitted)" "io_uring forbidden" \
  "$DS_TESTS/forbid_io_uring" "$traffic" $small
try 65 "io_uring is not available: Operation not permitted" "io_uring forbidden but asked for" \
  "$DS_TESTS/forbid_io_uring" "$traffic" $small engine=uring
try 0 "threads with pread and pwrite, as configured" "threads" "$traffic" $small engine=threads

# Faults of one read or write, with the threads engine.
faulty() { DS_IO_FAULT=$1 LD_PRELOAD=$DS_TESTS/libio_faults.so "$traffic" $small engine=threads "${@:2}"; }
if ldd "$traffic" | grep -q 'lib[at]san'; then
  note "faults by LD_PRELOAD: not possible with a sanitizer"
else
  try 0 "read " "short moves" faulty short:1
  try 0 "read " "interruptions" faulty eintr:1
  try 1 "(rank 0, optimizer state) at byte" "an I/O error" faulty error:200:5
  grep -q "Input/output error" "$work/out" && grep -q "hint: the disk reported an error" "$work/out" ||
    fail "an I/O error: $(cat "$work/out")"
  try 1 "No space left on device" "space that goes away" faulty error:3:28
  try 124 "no response for 0.3 s" "a disk that hangs" timeout 20 env DS_IO_FAULT=hang:100 \
    LD_PRELOAD="$DS_TESTS/libio_faults.so" "$traffic" $small engine=threads patience=300
fi

# Folders that cannot hold the files.
try 65 "$work/none: does not exist" "a missing folder" "$traffic" folders="$work/none" mib=8
try 65 "may create files of at most 4.0 MiB" "a limit of file sizes" bash -c 'ulimit -f 4096; exec "$@"' limit "$traffic" $small
mkdir "$work/mount"
mounted() { in_mounts bash -c 'mount -t tmpfs -o "$1" tmpfs "$2" || exit 125; shift 2; exec "$@"' mounted "$1" "$work/mount" "${@:2}"; }
try 65 "mount: needs 8.0 MiB for this rank, has 4.0 MiB free" "a full disk" mounted size=4m "$traffic" folders="$work/mount" mib=8
try 65 "mount: its file system is read-only" "a read-only disk" mounted ro "$traffic" folders="$work/mount" mib=8
try 0 "mount is in memory (tmpfs), not on a disk" "tmpfs" mounted size=20m "$traffic" folders="$work/mount" mib=8 tile=2
chmod 711 "$work"
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --clear-groups -- test -x "$traffic"; then
  try 65 "disk: cannot create a file there: Permission denied" "a folder of another" \
    setpriv --reuid 65534 --clear-groups -- "$traffic" folders="$disk" mib=8
fi

# held ARGS...: starts tile_traffic, which waits after writing until a line is written to descriptor 7; sets held
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
# released: lets it read; sets rc to its exit code
released() {
  echo >&7
  exec 7>&-
  rc=0
  wait "$held" || rc=$?
}

# No file has a name, also after kill -9, and its space is free again.
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

# The folder is removed while the files are used.
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
grep -qF "at byte 2949120 (tile byte 2949120): checksum mismatch: the 64.0 KiB read differ from the data written" "$work/out" ||
  fail "changed bytes: $(cat "$work/out")"

# A file that was truncated.
held
truncate -s 1M "$(nameless_files "$held" "$disk")"
released
[ "$rc" = 1 ] || fail "a cut file: exit code $rc"
grep -qF "the file ends here" "$work/out" || fail "a cut file: $(cat "$work/out")"

[ "$failures" = 0 ] && echo "ok"
exit "$((failures > 0))"
