#!/usr/bin/env bash
# Packs everything that tests/gpu/run.sh needs into one tar file, for a GPU machine without the build packages.
#
#   scripts/gpu_bundle.sh [--build FOLDER] [--no-build] [OUTPUT]      default: build/release, OUTPUT gpu_bundle.tar.gz in it
#
# Contents: bin/ (dslaunch, dsrunner, the CUDA backend, test programs; stripped), lib/ (shared libraries, except glibc's
# and NVIDIA's, which the machine has; lib/gcc/ has the compiler's, for machines with older ones),
# tests/gpu/, configs/, docs/gpu.md, run.sh. The script fails if the file is larger than 60 MiB.
#   tar -xzf gpu_bundle.tar.gz && gpu_bundle/run.sh
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/release output='' make=1
while [ $# -gt 0 ]; do
  case $1 in
    --build) build=$(cd "$2" && pwd); shift ;;
    --no-build) make='' ;;
    -h | --help) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 0 ;;
    -*) echo "gpu_bundle: unknown option $1; see --help" >&2; exit 64 ;;
    *) output=$1 ;;
  esac
  shift
done
output=${output:-$build/gpu_bundle.tar.gz}
limit_mib=60

tests=(conformance_kernels equality_matrix gpu_probe kernels_bench)
[ -n "$make" ] && cmake --build "$build" -j "$(nproc)" --target dslaunch dsrunner dsengine_cuda "${tests[@]}" >"$build/gpu_bundle.log"
# The backend of this build, or both if the other one was copied beside it.
backends=("$build"/bin/libdsengine_cuda*.so)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bundle=$work/gpu_bundle
mkdir -p "$bundle/bin" "$bundle/lib/gcc" "$bundle/tests/gpu" "$bundle/docs"
for name in dslaunch dsrunner "${backends[@]##*/}"; do
  [ -e "$build/bin/$name" ] || { echo "gpu_bundle: $build/bin/$name does not exist; if nvcc was not found, configuring with DS_CUDA=on gives the reason" >&2; exit 65; }
  strip -o "$bundle/bin/$name" "$build/bin/$name"
done
for name in "${tests[@]}"; do strip -o "$bundle/bin/$name" "$build/tests/$name"; done

# Copies the libraries that the loader finds for our programs, without those that the machine must provide.
for name in "$bundle"/bin/*; do ldd "$name"; done | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 } /not found/ { print $1, "MISSING" }' |
  sort -u | while read -r name path; do
  case $name in
    libc.so.* | libm.so.* | libmvec.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libutil.so.* | libresolv.so.* | \
      libanl.so.* | libnsl.so.* | ld-linux*) continue ;;  # glibc's libraries belong together, and the machine's glibc is newer
    libcuda.so.* | libnvidia-* | libcudart.so.* | libcublas* | libcudnn* | libnccl*)
      echo "gpu_bundle: $name is linked, but must be found at run time" >&2; exit 1 ;;
    libstdc++.so.* | libgcc_s.so.*) cp -L "$path" "$bundle/lib/gcc/$name" ;;
    *)
      [ "$path" != MISSING ] || { echo "gpu_bundle: $name cannot be found" >&2; exit 1; }
      cp -L "$path" "$bundle/lib/$name" ;;
  esac
done
cp "$root"/tests/gpu/{run.sh,common.sh,steps.sh,bench.sh,report.awk,peer_pytorch.py} "$bundle/tests/gpu/"
cp -r "$root/configs" "$bundle/configs"
cp "$root/docs/gpu.md" "$bundle/docs/"
licenses=$root/build/third_party/cudnn_frontend/licenses  # its headers are compiled into the backend
[ ! -d "$licenses" ] || cp -r "$licenses" "$bundle/docs/cudnn_frontend_licenses"
printf '#!/bin/sh\n# Runs all GPU tests on this machine; see --help.\nexec "$(dirname "$0")/tests/gpu/run.sh" "$@"\n' >"$bundle/run.sh"
chmod +x "$bundle/run.sh"

for name in "${backends[@]##*/}"; do
  status=0
  said=$(LD_LIBRARY_PATH=$bundle/lib DSLAUNCH_CUDA_PLUGIN=$bundle/bin/$name "$bundle/bin/gpu_probe" 2>&1) || status=$?
  [ $status = 0 ] || [ $status = 77 ] || { echo "gpu_bundle: the CUDA backend $name does not load: $said" >&2; exit 1; }
done

tar -C "$work" -czf "$work/packed" gpu_bundle
mib=$(($(stat -c %s "$work/packed") / 1048576 + 1))
if [ "$mib" -gt $limit_mib ]; then
  echo "gpu_bundle: $mib MiB packed, the limit is $limit_mib; the largest files:" >&2
  find "$bundle" -type f -printf '%s %P\n' | sort -rn | head -n 8 >&2
  exit 1
fi
mv "$work/packed" "$output"
echo "gpu_bundle: $output, $mib MiB packed, $(du -sm --apparent-size "$bundle" | cut -f 1) MiB unpacked," \
  "$(find "$bundle/lib" -type f | wc -l) libraries"
