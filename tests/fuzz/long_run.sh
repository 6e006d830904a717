#!/usr/bin/env bash
# On demand: builds the fuzz targets with clang's libFuzzer under ASan and UBSan and runs each for some minutes. An input
# that fails is kept in the folder, and belongs into tests/fuzz/corpus once its bug is fixed.
#
#   tests/fuzz/long_run.sh [--minutes 10] [--folder build/fuzz] [TARGET...]       default: the launcher's nine
#
# Prints a line a target: runs, inputs found that reach new code, and OK or the input that fails.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
minutes=10 folder=$root/build/fuzz targets=()
while [ $# -gt 0 ]; do
  case $1 in
    --minutes) minutes=$2; shift 2 ;;
    --folder) folder=$2; shift 2 ;;
    -*) sed -n '2,7p' "$0"; exit 64 ;;
    *) targets+=("$1"); shift ;;
  esac
done
[ "$minutes" -gt 0 ] 2> /dev/null || { echo "long_run.sh: --minutes takes a whole number from 1" >&2; exit 64; }
[ ${#targets[@]} -gt 0 ] || targets=(hostfile node_list ssh_config known_hosts frame control lines dns pmi)
command -v clang++ > /dev/null || { echo "SKIP: needs clang++ with libFuzzer (apt-get install clang)"; exit 77; }
mkdir -p "$folder"
{
  cmake -S "$root" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_COMPILER=clang++ \
    -DDS_SANITIZE=address,undefined,fuzzer-no-link -DDS_LIBFUZZER=ON
  cmake --build "$folder" --target "${targets[@]/#/fuzz_}" -j "$(nproc)"
} > "$folder/build.log" 2>&1 || { tail -n 20 "$folder/build.log"; exit 1; }
failed=0
for target in "${targets[@]}"; do
  mkdir -p "$folder/found/$target" "$folder/failed"
  log=$folder/$target.log
  if "$folder/tests/fuzz_$target" -max_total_time=$((minutes * 60)) -timeout=60 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 \
    -artifact_prefix="$folder/failed/$target-" "$folder/found/$target" "$root/tests/fuzz/corpus/$target" > "$log" 2>&1; then
    result=OK
  else
    result="FAILED: see $log"
    failed=1
  fi
  echo "$target: $(awk '/number_of_executed_units/ {print $2}' "$log") runs in $minutes min," \
    "$(find "$folder/found/$target" -type f | wc -l) inputs found: $result"
done
exit $failed
