#!/usr/bin/env bash
# Resident memory grows by what the plan says, within max(3 %, 8 MiB): small and larger models, fp32 and bf16, two ranks.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
if ldd "$dsrunner" | grep -q 'lib[at]san'; then
  echo "skipped: a sanitizer has memory of its own"
  exit 77
fi

# job WORLD NAME KEYS...
job() {
  run_job "$@" train.steps=2
  local planned before after grown allowed off
  planned=$(summary_of "$2" planned_bytes)
  before=$(summary_of "$2" rss_anon_before_arena)
  after=$(summary_of "$2" rss_anon_step2)
  [ -n "$planned" ] && [ -n "$before" ] && [ -n "$after" ] || { fail "$2: the summary lacks a figure"; return; }
  grown=$((after - before))
  allowed=$((planned * 3 / 100))
  [ $allowed -ge $((8 << 20)) ] || allowed=$((8 << 20))
  off=$((grown - planned))
  printf '%-22s planned %11d  grown %11d  off %9d  allowed %9d bytes\n' "$2" "$planned" "$grown" "$off" "$allowed"
  [ ${off#-} -le $allowed ] || fail "$2: memory grew by $grown bytes, planned were $planned"
  # The check can fail: the plan is larger than what is allowed.
  [ "$planned" -gt $allowed ] || fail "$2: too small a model to see anything"
}

quickstart=(model.layers=4 model.hidden=256 model.heads=4 data.seq_len=128 batch.micro=8)
larger=(model.layers=8 model.hidden=640 model.heads=10 data.seq_len=128 batch.micro=2)
for dtype in fp32 bf16; do
  job 1 "quickstart-$dtype" "${quickstart[@]}" precision.dtype=$dtype device.threads=2
  job 1 "40M-$dtype" "${larger[@]}" precision.dtype=$dtype device.threads=2
  job 2 "quickstart-$dtype-two" "${quickstart[@]}" precision.dtype=$dtype determinism.virtual_ranks=4
done

[ $failures = 0 ] && echo "memory as planned: all as promised"
exit $((failures > 0))
