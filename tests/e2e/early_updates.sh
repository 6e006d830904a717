#!/usr/bin/env bash
# Updates during the backward pass that are undone where a step is clipped or skipped: the same bits as without offload.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
mkdir "$work/disk"

expected=
# job WORLD NAME REDONE KEYS...: runs 20 steps with clipping in some of them, and checks the hash and the number of redone updates
job() {
  run_job "$1" "$2" "${@:4}" determinism.virtual_ranks=4 batch.accum=2 determinism.order=step offload.optimizer.tile=16384
  local hash redone
  hash=$(summary_of "$2" weights_hash)
  redone=$(summary_of "$2" redone_updates)
  printf '%-24s world %d  %s  %s updates made again\n' "$2" "$1" "$hash" "$redone"
  [ ${#hash} = 32 ] || fail "$2: no weights_hash"
  : "${expected:=$hash}"
  [ "$hash" = "$expected" ] || fail "$2: the weights differ"
  [ "$3" = any ] || [ "$redone" = "$3" ] || fail "$2: $redone updates made again, not $3"
  [ "$3" != any ] || [ "$redone" -gt 0 ] || fail "$2: nothing was taken back: the check shows nothing"
}

for dtype in bf16 fp16; do
  expected=
  job 1 $dtype-plain 0 precision.dtype=$dtype optimizer.clip=2
  job 3 $dtype-nvme any precision.dtype=$dtype optimizer.clip=2 zero.stage=3 offload.optimizer.device=nvme \
    offload.optimizer.update=backward "offload.optimizer.paths=[\"$work/disk\"]"
  job 2 $dtype-cpu any precision.dtype=$dtype optimizer.clip=2 zero.stage=1 offload.optimizer.device=cpu \
    offload.optimizer.update=backward
done
expected=
job 1 no-clip 0 precision.dtype=bf16 optimizer.clip=0
job 2 no-clip-cpu 0 precision.dtype=bf16 optimizer.clip=0 zero.stage=2 offload.optimizer.device=cpu offload.optimizer.update=backward

# A step that is skipped because one op made a NaN: the update that runs during it is undone.
expected=
nan=('debug.non_finite="3:block1.mlp.fc"' precision.on_nonfinite=skip precision.dtype=fp32 optimizer.clip=0)
job 1 nan 0 "${nan[@]}"
job 1 nan-both 1 "${nan[@]}" offload.optimizer.device=cpu offload.optimizer.device_share=50 offload.optimizer.update=backward
job 2 nan-cpu 1 "${nan[@]}" zero.stage=1 offload.optimizer.device=cpu offload.optimizer.update=backward

[ $failures = 0 ] && echo "early updates: taken back where they had to be"
exit $((failures > 0))
