#!/usr/bin/env bash
# Checkpoints and folders that cannot be used. Each is refused before the first step with what is wrong, where, and what helps,
# or skipped for an older checkpoint with a line that names it.
. "$(dirname "$0")/../../support/train_ranks.sh" || exit 1
. "$DS_SOURCE/tests/support/tile_places.sh" || exit 1
unset MASTER_ADDR
small=(model.layers=2 model.hidden=64 model.heads=2 data.seq_len=16 batch.micro=1 determinism.virtual_ranks=2 schedule.total=100)
saves=$work/saves
newest=$saves/step-00000008

# train CODE NAME KEYS...: runs one rank with the prefix "${before[@]}" and checks its exit code; output in $work/NAME.0.out
before=()
train() {
  local code=$1 rc=0
  ${before[@]+"${before[@]}"} timeout -s KILL 60 "$dsrunner" "$work/train.toml" "log.dir=$runs/$2" "${small[@]}" "${@:3}" \
    >"$work/$2.0.out" 2>&1 </dev/null || rc=$?
  [ $rc = 125 ] && [ "$code" != 125 ] && { note "$2: no mount namespaces"; return 1; }
  [ $rc = "$code" ] || fail "$2: exit code $rc, not $code: $(tail -n 5 "$work/$2.0.out")"
}
runs=$work
# says NAME TEXT...: checks that the job's output contains each text
says() {
  local text
  for text in "${@:2}"; do grep -qF -- "$text" "$work/$1.0.out" || fail "$1: no '$text' in: $(head -c 2000 "$work/$1.0.out")"; done
}
# until_keys NAME TEXT... -- KEYS...: sets name, texts and keys
until_keys() {
  name=$1 texts=()
  shift
  while [ "$1" != -- ]; do texts+=("$1") && shift; done
  keys=("${@:2}")
}
# refused NAME TEXT... -- KEYS...: checks for exit code 65 before the first step, with these texts
refused() {
  local name texts keys
  until_keys "$@"
  train 65 "$name" train.steps=8 "${keys[@]}" || return
  says "$name" "${texts[@]}"
  ! grep -q '^step ' "$work/$name.0.out" || fail "$name: steps were taken"
}
# goes_on STEP NAME TEXT... -- KEYS...: checks that a job resumes at STEP with these texts and ends with the unbroken run's weights
goes_on() {
  local step=$1 name texts keys
  until_keys "${@:2}"
  train 0 "$name" train.steps=8 "${keys[@]}"
  says "$name" "checkpoint: step $step resumed from " "${texts[@]}"
  [ "$(summary_of "${runs#"$work"}/$name" weights_hash)" = "$whole" ] || fail "$name: other weights than those of the whole run"
}
again() { rm -rf "$saves" "$work/other" && cp -r "$work/good" "$saves"; }
here=(checkpoint.dir="$saves")

# Makes checkpoints of steps 2, 4, 6 and 8 to damage. A run of 8 steps resumes at the newest one and has nothing left to do.
train 0 run checkpoint.dir="$work/good" checkpoint.every=2 checkpoint.keep=0 checkpoint.async=false train.steps=8
whole=$(summary_of run weights_hash)
[ ${#whole} = 32 ] && [ "$(echo $(ls "$work/good"))" = "latest step-00000002 step-00000004 step-00000006 step-00000008" ] ||
  fail "run: weights_hash '$whole', $(ls "$work/good")"
again
goes_on 8 fine -- "${here[@]}"

# Another job holds the folder while it is stopped. The job that waits for it is checked at the end.
"$dsrunner" "$work/train.toml" log.dir="$work/holder" "${small[@]}" checkpoint.dir="$work/held" train.steps=100000000 \
  >"$work/holder.out" 2>&1 </dev/null &
pids=($!)
wait_for 30 grep -q '^step ' "$work/holder.out" || fail "holder: no step"
kill -STOP "${pids[0]}"
timeout -s KILL 60 "$dsrunner" "$work/train.toml" log.dir="$work/waiter" "${small[@]}" checkpoint.dir="$work/held" train.steps=8 \
  >"$work/waiter.0.out" 2>&1 </dev/null &
waiter=$!

# Another model: each tensor that differs is named.
again
refused hidden "$newest belongs to another model: 28 tensors differ:" "wte.weight is [256, 64] in the checkpoint and [256, 96] in the model" \
  "hint: train the model that was saved" -- "${here[@]}" model.hidden=96
refused layers "12 tensors differ:" "h.2.attn.c_attn.weight is not in the checkpoint" -- "${here[@]}" model.layers=3
refused vocabulary "1 tensor differs:" "wte.weight is [256, 64] in the checkpoint and [320, 64] in the model" -- "${here[@]}" model.vocab=300
train 0 sgd checkpoint.dir="$work/sgd-saves" optimizer.type=sgd train.steps=2
refused moments "wte.weight has no moment2 in the checkpoint" "--load weights" -- checkpoint.resume="$work/sgd-saves" \
  checkpoint.dir="$work/other"
# Different arithmetic is reported, not refused.
train 0 seed "${here[@]}" train.seed=2 train.steps=9
says seed "checkpoint: step 8 resumed from " "arithmetic differs from the saved run: train.seed: 2, was 1"

# Damaged bytes: the damage is named and the previous checkpoint is used.
again
spoil_bytes "$newest/rank-00000.chunk" 100000
goes_on 6 piece "checkpoint skipped: rank 0: $newest/rank-00000.chunk: elements 0 to 16383 of the moment1 of wte.weight (bytes 69632 to 135167) differ from what was written" \
  "step-00000008.set-aside is later than the step at which this run starts" -- "${here[@]}"
again
spoil_bytes "$newest/manifest.json" 3000
goes_on 6 manifest "checkpoint skipped: $newest/manifest.json: it was changed after it was written" -- "${here[@]}"
again
truncate -s 5000 "$newest/rank-00000.chunk"
goes_on 6 cut "checkpoint skipped: $newest/rank-00000.chunk is truncated: it has 5000 bytes, but the manifest says 1410048" -- "${here[@]}"
again
rm "$newest/rank-00000.chunk"
rm "$saves/step-00000006/manifest.json"
goes_on 4 gone "checkpoint skipped: $newest/rank-00000.chunk cannot be read: No such file" \
  "checkpoint skipped: $saves/step-00000006 is not a checkpoint: it has no manifest.json" -- "${here[@]}"
# No checkpoint is good: training does not start at step 0 unless told to.
again
for step in 2 4 6 8; do : >"$saves/step-0000000$step/manifest.json"; done
refused none "no checkpoint of $saves can be used: $newest/manifest.json: it is truncated" "(and 3 more)" \
  'hint: checkpoint.resume = "never" starts at step 0' -- "${here[@]}"
train 0 never "${here[@]}" checkpoint.resume=never train.steps=1
says never "step-00000008.set-aside is later than the step" "step 1/1 "

# The same with a path: no other checkpoint is used, but those nearby are named.
again
spoil_bytes "$newest/rank-00000.chunk" 100000
refused path "no checkpoint of $newest can be used: rank 0: $newest/rank-00000.chunk: elements 0 to 16383 of the moment1 of wte.weight" \
  "hint: specify another one; nearby: $saves/step-00000006, " -- checkpoint.dir="$work/other" checkpoint.resume="$newest"
goes_on 6 folder "checkpoint skipped: rank 0: $newest/rank-00000.chunk" -- checkpoint.dir="$work/other" checkpoint.resume="$saves"

# A newer format is not damage: no older checkpoint is used.
again
sed -i 's/"version": 1,/"version": 2,/' "$newest/manifest.json"
"$DS_TESTS/reseal" "$newest/manifest.json" || fail "reseal"
refused newer "$newest/manifest.json: it has format version 2, but this program reads versions up to 1" \
  "hint: use the program that wrote it, or a newer one" -- "${here[@]}"
[ -d "$newest" ] || fail "newer: it was moved"

# Paths that are not checkpoints.
again
refused missing "checkpoint.resume ${newest}0 does not exist" "hint: nearby: $newest, " -- "${here[@]}" checkpoint.resume="${newest}0"
mkdir "$work/empty" "$saves/step-00000009.tmp-0"
refused empty "checkpoint.resume $work/empty is an empty folder" -- "${here[@]}" checkpoint.resume="$work/empty"
refused file "checkpoint.resume $work/text is a file other than manifest.json" -- "${here[@]}" checkpoint.resume="$work/text"
refused half "is a save that was never completed" -- "${here[@]}" checkpoint.resume="$saves/step-00000009.tmp-0"

# Paths that are not folders.
refused dir-file "checkpoint.dir $work/text is not a folder" -- checkpoint.dir="$work/text"
refused dir-below "checkpoint.dir $work/text/saves is not a folder" -- checkpoint.dir="$work/text/saves"

# Disks that are full or read-only at the start, and one that fills up: a warning per failed save, and the job fails at its end.
mkdir "$work/disk"
mounted() { in_mounts bash -c 'mount -t tmpfs -o "$1" tmpfs "$2" || exit 125; shift 2; exec "$@"' mounted "$@"; }
before=(mounted size=1m "$work/disk")
refused full "checkpoint.dir $work/disk: a checkpoint needs 1.5 MiB, " "hint: free some space there" -- \
  checkpoint.dir="$work/disk"
before=(mounted ro "$work/disk")
refused read-only "checkpoint.dir $work/disk cannot be used: the file system is read-only" -- checkpoint.dir="$work/disk"
before=(mounted size=20m "$work/disk")
if train 1 fills checkpoint.dir="$work/disk" checkpoint.every=1 checkpoint.keep=0 checkpoint.async=false train.steps=20; then
  says fills "checkpoint: step 8 saved" "checkpoint: step 20 failed: " \
    "step 20/20 " "the checkpoint of the last step was not saved"
fi
before=()

# Another user's folder: no permission to write, to list, to read one checkpoint.
chmod 711 "$work"
if [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --clear-groups -- test -x "$dsrunner" && chmod a+r "$work/train.toml" "$work/text"; then
  mkdir -m 777 "$work/runs"
  runs=$work/runs
  before=(setpriv --reuid 65534 --clear-groups --)
  again
  refused no-write "checkpoint.dir $saves cannot be used: no permission (Permission denied)" -- "${here[@]}"
  chmod 711 "$saves"
  refused no-list "checkpoint.dir $saves cannot be used: no permission (Permission denied)" "hint: give this user" -- "${here[@]}"
  chmod -R 777 "$saves"
  chmod 000 "$newest/rank-00000.chunk"
  goes_on 6 no-read "checkpoint skipped: $newest/rank-00000.chunk cannot be read: Permission denied" -- "${here[@]}"
else
  note "another user's folder: not root, or the program is where others cannot see it"
fi

rc=0
wait "$waiter" || rc=$?
[ $rc = 65 ] && says waiter "checkpoint.dir $work/held: another job saves there: process ${pids[0]} on $(hostname)" "hint: give each job" ||
  fail "waiter: exit code $rc: $(cat "$work/waiter.0.out")"
kill -9 "${pids[0]}"
wait "${pids[0]}" 2>/dev/null
pids=()

[ $failures = 0 ] && echo "checkpoints that cannot be used: all as promised"
exit $((failures > 0))
