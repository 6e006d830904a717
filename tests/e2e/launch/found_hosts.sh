#!/usr/bin/env bash
# Tests every world of tests/unit/sources/worlds with real files, variables and a host name in new namespaces:
# `dslaunch --dry-run` must print the hosts and their source, or the error.
set -u
dslaunch="$DS_BIN/dslaunch"
worlds="$DS_SOURCE/tests/unit/sources/worlds"

# The inner half: builds a root with the world's files and runs there.
if [ "${1:-}" = inside ]; then
  world=$2 root=$3
  shift 3
  set -e
  mount -t tmpfs tmpfs "$root"
  for folder in usr bin sbin lib lib64 proc dev; do
    [ -d "/$folder" ] || continue
    mkdir "$root/$folder"
    mount --rbind "/$folder" "$root/$folder"
  done
  mkdir -p "$root/etc" "$root/tmp" "$root/program" "$root/root"
  mount --bind "$DS_BIN" "$root/program"
  cp /etc/passwd /etc/nsswitch.conf "$root/etc/"
  [ -e /etc/ld.so.cache ] && cp /etc/ld.so.cache "$root/etc/"
  variables=()
  file=
  while IFS= read -r line; do
    case $line in
      '  '*) if [ -n "$file" ]; then printf '%s\n' "${line#  }" >>"$file"; fi ;;
      *)
        file=
        set -- $line
        case $line in
          'hostname '*) printf '%s' "$2" >/proc/sys/kernel/hostname ;;
          'env '*) variables+=("${line#env }") ;;
          'file '*)
            file="$root/${2#/}"
            mkdir -p "$(dirname "$file")"
            : >"$file"
            [ -z "${3:-}" ] || chmod "$3" "$file"
            ;;
        esac
        ;;
    esac
  done <"$world"
  # et-operator rewrites its file in place: at first it is empty, then a part of it is there, each for less than dslaunch takes for stable.
  if [ -n "${REWRITE:-}" ]; then
    cp "$root/etc/edl/hostfile" "$root/tmp/whole"
    : >"$root/etc/edl/hostfile"
    (
      for size in 4 9 14 19 23 28; do sleep 0.05; head -c $size "$root/tmp/whole" >"$root/etc/edl/hostfile"; done
      cat "$root/tmp/whole" >"$root/etc/edl/hostfile"
    ) &
  fi
  exec chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root "${variables[@]}" \
    /program/dslaunch --dry-run -- true
fi

unshare -mu true 2>/dev/null || {
  echo "skipped: no mount and host name spaces can be made here (needs root)"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/root"
failed=0
run() { # WORLD: out, err, code
  unshare -mu --propagation private bash "$0" inside "$1" "$work/root" >"$work/out" 2>"$work/err"
  code=$?
}
complain() {
  echo "FAILED: $1: $2 (exit $code)"
  cat "$work/out" "$work/err"
  failed=1
}

count=0
for world in "$worlds"/*.txt; do
  name=$(basename "$world" .txt)
  # What must come out, of the part below the line `hosts`.
  expected=$(awk '/^hosts$/ {on = 1; next} on && /^  / {print substr($0, 3); next} {on = 0}' "$world")
  [ -n "$expected" ] || continue
  # Hosts that would have to be asked, and a file that root can read, are for the unit test.
  if grep -q 'slots=auto' <<<"$expected" || grep -q '^unreadable' "$world"; then continue; fi
  count=$((count + 1))
  run "$world"
  first=${expected%%$'\n'*}
  case $first in
    'error (config): '*)
      [ "$code" = 65 ] || complain "$name" "not an error of the configuration"
      [ "$(cat "$work/err")" = "dslaunch: ${expected#error (config): }" ] || complain "$name" "another message"
      [ ! -s "$work/out" ] || complain "$name" "a map in spite of an error"
      ;;
    'this machine alone')
      [ "$code" = 0 ] && [ ! -s "$work/err" ] || complain "$name" "nothing was to be found here"
      grep -qx '1 rank on 1 node' "$work/out" || complain "$name" "not this machine alone"
      ;;
    *)
      [ "$code" = 0 ] && [ "$(cat "$work/err")" = "dslaunch: $first" ] || complain "$name" "another line"
      hosts=$(tail -n +2 <<<"$expected")
      ranks=$(awk -F= '{sum += $2} END {print sum}' <<<"$hosts")
      nodes=$(wc -l <<<"$hosts")
      grep -qE "^$ranks ranks? on $nodes nodes?\$" "$work/out" || complain "$name" "not $ranks ranks on $nodes nodes"
      while read -r host _; do
        grep -q " $host " "$work/out" || complain "$name" "no $host in the map"
      done <<<"$hosts"
      ;;
  esac
done
[ "$count" -ge 25 ] || { echo "FAILED: only $count worlds"; failed=1; }

export REWRITE=1
run "$worlds/etjob_elastic.txt"
[ "$code" = 0 ] && grep -qx '2 ranks on 2 nodes' "$work/out" || complain etjob_elastic "read while it was rewritten"
[ "$failed" = 0 ] || exit 1
echo "found hosts: $count worlds laid down, and a list that was rewritten meanwhile"
