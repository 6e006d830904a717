#!/usr/bin/env bash
# Tests dslaunch copy and rcopy on separate hosts (network namespaces, each with a disk of its own): content, names, modes,
# equal files, and every failure that a user meets.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
netns_need
dir=$(mktemp -d)
trap 'netns_down; rm -rf "$dir"' EXIT
mkdir "$dir/disk" "$dir/full"
netns_start_lines="mount -t tmpfs none $dir/disk; mount -t tmpfs -o size=1m none $dir/full"
netns_up "$dir" 3 || exit 1
failures=0
fail() { echo "FAIL: $*"; sed 's/^/    /' "$dir/err"; failures=$((failures + 1)); }
# Runs dslaunch COMMAND HOSTS ARGS...
copy_to() {
  local command=$1 hosts=$2
  shift 2
  status=0
  (cd "$dir/source" && on_head timeout 50 "$DS_BIN/dslaunch" "$command" --ssh-config "$dir/ssh_config" -w "$hosts" "$@") \
    > "$dir/out" 2> "$dir/err" < /dev/null || status=$?
}
want() { # STATUS TEXT...: the exit code and what standard error contains
  local code=$1
  shift
  [ "$status" = "$code" ] || fail "exit $status, not $code"
  for text in "$@"; do grep -qF -- "$text" "$dir/err" || fail "no line: $text"; done
}
# Runs a command in the mount namespace of node N.
at() { local node=$1; shift; nsenter -m -t "$(cat "$dir/node$node/sshd.pid")" "$@"; }

# Runs dslaunch COMMAND ARGS... for a user of this machine whose home directory is missing.
homeless() {
  status=0
  (cd "$dir/source" && HOME=/no/such/home timeout 50 "$DS_BIN/dslaunch" "$1" -w localhost "${@:2}") \
    > "$dir/out" 2> "$dir/err" < /dev/null || status=$?
}

mkdir -p "$dir/source/tree/sub dir/deep"
cd "$dir/source" || exit 1
head -c 20000000 /dev/urandom > big
: > empty
echo odd > $'tree/a\nb "c" \\d'
for ((i = 0; i < 300; i++)); do echo "$i" > "tree/sub dir/$i"; done
ln -s /nowhere/else tree/link
chmod 640 tree/'sub dir'/7
chmod 555 tree/'sub dir'/deep
touch -d 2001-02-03 tree/'sub dir'/8

copy_to copy 'node[1-3]' big empty "$dir/disk/"
want 0 'dslaunch: 2 files to 3 of 3 nodes: 57.2 MiB'
for n in 1 2 3; do
  at $n cmp "$dir/source/big" "$dir/disk/big" && at $n test -f "$dir/disk/empty" || fail "node$n: content"
done
copy_to copy 'node[1-3]' big empty "$dir/disk"
want 0 'to 3 of 3 nodes: 0 bytes' '6 files were equal already'
at 2 sh -c "printf x | dd of=$dir/disk/big bs=1 seek=777 conv=notrunc 2> /dev/null"
copy_to copy 'node[1-3]' big "$dir/disk/"
want 0 'to 3 of 3 nodes: 19.1 MiB' '2 files were equal already'
at 2 cmp "$dir/source/big" "$dir/disk/big" || fail "the file that differed"
copy_to copy 'node[1-2]' big "$dir/disk/other"
want 0
at 1 cmp "$dir/source/big" "$dir/disk/other" || fail "a new name"
# With --quick, nodes pass on a file that they have not read.
copy_to copy 'node[1-2]' -p big "$dir/disk/quick"
copy_to copy 'node[1-3]' --tree 1 --quick -p big "$dir/disk/quick"
want 0 'to 3 of 3 nodes: ' '2 files were equal already'
! grep -q 'cannot get files from another node' "$dir/err" || fail "--quick: a node had no parent"
at 3 cmp "$dir/source/big" "$dir/disk/quick" || fail "--quick: content"

copy_to copy 'node[1-3]' -r -p tree "$dir/disk/"
want 0 '302 files'
# The two lists of names, modes, times and contents.
state() { (cd "$1" && find . -printf '%p %m %s %l\n' | sed 's/ 4096 / dir /; s/ [0-9]* $/ /' | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum); }
for n in 1 3; do
  [ "$(at $n bash -c "$(declare -f state); state $dir/disk/tree" | grep -v '^\. \|^\./sub' | sha256sum)" = \
    "$(state tree | grep -v '^\. \|^\./sub' | sha256sum)" ] || fail "node$n: the folder"
  at $n bash -c "cd '$dir/disk/tree/sub dir' && [ \$(stat -c %a 7) = 640 ] && [ \$(stat -c %a deep) = 555 ] && [ \$(date -r 8 +%Y) = 2001 ]" ||
    fail "node$n: modes and times"
  [ "$(at $n readlink "$dir/disk/tree/link")" = /nowhere/else ] || fail "node$n: the link"
done
copy_to copy node1 tree "$dir/disk/"
want 65 'cannot copy tree: is a folder; copy folders with -r'
copy_to copy node1 none "$dir/disk/"
want 65 'cannot copy none: No such file or directory'

mkdir special
echo x > special/file
mkfifo special/pipe
copy_to copy 'node[1-3]' -r special "$dir/disk/"
want 1 'dslaunch: skipped special/pipe: is not a file, folder or link' '1 file to 3 of 3 nodes'
at 3 test -f "$dir/disk/special/file" || fail "the file beside a pipe"
copy_to copy node1 special/pipe "$dir/disk/"
want 65 'cannot copy special/pipe: is not a file, folder or link'

# Failures of one node; the others go on.
at 2 rm -rf "$dir/disk/big"
at 2 mkdir "$dir/disk/big"
copy_to copy 'node[1-3]' big "$dir/disk/"
want 1 "dslaunch: node2: big: is a folder there" 'to 2 of 3 nodes'
copy_to copy 'node[1-3]' big "$dir/full/"
want 1 "dslaunch: node[1-3]: cannot write $dir/full/big: No space left on device"
at 1 sh -c "[ -z \"\$(ls -A $dir/full)\" ]" || fail "something was left on the full disk"
copy_to copy 'node[1-3]' big "$dir/disk/no/such/"
want 1 "cannot make the folder $dir/disk/no/such/: No such file or directory"
copy_to copy 'node[1-2]' big /proc/
want 1 'cannot write /proc/big: No such file or directory'
# As ssh does for a user without a home directory, with a line about it.
homeless copy big "$dir/at_home"
want 0 'Could not change to home directory /no/such/home: No such file or directory; this runs in /' '1 file to 1 of 1 node'
cmp "$dir/source/big" "$dir/at_home" || fail "a copy without a home directory"
homeless rcopy "$dir/at_home" "$dir/from_home"
want 0 '1 file from 1 of 1 node'
ip -n "$head_ns" link set leg3 down
copy_to copy 'node[1-3]' -t 1 empty "$dir/disk/second"
[ "$status" = 64 ] || fail "-t is no option of copy"
copy_to copy 'node[1-3]' --connect-timeout 1 empty "$dir/disk/second"
want 69 '1 of 3 nodes was not reached' 'to 2 of 3 nodes'
ip -n "$head_ns" link set leg3 up

# From all nodes.
for n in 1 2 3; do at $n sh -c "echo 'of node$n' > $dir/disk/log; echo x > '$dir/disk/with blank'"; done
copy_to rcopy 'node[1-3]' "$dir/disk/log" "$dir/disk/with blank" back
want 0 '2 files from 3 of 3 nodes'
[ "$(cat back/log.node2)" = "of node2" ] && [ -f "back/with blank.node3" ] || fail "rcopy"
copy_to rcopy 'node[1-3]' "$dir/disk/log" back
want 0 '3 files were equal already'
copy_to rcopy 'node[1-3]' -r "$dir/disk/tree" back
want 0
[ "$(state tree | sha256sum)" = "$(state back/tree.node3 | sha256sum)" ] || fail "rcopy of a folder"
copy_to rcopy 'node[1-3]' /proc/sys/kernel/ostype /proc/meminfo back
want 0 '2 files from 3 of 3 nodes'
[ "$(cat back/ostype.node3)" = Linux ] && grep -q MemTotal back/meminfo.node1 || fail "rcopy of /proc"
copy_to rcopy 'node[1-3]' "$dir/disk/l*" "$dir/disk/w*k" patterns
want 0 '2 files from 3 of 3 nodes'
[ "$(cat patterns/log.node2)" = "of node2" ] && [ -f "patterns/with blank.node3" ] || fail "rcopy with patterns"
copy_to rcopy node1 "$dir/disk/none*" patterns
want 1 "dslaunch: node1: $dir/disk/none*: No such file or directory"
copy_to rcopy node1 "$dir/disk/{log,none,with*}" braces
want 1 "dslaunch: node1: $dir/disk/none: No such file or directory"
[ "$(cat braces/log.node1)" = "of node1" ] && [ -f "braces/with blank.node1" ] || fail "rcopy with braces"
at 1 rm "$dir/disk/log"
copy_to rcopy 'node[1-3]' "$dir/disk/log" back
want 1 "dslaunch: node1: $dir/disk/log: No such file or directory"
# Files that grow while they are copied.
grow() { while [ ! -e "$dir/stop" ]; do echo line >> "$1"; done; }
begins_as() { cmp -s "$2" <(head -c "$(stat -c %s "$2")" "$1"); }
cp big growing
grow growing &
copy_to copy 'node[1-2]' growing "$dir/disk/sent"
touch "$dir/stop"
wait $!
want 0 'dslaunch: growing grew while it was copied; only its first '
at 2 bash -c "$(declare -f begins_as); begins_as '$dir/source/growing' '$dir/disk/sent'" || fail "copy of a file that grows"
rm "$dir/stop"
at 1 cp "$dir/source/big" "$dir/disk/growing"
at 1 bash -c "dir='$dir'; $(declare -f grow); grow '$dir/disk/growing'" &
copy_to rcopy node1 "$dir/disk/growing" back
touch "$dir/stop"
wait $!
want 0 'dslaunch: node1: growing grew while it was copied; only its first bytes were copied'
at 1 bash -c "$(declare -f begins_as); begins_as '$dir/disk/growing' '$dir/source/back/growing.node1'" || fail "rcopy of a file that grows"

copy_to rcopy node1
want 64 'a source or the target is missing'
copy_to rcopy 'node[1-3]' $(seq -f "$dir/disk/%0200g" 400) back
want 64 'the paths on the nodes take ' 'get the files with several commands, or their folder with -r'

[ "$failures" -eq 0 ] && echo "copy: all cases passed" || { echo "$failures failed"; exit 1; }
