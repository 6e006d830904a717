#!/usr/bin/env bash
# Installs missing packages, builds, and runs all tests.
#
#   scripts/test.sh [--preset asan|tsan] [CTEST OPTION ...]         for example: scripts/test.sh -R unit_
#
# The presets build with AddressSanitizer and UBSan, or with ThreadSanitizer; every timeout is then multiplied by 5.
# The last line is "N passed, N failed, N skipped"; skipped tests are listed with their reasons. At most 3 tests that fail are tried once
# more, alone, because a busy machine may be too slow for a test that waits. Those that pass then are named: each is a bug to be mended.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
start=$SECONDS
preset=release
if [ "${1:-}" = --preset ]; then
  preset=${2:-}
  [ -n "$preset" ] && grep -q "\"name\": \"$preset\"" CMakePresets.json || { echo "test.sh: unknown preset '$preset'; see CMakePresets.json" >&2; exit 64; }
  shift 2
fi
scripts/install_packages.sh build test text parquet
scripts/build.sh "$preset" -DDS_BUILD_TESTS=ON
scripts/fetch_text.sh

log=build/$preset/test.log
status=0
# Most tests wait more than they compute, so there are three places per core. A busy test takes two places (ds_long_test).
ctest --test-dir "build/$preset" --output-on-failure --timeout 600 -j $((3 * $(nproc))) "$@" 2>&1 | tee "$log" || status=$?

# One line per ctest entry: "  3/40 Test  #3: unit_hosts ....   Passed    0.02 sec".
passed=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed ' "$log" || true)
skipped=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*\*\*\*Skipped' "$log" || true)
all=$(grep -cE '^ *[0-9]+/[0-9]+ Test +#[0-9]+: ' "$log" || true)
failed=$((all - passed - skipped))
if [ "$skipped" -gt 0 ]; then
  echo "skipped tests and their reasons:"
  grep -oE 'Test +#[0-9]+: [^ ]+ .*\*\*\*Skipped' "$log" | sed -E 's/.*: ([^ ]+) .*/\1/' | while read -r name; do
    # The output of the skipped test is in ctest's own log, so the test need not run again.
    reason=$(awk -v name="$name" '/^[0-9]+\/[0-9]+ Testing: / { inside = ($3 == name) }
                                  inside && tolower($0) ~ /skip(:|ped)/ { print; exit }' \
      "build/$preset/Testing/Temporary/LastTest.log")
    echo "  $name: ${reason:-no reason printed}"
  done
fi
if [ "$failed" -gt 0 ] && [ "$failed" -le 3 ]; then
  echo "tests that failed are tried once more, alone:"
  again=build/$preset/test_again.log
  ctest --test-dir "build/$preset" --rerun-failed --output-on-failure --timeout 600 2>&1 | tee "$again" || true
  mapfile -t second < <(grep -E '^ *[0-9]+/[0-9]+ Test +#[0-9]+: .* Passed ' "$again" | sed -E 's/.*: ([^ ]+) .*/\1/')
  [ ${#second[@]} -eq 0 ] || echo "PASSED AT THE SECOND TRY ONLY, to be mended: ${second[*]}"
  passed=$((passed + ${#second[@]})) failed=$((failed - ${#second[@]}))
  [ "$failed" -gt 0 ] || status=0
fi
echo "tests took $((SECONDS - start)) s, including installation and build"
if [ "$all" -eq 0 ]; then
  echo "no test ran" >&2
  status=1
fi
[ "$failed" -eq 0 ] || status=1
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
