#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test.
#
#   scripts/test.sh [CTEST OPTION ...]         for instance: scripts/test.sh -R unit_
#
# Ends with one line "N passed, N failed, N skipped"; skipped tests are listed with their reasons.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
start=$SECONDS
scripts/install_packages.sh build test text
scripts/build.sh release -DDS_BUILD_TESTS=ON
scripts/fetch_text.sh

log=build/release/test.log
status=0
# Most tests wait more than they work: two places a core, and one. Those that work take two (ds_long_test).
ctest --test-dir build/release --output-on-failure --timeout 600 -j $((2 * $(nproc) + 1)) "$@" 2>&1 | tee "$log" || status=$?

# One line per ctest entry: "  3/40 Test  #3: unit_hosts ....   Passed    0.02 sec".
passed=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed ' "$log" || true)
skipped=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*\*\*\*Skipped' "$log" || true)
all=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: ' "$log" || true)
failed=$((all - passed - skipped))
if [ "$skipped" -gt 0 ]; then
  echo "skipped tests and their reasons:"
  grep -oE 'Test +#[0-9]+: [^ ]+ .*\*\*\*Skipped' "$log" | sed -E 's/.*: ([^ ]+) .*/\1/' | while read -r name; do
    # What the skipped test printed stands in ctest's own log; nothing is run twice.
    reason=$(awk -v name="$name" '/^[0-9]+\/[0-9]+ Testing: / { inside = ($3 == name) }
                                  inside && tolower($0) ~ /skip(:|ped)/ { print; exit }' \
      build/release/Testing/Temporary/LastTest.log)
    echo "  $name: ${reason:-no reason printed}"
  done
fi
echo "tests took $((SECONDS - start)) s with installing and building"
if [ "$all" -eq 0 ]; then
  echo "no test ran" >&2
  status=1
fi
[ "$failed" -eq 0 ] || status=1
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
