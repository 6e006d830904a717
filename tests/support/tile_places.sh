# Sourced by tests of files on disks: a work folder, faulty places, and the nameless files of a process.
# Needs: DS_TESTS. Gives: work, fail, note, failures, in_mounts, nameless_files, spoil_bytes, unlocked.
if [ -z "${work:-}" ]; then # train_ranks.sh has these too
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  failures=0
  fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
fi
note() { echo "not tried here: $*"; }

# in_mounts COMMAND...: in a mount namespace of its own, gone with the command; 125 where that is forbidden
in_mounts() {
  unshare -m --propagation private true 2>/dev/null || return 125
  unshare -m --propagation private "$@"
}

# nameless_files PID FOLDER: paths under /proc to the files of the process that lie in the folder
nameless_files() {
  local link
  for link in /proc/"$1"/fd/*; do
    case $(readlink "$link") in "$2"/*) echo "$link" ;; esac
  done
}

# spoil_bytes FILE OFFSET: eight bytes become others
spoil_bytes() { printf 'spoiled!' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

# unlocked KIB COMMAND...: may lock so much memory (root is exempt from the limit unless it gives up a capability)
unlocked() {
  local kib=$1
  shift
  local as=()
  [ "$(id -u)" -ne 0 ] || as=(setpriv --bounding-set -ipc_lock --)
  "${as[@]}" bash -c 'ulimit -l "$0"; exec "$@"' "$kib" "$@"
}
