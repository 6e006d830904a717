#!/usr/bin/env bash
# No growth after the first steps: engine code allocates nothing, libraries allocate little, and the heap keeps its size.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
hook=$DS_TESTS/liballoc_hook.so
limit=$((64 * 1024))
if ldd "$dsrunner" | grep -q 'lib[at]san'; then
  echo "skipped: a sanitizer uses its own allocator"
  exit 77
fi

# owner FRAMES...: prints who made the allocation, by the innermost frame that tells. The threads that watch for hangs write, send
# and read short reports; they delay no step and free what they allocate (the live heap shows it).
owner() {
  local frame program name
  local -a places=() names=()
  for frame in "$@"; do
    case ${frame%+*} in *dsrunner) program=${frame%+*} && places+=("${frame##*+}") ;; esac
  done
  [ ${#places[@]} = 0 ] || mapfile -t names < <(addr2line -f -C -e "$program" "${places[@]}" | sed -n 'p;n')
  for name in "${names[@]}"; do
    case $name in
      ds::comm::HangGuard::* | ds::comm::Acceptor::*) echo "the watch for hangs" && return ;;
      # Rank 0 judges the reports of all ranks at most four times a beat
      *ds::comm::Coordinator::take_report*) echo "the watch for hangs" && return ;;
      # A rank's answer to the question of another one, which comes where a busy machine makes ranks wait
      'ds::place_of[abi:cxx11](ds::RankReport const&)') echo "the watch for hangs" && return ;;
    esac
  done
  for frame in "$@"; do
    case ${frame%+*} in
      *libdnnl*) echo oneDNN && return ;;
      *dsrunner) name=${names[0]} && names=("${names[@]:1}") ;;
      *) echo "${frame##*/}" | sed 's/+.*//' && return ;;
    esac
    case $name in
      *ds::*) echo "engine $name" && return ;;
    esac
  done
  echo "engine (no name): $*"
}

# check NAME RANK: checks the allocation report of one rank
check() {
  local report=$work/$1.heap.$2 live2 live20 worst count largest frames who
  [ -s "$report" ] || { fail "$1, rank $2: no report of the allocations"; return; }
  live2=$(awk '$1 == "step" && $2 == 2 { print $4 }' "$report")
  live20=$(awk '$1 == "step" && $2 == 20 { print $4 }' "$report")
  worst=$(awk '$1 == "step" && $2 >= 2 && $2 < 20 && $8 > w { w = $8 } END { print w + 0 }' "$report")
  echo "$1, rank $2: live heap after step 2: $live2, after step 20: $live20 bytes; largest allocation of steps 3 to 20: $worst"
  [ -n "$live20" ] && [ $((live20 - live2)) -lt $limit ] && [ $((live2 - live20)) -lt $limit ] ||
    fail "$1, rank $2: the heap went from $live2 to $live20 bytes"
  [ "$worst" -le $limit ] || fail "$1, rank $2: an allocation of $worst bytes in a steady step"
  : >"$work/owners"
  while read -r _ _ count _ _ _ largest _ frames; do
    # shellcheck disable=SC2086
    who=$(owner $frames)
    echo "$who $count $largest" >>"$work/owners"
    [ "${who%% *}" != engine ] || fail "$1, rank $2: engine code allocates in a steady step: $who"
  done < <(grep '^site' "$report")
  awk '{ n = $NF; c = $(NF - 1); NF -= 2; count[$0] += c; if (n > most[$0]) most[$0] = n }
    END { for (who in count) printf "  %s: %d allocations, largest %d bytes\n", who, count[who], most[who] }' \
    "$work/owners" | sort
}

# job WORLD NAME KEYS...: runs with the hook; step 1 creates primitives, and the matrix peak is measured after it
job() {
  rm -f "$work/page"
  truncate -s 4096 "$work/page"
  export DS_ALLOC_PAGE=$work/page DS_ALLOC_REPORT=$work/$2.heap DS_ALLOC_FIRST=2 DS_ALLOC_LAST=20
  start_job_hooked "$@"
  unset DS_ALLOC_REPORT
  local rank
  for ((rank = 0; rank < $1; rank++)); do check "$2" "$rank"; done
}
start_job_hooked() {
  local plain=$dsrunner
  cat >"$work/hooked" <<END
#!/bin/sh
LD_PRELOAD=$hook exec $plain "\$@"
END
  chmod +x "$work/hooked"
  dsrunner=$work/hooked
  run_job "$@"
  dsrunner=$plain
}

for dtype in fp32 bf16; do
  job 1 "$dtype-alone" precision.dtype=$dtype device.threads=2 batch.accum=2 train.steps=22
  job 2 "$dtype-two" precision.dtype=$dtype batch.accum=2 determinism.virtual_ranks=4 train.steps=22 log.tensorboard=true log.csv=true log.trace=2-22
done

mkdir "$work/disk"
job 2 files zero.stage=3 offload.optimizer.device=nvme "offload.optimizer.paths=$work/disk" offload.optimizer.tile=16384 \
  offload.param.device=nvme train.steps=22

# The check can fail: counted from the start, engine code is seen to allocate.
job_sites() {
  rm -f "$work/page"
  truncate -s 4096 "$work/page"
  DS_ALLOC_PAGE=$work/page DS_ALLOC_REPORT=$work/start.heap DS_ALLOC_FIRST=0 start_job_hooked 1 start train.steps=2
  grep '^site' "$work/start.heap.0" | head -200 | while read -r _ _ _ _ _ _ _ _ frames; do
    # shellcheck disable=SC2086
    owner $frames
  done
}
job_sites | grep -q '^engine .*ds::' || fail "the hook sees no allocation of engine code at start-up"

[ $failures = 0 ] && echo "no growth: all as promised"
exit $((failures > 0))
