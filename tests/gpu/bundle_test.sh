#!/usr/bin/env bash
# Tests the bundle for machines with a GPU: builds it, unpacks it elsewhere, and runs it with only glibc of this machine.
set -u
source=${DS_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
bin=${DS_BIN:-$source/build/release/bin}
build=$(dirname "$bin")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
if ! compgen -G "$bin/libdsengine_cuda*.so" >/dev/null; then
  echo "skipped: this build has no CUDA backend (nvcc was not found)"
  exit 77
fi
if ldd "$bin/dsrunner" | grep -q 'lib[at]san'; then
  echo "skipped: programs with a sanitizer are larger than a bundle may be"
  exit 77
fi

"$source/scripts/gpu_bundle.sh" --build "$build" --no-build "$work/made.tar.gz" || { fail "the bundle was not created"; exit 1; }
mkdir "$work/elsewhere"
tar -xzf "$work/made.tar.gz" -C "$work/elsewhere" || fail "the bundle cannot be unpacked"
bundle=$work/elsewhere/gpu_bundle
clean=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="$work" TMPDIR="$work")

# Every library except glibc's must come from the bundle.
outside=$(for program in "$bundle"/bin/*; do
  "${clean[@]}" LD_LIBRARY_PATH="$bundle/lib:$bundle/lib/gcc" ldd "$program"
done | awk -v own="$bundle/lib/" '$2 == "=>" && index($3, own) != 1 { print $1 }' | sort -u)
for name in $outside; do
  case $name in
    libc.so.6 | libm.so.6 | libdl.so.2 | libpthread.so.0 | librt.so.1 | libresolv.so.2 | libmvec.so.1) ;;
    *) fail "$name is not in the bundle" ;;
  esac
done

# Programs must start in a root folder that contains only the bundle and glibc.
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
  echo "not checked in a separate root: user namespaces are not allowed on this machine"
fi
if [ ${#in_root[@]} -gt 0 ]; then
  for program in dsrunner dslaunch; do
    said=$("${clean[@]}" LD_LIBRARY_PATH=/bundle/lib:/bundle/lib/gcc "${in_root[@]}" /bundle/bin/$program --version 2>&1)
    case $said in *"$program "[0-9]*) ;; *) fail "$program fails with only glibc: $said" ;; esac
  done
fi

# Without a GPU the bundle's run.sh says so. It uses nothing of the build.
said=$("${clean[@]}" "$bundle/run.sh" --results "$work/results" 2>&1)
status=$?
if [ -e /dev/nvidia0 ]; then
  echo "not checked: the message without a GPU, because this machine has one"
else
  [ $status = 77 ] || fail "exit $status without a GPU, not 77: $said"
  case $said in *"skipped: no CUDA device on this machine"*) ;; *) fail "it does not report that there is no device: $said" ;; esac
  [ ! -e "$work/results" ] || fail "a run without a GPU wrote results"
fi
"${clean[@]}" "$bundle/run.sh" --only nonsense >/dev/null 2>&1
[ $? = 64 ] || fail "an unknown step is not refused"
[ $failures = 0 ] && echo "bundle: works"
exit $((failures > 0))
