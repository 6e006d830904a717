#!/usr/bin/env bash
# What `cmake --install` puts into a folder is whole: it works from there without the build folder's files.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
cmake --install "$(dirname "$DS_BIN")" --prefix "$work/here" >out 2>err || die "cmake --install"
cd "$work/here" || exit 1
for file in bin/dslaunch bin/dsrunner share/man/man1/dslaunch.1 share/bash-completion/completions/dslaunch \
  share/zsh/site-functions/_dslaunch share/fish/vendor_completions.d/dslaunch.fish share/dslaunch/configs/quickstart.toml \
  share/doc/dslaunch/hostfile.md; do
  [ -s "$file" ] || die "$file is missing"
done
find . -type f -perm /022 | grep . && die "others may write these"
# Every page that the manual and the help cite is there.
for page in $(grep -oE '[a-z_]+\.md' share/man/man1/dslaunch.1 | sort -u); do
  [ -s "share/doc/dslaunch/$page" ] || die "the manual cites $page, which is not installed"
done
grep -l "$DS_BIN" -r share && die "these name the build folder"

dslaunch=$work/here/bin/dslaunch
run -n 2 -- sh -c 'echo "rank $RANK of $WORLD_SIZE"'
expect 0 "a program"
[ "$(grep -c 'of 2' out)" = 2 ] || die "two ranks"

# The engine beside it is the one that runs, and a moved backend is found.
head -c 20000 /dev/zero | tr '\0' 'a' >"$work/text"
printf '%s\n' '[model]' 'preset = "gpt-tiny"' '[data]' "train = [\"$work/text\"]" 'seq_len = 32' '[batch]' 'micro = 1' 'accum = 1' \
  '[train]' 'steps = 2' '[device]' 'backend = "cpu"' >"$work/tiny.toml"
run -n 2 "$work/tiny.toml" log.dir="$work/run"
expect 0 "training"
grep -q 'done after 2 steps' out || die "it did not train"
# The launcher is copied to nodes where only the C library is there.
needs=$(readelf -d bin/dslaunch | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|ld-linux-.*)\.so\.[0-9]+$' | grep -vE '^lib(asan|tsan|ubsan|stdc\+\+|gcc_s)')
[ -z "$needs" ] || die "dslaunch needs $needs"
if compgen -G "$DS_BIN/libdsengine_cuda*.so" >/dev/null; then
  env -u DSLAUNCH_CUDA_PLUGIN bin/dsrunner --devices >out 2>err || die "dsrunner --devices"
  grep -q '^plugin: .*/lib/libdsengine_cuda' out || die "the CUDA backend is not found: $(cat out err)"
fi
if [ -e "$DS_BIN/libdsengine_parquet.so" ]; then
  env -u DSLAUNCH_PARQUET_PLUGIN bin/dslaunch data pack "$work/tiny.toml" data.format=parquet data.tokenizer=bytes \
    data.train="$DS_SOURCE/tests/golden/fixtures/parquet/zstd.parquet" data.cache="$work/cache" --out "$work/packed" >out 2>err || die "Parquet: $(cat out err)"
  readelf -d lib/libdsengine_parquet.so | grep -q 'R.*PATH.*\[$ORIGIN/dslaunch\]' || die "Arrow is not searched beside the reader: $(readelf -d lib/libdsengine_parquet.so)"
fi
echo "ok"
