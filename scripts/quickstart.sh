#!/usr/bin/env bash
# Takes a fresh Debian 12 machine to a trained model: installs missing packages, builds, trains on real English text.
#
#   scripts/quickstart.sh           as root, or as a user with sudo
#
# A second run skips packages, build and text, and only runs the training job.
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
  echo "quickstart: FAILED: the job exited with $status; see the lines above for the cause" >&2
  exit "$status"
fi
echo "quickstart: OK"
