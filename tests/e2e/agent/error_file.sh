#!/usr/bin/env bash
# Tests that each rank has an error file in a private folder, sent before the rank's end and removed afterwards.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
probe="$DS_TESTS/agent_probe"

"$probe" "$dslaunch" -n 2 -- bash -c 'printf "{\"rank\": %s}" $RANK >"$TORCHELASTIC_ERROR_FILE"
  ls -ld "$(dirname "$TORCHELASTIC_ERROR_FILE")"; echo "$TORCHELASTIC_ERROR_FILE"; exit 3' >out 2>err
for rank in 0 1; do
  grep -qx "ErrorFile $rank 11 bytes: {\"rank\": $rank}" out || die "rank $rank's file did not come"
done
grep -n 'ErrorFile 0\|Exited 0' out | head -n 1 | grep -q ErrorFile || die "the file came after the end"
[ "$(grep -c '^drwx------' out)" = 2 ] || die "the folder is not private"
path=$(grep -m 1 '^/' out)
[ ! -e "$(dirname "$path")" ] || die "the folder is still there"

# Too long a file is cut, what is no file is left alone, and a user's own name stays.
"$probe" "$dslaunch" -- bash -c 'head -c 200000 /dev/zero | tr "\0" x >"$TORCHELASTIC_ERROR_FILE"; exit 3' >out 2>err
grep -q '^ErrorFile 0 65536 bytes' out || die "a long file is not cut at 64 KiB"
"$probe" "$dslaunch" -- bash -c 'mkfifo "$TORCHELASTIC_ERROR_FILE"; exit 3' >out 2>err
grep -q '^Exited 0 status 768' out || die "a pipe in place of the file"
"$probe" "$dslaunch" -- bash -c 'ln -s /etc/passwd "$TORCHELASTIC_ERROR_FILE"; exit 3' >out 2>err
grep -q ErrorFile out && die "a link was followed"
"$probe" "$dslaunch" --env "TORCHELASTIC_ERROR_FILE=$work/own" -- bash -c 'echo $TORCHELASTIC_ERROR_FILE' >out 2>err
grep -qx "$work/own" out || die "the user's own error file"
echo "error file: sent, cut, private, removed"
