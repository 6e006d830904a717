#!/usr/bin/env bash
# From a fresh Debian 12 machine to a trained model: installs what is missing, builds, trains on real English text.
#
#   scripts/quickstart.sh           as root, or as a user with sudo
#
# Run again: packages, build and text are there already; only the training job runs.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
echo "== 1/4 packages"
scripts/install_packages.sh build text
echo "== 2/4 build"
scripts/build.sh release -DDS_BUILD_TESTS=OFF
echo "== 3/4 text"
scripts/fetch_text.sh
echo "== 4/4 train: dslaunch --hostfile hostfiles/local.hosts configs/quickstart.toml"
status=0
build/release/bin/dslaunch --hostfile hostfiles/local.hosts configs/quickstart.toml || status=$?
if [ "$status" -ne 0 ]; then
  echo "quickstart: FAILED, the job exited $status; the lines above name the cause" >&2
  exit "$status"
fi
echo "quickstart: OK"
