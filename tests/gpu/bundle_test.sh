#!/usr/bin/env bash
# The bundle for machines with a GPU: made, unpacked elsewhere, started with nothing of this machine but glibc.
set -u
source=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
bin=${DS_BIN:-$source/build/release/bin}
build=$(dirname "$bin")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
if [ ! -e "$bin/libdsengine_cuda.so" ]; then
  echo "skipped: this build has no CUDA backend (nvcc was not found)"
  exit 77
fi

"$source/scripts/gpu_bundle.sh" --build "$build" --no-build "$work/made.tar.gz" || { fail "no bundle was made"; exit 1; }
mkdir "$work/elsewhere"
tar -xzf "$work/made.tar.gz" -C "$work/elsewhere" || fail "it cannot be unpacked"
bundle=$work/elsewhere/gpu_bundle
clean=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$work" TMPDIR="$work")

# Every library comes from the bundle, but glibc's.
outside=$(for program in "$bundle"/bin/*; do
  "${clean[@]}" LD_LIBRARY_PATH="$bundle/lib:$bundle/lib/gcc" ldd "$program"
done | awk -v own="$bundle/lib/" '$2 == "=>" && index($3, own) != 1 { print $1 }' | sort -u)
for name in $outside; do
  case $name in
    libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | libresolv.so.2 | libmvec.so.1) ;;
    *) fail "$name is not in the bundle" ;;
  esac
done

# In a root of its own, with glibc alone beside it.
mkdir -p "$work/root/tmp" "$work/root/proc"
loader=$(readelf -p .interp "$bundle/bin/dsrunner" | sed -n 's/.*\(\/lib.*ld-linux.*\)$/\1/p')
for path in "$loader" $(ldd "$bundle/bin/dsrunner" | awk '$1 ~ /^lib(c|m|dl|pthread|rt|resolv|mvec)\.so/ { print $3 }'); do
  mkdir -p "$work/root$(dirname "$path")"
  cp -L "$path" "$work/root$path"
done
cp -r "$bundle" "$work/root/bundle"
if unshare --user --map-root-user true 2>/dev/null; then
  in_root=(unshare --user --map-root-user chroot "$work/root")
elif [ "$(id -u)" = 0 ]; then
  in_root=(chroot "$work/root")
else
  in_root=()
  echo "not checked in a root of its own: user namespaces are not allowed here"
fi
if [ ${#in_root[@]} -gt 0 ]; then
  for program in dsrunner dslaunch; do
    said=$("${clean[@]}" LD_LIBRARY_PATH=/bundle/lib:/bundle/lib/gcc "${in_root[@]}" /bundle/bin/$program --version 2>&1)
    case $said in *"$program "[0-9]*) ;; *) fail "$program with glibc alone: $said" ;; esac
  done
fi

# Without a GPU it says so; nothing of the build is used.
said=$("${clean[@]}" "$bundle/run.sh" --results "$work/results" 2>&1)
status=$?
if [ -e /dev/nvidia0 ]; then
  echo "not checked: what it says without a GPU, for there is one"
else
  [ $status = 77 ] || fail "exit $status without a GPU, not 77: $said"
  case $said in *"skipped: no CUDA device here"*) ;; *) fail "it does not say that there is no device: $said" ;; esac
  [ ! -e "$work/results" ] || fail "a run without a GPU wrote results"
fi
"${clean[@]}" "$bundle/run.sh" --only nonsense >/dev/null 2>&1
[ $? = 64 ] || fail "a step that does not exist is not refused"
[ $failures = 0 ] && echo "bundle: works"
exit $((failures > 0))
