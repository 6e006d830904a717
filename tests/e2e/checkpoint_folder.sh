#!/usr/bin/env bash
# Checkpoint folders as users give them: some work, the others are refused before step 0 with a clear message.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
. "$(dirname "$0")/../support/tile_places.sh" || exit 1
disk=$work/disk
mkdir "$disk"
keys=(train.steps=4 log.every=100)
train=(timeout -s KILL 60 env RANK=0 WORLD_SIZE=1 LOCAL_RANK=0 "$dsrunner" "$work/train.toml" "log.dir=$work/run" "${keys[@]}")
free_port() { "$DS_TESTS/comm_rank" free-port; }

# told FILE TEXT WHAT: checks for TEXT and a hint in FILE, before any step
told() {
  grep -qF -- "$2" "$1" || fail "$3: no '$2' in: $(tail -n 5 "$1")"
  grep -q "hint: " "$1" || fail "$3: no hint in: $(tail -n 5 "$1")"
  ! grep -q "^step " "$1" || fail "$3: steps were run"
}
# refused TEXT WHAT COMMAND...: checks that COMMAND is refused with TEXT
refused() {
  local code=0
  "${@:3}" >"$work/out" 2>&1 </dev/null || code=$?
  [ "$code" = 125 ] && { note "$2: no mount namespaces"; return; }
  [ "$code" = 65 ] || fail "$2: exit code $code"
  told "$work/out" "$1" "$2"
}
# on_disk OPTIONS COMMAND...: runs COMMAND with $disk as its own file system in memory
on_disk() { in_mounts bash -c 'mount -t tmpfs -o "$1" tmpfs "$2" || exit 125; shift 2; "$@"' on_disk "$1" "$disk" "${@:2}"; }

# Two jobs that are refused after some seconds; the other checks run meanwhile.
mkdir "$work/taken"
echo "process 4711 on elsewhere" >"$work/taken/.lock"
exec 8<"$work/taken/.lock"
flock -n 8 || fail "no lock on $work/taken"
export MASTER_PORT
MASTER_PORT=$(free_port) start_rank 0 1 taken "${keys[@]}" "checkpoint.dir=$work/taken"
if in_mounts true; then
  MASTER_PORT=$(free_port)
  for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank in_mounts bash -c \
      '[ $RANK = 0 ] || mount -t tmpfs tmpfs "$1" || exit 125; shift; exec "$@"' apart "$disk" \
      "$dsrunner" "$work/train.toml" "log.dir=$work/apart" "${keys[@]}" "checkpoint.dir=$disk/shared" \
      >"$work/apart.$rank.out" 2>&1 </dev/null &
    pids[rank + 1]=$!
  done
else
  note "nodes that see another folder: no mount namespaces"
fi

MASTER_PORT=$(free_port)
echo >"$work/file"
refused "checkpoint.dir $work/file is not a folder" "a file" "${train[@]}" "checkpoint.dir=$work/file"
ln -s nowhere "$work/dangling"
refused "checkpoint.dir $work/dangling does not exist" "a link to nothing" "${train[@]}" "checkpoint.dir=$work/dangling"
refused "the file system is read-only" "a read-only disk" on_disk ro "${train[@]}" "checkpoint.dir=$disk"
refused "a checkpoint needs " "a full disk" on_disk size=256k "${train[@]}" "checkpoint.dir=$disk"
refused "checkpoint.resume $work is a folder without" "no checkpoint" "${train[@]}" "checkpoint.resume=$work"
chmod 711 "$work"
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --clear-groups -- test -x "$dsrunner"; then
  mkdir -m 777 "$work/of_all"
  refused "$disk cannot be used: no permission" "a folder of another" \
    setpriv --reuid 65534 --clear-groups -- "${train[@]}" "log.dir=$work/of_all/run" "checkpoint.dir=$disk"
fi

# A relative link to a name with spaces and non-ASCII letters; the next job resumes there.
mkdir "$work/zwei Wörter 水"
ln -s "zwei Wörter 水" "$work/link"
(cd "$work" && "${train[@]}" checkpoint.dir=link) >"$work/out" 2>&1 || fail "a link: $(tail -n 5 "$work/out")"
[ "$(cat "$work/zwei Wörter 水/latest")" = step-00000004 ] || fail "a link: nothing was saved"
"${train[@]}" "checkpoint.dir=$work/zwei Wörter 水" train.steps=6 >"$work/out" 2>&1 || fail "the linked one: $(tail -n 5 "$work/out")"
grep -qF "checkpoint: step 4 resumed from $work/zwei Wörter 水/step-00000004" "$work/out" || fail "not resumed: $(cat "$work/out")"
# Given again, it has nothing left to do, and says so.
"${train[@]}" "checkpoint.dir=$work/zwei Wörter 水" train.steps=6 >"$work/out" 2>&1 || fail "a finished job: $(tail -n 5 "$work/out")"
grep -qF "all 6 steps of train.steps are done; to train on, raise train.steps" "$work/out" || fail "a finished job does not say so: $(cat "$work/out")"
[ -z "$(find "$work/zwei Wörter 水/" -name '.probe*' -o -name '*.tmp-*')" ] || fail "something is left: $(ls -a "$work/link/")"

# Room for one and a half checkpoints: the complete one stays, and training continues to its end.
bytes=$(du -sk "$work/link/step-00000004" | cut -f 1)
code=0
on_disk "size=$((bytes * 3 / 2))k" bash -c '"$@"; code=$?; ls "$0"; cat "$0/latest"; exit $code' "$disk" \
  "${train[@]}" "checkpoint.dir=$disk" checkpoint.every=2 train.steps=4 log.every=1 >"$work/out" 2>&1 || code=$?
if [ $code = 125 ]; then
  note "a disk that becomes full: no mount namespaces"
else
  [ $code = 1 ] || fail "a disk that becomes full: exit code $code: $(cat "$work/out")"
  grep -q "checkpoint: step 4 failed: checkpoint.dir $disk: a checkpoint needs .*, but only .* are free" "$work/out" || fail "no word of the full disk: $(cat "$work/out")"
  grep -q "^step 4/4 " "$work/out" || fail "training did not go on: $(cat "$work/out")"
  [ "$(tail -n 3 "$work/out" | tr '\n' ' ')" = "latest step-00000002 step-00000002 " ] || fail "left: $(tail -n 5 "$work/out")"
fi

# A limit of file sizes is an error of the save, like a full disk.
code=0
(ulimit -f 100 && exec "${train[@]}" "checkpoint.dir=$work/limited") >"$work/out" 2>&1 </dev/null || code=$?
grep -q "File too large" "$work/out" && [ $code -lt 128 ] || fail "ulimit -f: exit code $code: $(cat "$work/out")"

wait "${pids[0]}"
code=$?
[ $code = 65 ] || fail "a folder that another job has: exit code $code"
told "$work/taken.0.out" "checkpoint.dir $work/taken: another job saves there: process 4711 on elsewhere" "a folder that another job has"
for rank in 0 1; do
  [ -n "${pids[rank + 1]:-}" ] || continue
  wait "${pids[rank + 1]}"
  code=$?
  [ $code = $((rank ? 65 : 69)) ] || fail "nodes that see another folder: rank $rank: exit code $code: $(tail -n 5 "$work/apart.$rank.out")"
  told "$work/apart.$rank.out" "checkpoint.dir $disk/shared is not the same folder on all nodes" "nodes that see another folder, rank $rank"
  grep -qF "(rank 1)" "$work/apart.$rank.out" || fail "which rank? $(cat "$work/apart.$rank.out")"
done

[ "$failures" = 0 ] && echo "checkpoints are in the folders that were given, or refused in words"
exit "$((failures > 0))"
