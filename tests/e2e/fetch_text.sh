#!/usr/bin/env bash
# scripts/fetch_text.sh writes the complete, clean text, and does nothing if it exists. Skipped without the package.
set -eu
if ! command -v bible > /dev/null; then
  echo "skipped: Debian package bible-kjv is not installed"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
text="$work/deep/english.txt"

fail() { echo "FAILED: $1"; exit 1; }

"$DS_SOURCE/scripts/fetch_text.sh" "$text" > "$work/first"
grep -q ': wrote ' "$work/first" || fail "the first run says what it wrote"
[ "$(head -1 "$text")" = "In the beginning God created the heaven and the earth." ] || fail "the first line"
[ "$(tail -1 "$text")" = "The grace of our Lord Jesus Christ be with you all. Amen." ] || fail "the last line"
[ "$(grep -c . "$text")" = 31102 ] || fail "31102 verses"
if LC_ALL=C grep -q '[^ -~]' "$text"; then fail "only ASCII"; fi
if grep -q '[0-9]' "$text"; then fail "no verse numbers"; fi

before=$(stat -c '%i %Y' "$text")
"$DS_SOURCE/scripts/fetch_text.sh" "$text" > "$work/second"
grep -q ' is complete, nothing to do$' "$work/second" || fail "the second run says that the text is complete"
[ "$(stat -c '%i %Y' "$text")" = "$before" ] || fail "the second run leaves the file alone"

head -100 "$text" > "$work/part" && mv "$work/part" "$text"
"$DS_SOURCE/scripts/fetch_text.sh" "$text" > "$work/third"
[ "$(grep -c . "$text")" = 31102 ] || fail "an incomplete file is written again"
[ "$(ls "$work/deep")" = english.txt ] || fail "no partial file stays"
echo "fetch_text: all checks passed"
