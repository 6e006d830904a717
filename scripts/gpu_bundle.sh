#!/usr/bin/env bash
# Packs what tests/gpu/run.sh needs into one tar file for a machine with a GPU that lacks the build's packages.
#
#   scripts/gpu_bundle.sh [--build FOLDER] [--no-build] [OUTPUT]      default: build/release, OUTPUT gpu_bundle.tar.gz in it
#
# In it: bin/ (dslaunch, dsrunner, the CUDA backend, test programs; stripped), lib/ (the shared libraries that they
# need, but glibc's and NVIDIA's, which the machine has; lib/gcc/: the compiler's, for machines that are older),
# tests/gpu/, configs/, docs/gpu.md, run.sh. The file is at most 60 MiB, or this fails.
#   tar -xzf gpu_bundle.tar.gz && gpu_bundle/run.sh
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/release output='' make=1
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$(cd "$2" && pwd); shift ;;
    --no-build) make='' ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "gpu_bundle: unknown option $1; --help lists them" >&2; exit 64 ;;
    *) output=$1 ;;
  esac
  shift
done
output=${output:-$build/gpu_bundle.tar.gz}
limit_mib=60

product=(dslaunch dsrunner libdsengine_cuda.so)
tests=(conformance_kernels equality_matrix gpu_probe kernels_bench)
[ -n "$make" ] && cmake --build "$build" -j "$(nproc)" --target dslaunch dsrunner dsengine_cuda "${tests[@]}" >"$build/gpu_bundle.log"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bundle=$work/gpu_bundle
mkdir -p "$bundle/bin" "$bundle/lib/gcc" "$bundle/tests/gpu" "$bundle/docs"
for name in "${product[@]}"; do
  [ -e "$build/bin/$name" ] || { echo "gpu_bundle: no $build/bin/$name; is nvcc installed? (DS_CUDA=on says why not)" >&2; exit 65; }
  strip -o "$bundle/bin/$name" "$build/bin/$name"
done
for name in "${tests[@]}"; do strip -o "$bundle/bin/$name" "$build/tests/$name"; done

# All that the loader finds for our programs, without what belongs to the machine.
for name in "$bundle"/bin/*; do ldd "$name"; done | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 } /not found/ { print $1, "MISSING" }' |
  sort -u | while read -r name path; do
  case $name in
    libc.so.* | libm.so.* | libmvec.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libutil.so.* | libresolv.so.* | \
      libanl.so.* | libnsl.so.* | ld-linux*) continue ;;  # glibc: one piece, and the machine's is the newer one
    libcuda.so.* | libnvidia-* | libcudart.so.* | libcublas* | libcudnn* | libnccl*)
      echo "gpu_bundle: $name is linked, but is to be found at run time" >&2; exit 1 ;;
    libstdc++.so.* | libgcc_s.so.*) cp -L "$path" "$bundle/lib/gcc/$name" ;;
    *)
      [ "$path" != MISSING ] || { echo "gpu_bundle: $name is not found here" >&2; exit 1; }
      cp -L "$path" "$bundle/lib/$name" ;;
  esac
done
cp "$root"/tests/gpu/{run.sh,common.sh,steps.sh,bench.sh,report.awk,peer_pytorch.py} "$bundle/tests/gpu/"
cp -r "$root/configs" "$bundle/configs"
cp "$root/docs/gpu.md" "$bundle/docs/"
licenses=$root/build/third_party/cudnn_frontend/licenses  # its headers are compiled into the backend
[ ! -d "$licenses" ] || cp -r "$licenses" "$bundle/docs/cudnn_frontend_licenses"
printf '#!/bin/sh\n# Everything that can be shown on this machine: --help says more.\nexec "$(dirname "$0")/tests/gpu/run.sh" "$@"\n' >"$bundle/run.sh"
chmod +x "$bundle/run.sh"

status=0
said=$(LD_LIBRARY_PATH=$bundle/lib DSLAUNCH_CUDA_PLUGIN=$bundle/bin/libdsengine_cuda.so "$bundle/bin/gpu_probe" 2>&1) || status=$?
[ $status = 0 ] || [ $status = 77 ] || { echo "gpu_bundle: the backend cannot be used: $said" >&2; exit 1; }

tar -C "$work" -czf "$work/packed" gpu_bundle
mib=$(($(stat -c %s "$work/packed") / 1048576 + 1))
if [ "$mib" -gt $limit_mib ]; then
  echo "gpu_bundle: $mib MiB packed, more than $limit_mib; the largest:" >&2
  find "$bundle" -type f -printf '%s %P\n' | sort -rn | head -n 8 >&2
  exit 1
fi
mv "$work/packed" "$output"
echo "gpu_bundle: $output, $mib MiB packed, $(du -sm --apparent-size "$bundle" | cut -f 1) MiB unpacked," \
  "$(find "$bundle/lib" -type f | wc -l) libraries"
