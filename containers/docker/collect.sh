#!/usr/bin/env bash
# Copies the files of this repository that an image needs into one folder.
#
#   containers/docker/collect.sh BUILD FOLDER       as in: collect.sh build/release /opt/dslaunch
#
# bin/: the programs, stripped, and the CUDA backend if it was built; configs/, hostfiles/; data/: the quickstart's text.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:?the build folder is missing} folder=${2:?the output folder is missing}

mkdir -p "$folder/bin" "$folder/data" "$folder/job"
for name in dslaunch dsrunner libdsengine_cuda.so libdsengine_cuda12.so; do
  [ ! -e "$build/bin/$name" ] || strip -o "$folder/bin/$name" "$build/bin/$name"
done
for name in dslaunch dsrunner; do
  [ -x "$folder/bin/$name" ] || { echo "collect: $build/bin/$name does not exist; build it first" >&2; exit 1; }
done
[ -e "$root/data/english.txt" ] || { echo "collect: data/english.txt does not exist; scripts/fetch_text.sh makes it" >&2; exit 1; }
cp -r "$root/configs" "$root/hostfiles" "$folder/"
cp "$root/data/english.txt" "$folder/data/"
cp "$root/README.md" "$folder/"  # configs/tiny.toml trains on it
