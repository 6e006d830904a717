#!/usr/bin/env bash
# Writes data/english.txt: the King James Bible (public domain), from Debian's packages bible-kjv and bible-kjv-text.
#
#   scripts/fetch_text.sh [OUTPUT]        default: data/english.txt in this repository
#
# The script removes the reference in front of each verse ("Ge1:1 ") and inserts an empty line
# between chapters. One verse is one line. Nothing else changes. The result is 4.1 MB of ASCII.
# If the file is already complete, the script says so and changes nothing.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
output=${1:-$root/data/english.txt}
lines=32290  # 31102 verses, and 1188 empty lines between 1189 chapters

complete() { [ -f "$1" ] && [ "$(wc -l < "$1")" -eq "$lines" ]; }

if complete "$output"; then
  echo "fetch_text: $output is complete, nothing to do"
  exit 0
fi

if ! command -v bible > /dev/null; then
  echo "fetch_text: installing the Debian package bible-kjv"
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y --no-install-recommends bible-kjv > /dev/null
fi

mkdir -p "$(dirname "$output")"
partial=$(mktemp "$output.XXXXXX")
trap 'rm -f "$partial"' EXIT
bible -f gen1:1-rev22:21 < /dev/null |
  awk '{ chapter = $1; sub(/:.*/, "", chapter); sub(/^[^ ]* /, "")
         if (NR > 1 && chapter != last) print ""
         last = chapter; print }' > "$partial"
if ! complete "$partial"; then
  echo "fetch_text: expected $lines lines, got $(wc -l < "$partial"): the package may have changed" >&2
  exit 1
fi
chmod 644 "$partial"
mv "$partial" "$output"
trap - EXIT
echo "fetch_text: wrote $output, $(wc -c < "$output") bytes"
