#!/usr/bin/env bash
# Tests run.sh itself on the emulated device: steps, table, JSON and exit statuses. Proves nothing about a GPU.
set -u
source=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
: "${DSLAUNCH_CUDA_PLUGIN:?must name the emulated plugin}"

DS_EMULATION_DEVICES=2 "$source/tests/gpu/run.sh" --self-test --results "$work/results" --logs "$work/logs" >"$work/out" 2>&1
status=$?
json=$(echo "$work"/results/*.json) table=$(echo "$work"/results/*.txt)
[ $status = 0 ] || { cat "$work/out"; fail "exit $status"; for log in "$work"/logs/*; do echo "== $log"; tail -n 5 "$log"; done; }
for step in conformance equality losses ranks sanitizer bench; do
  grep -q "^$step " "$table" || fail "step $step is missing in the table"
done
grep -q '^EMULATED' "$table" || fail "the table does not say that it was emulated"
grep -q '"kind": "emulated"' "$json" || fail "the JSON does not say that it was emulated"
grep -q '"passed": true' "$json" || fail "the JSON does not say that it passed"
grep -qE '"executed_on_device": [1-9]' "$json" || fail "nothing was executed"
grep -qE '\{"name": "tiny", "tokens_per_s": [0-9.]+, .*"of_peak": ' "$json" || fail "no benchmark in the JSON"
if command -v python3 >/dev/null; then
  python3 -m json.tool "$json" >/dev/null || fail "the JSON is not valid"
fi
[ -z "$(git -C "$source" status --porcelain tests/gpu/results 2>/dev/null)" ] || fail "it wrote into the results folder of real GPUs"

# A failing step is reported, does not stop the others, and decides the exit status.
DS_EMULATION_FAIL_LAUNCH=3 "$source/tests/gpu/run.sh" --self-test --only conformance,sanitizer --results "$work/failed" \
  >"$work/out_failed" 2>&1
[ $? = 1 ] || fail "a step that fails leaves exit status 0"
grep -qE '^conformance .* fail ' "$work/out_failed" || fail "a failing launch is not reported: $(cat "$work/out_failed")"
grep -qE '^sanitizer .* skip ' "$work/out_failed" || fail "a failing step stops the others"
grep -q '"passed": false' "$work"/failed/*.json || fail "the JSON of a failed run says that it passed"
# A run that executes nothing does not pass.
"$source/tests/gpu/run.sh" --self-test --only sanitizer --results "$work/nothing" >/dev/null 2>&1
[ $? = 1 ] || fail "a run without any case on the device passes"
# A plugin without a device exits with 77.
DS_EMULATION_DEVICES=0 "$source/tests/gpu/run.sh" --only losses --results "$work/none" >"$work/out_none" 2>&1
status=$?
[ -e /dev/nvidia0 ] || [ $status = 77 ] || fail "exit $status without a device, not 77: $(cat "$work/out_none")"
[ $failures = 0 ] && { cat "$table"; echo "run.sh: works on the emulated device"; }
exit $((failures > 0))
