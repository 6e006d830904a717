#!/usr/bin/env bash
# Compares dslaunch under the names pdcp and rpdcp with the real programs, on hosts in network namespaces with a disk each:
# names, kinds, modes, sizes and contents of what lies there afterwards, and with -p the times.
#   same_as_pdcp.sh --table    also prints the rows of same_as_pdcp_results.md
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
command -v pdcp > /dev/null || { echo "SKIP: pdcp is not installed (scripts/install_packages.sh test)"; exit 77; }
netns_need
table=${1:-}
dir=$(mktemp -d)
trap 'netns_down; rm -rf "$dir"' EXIT
mkdir "$dir/disk" "$dir/bin" "$dir/source"
netns_start_lines="mount -t tmpfs none $dir/disk"
netns_up "$dir" 3 || exit 1
for name in pdcp rpdcp; do ln -s "$DS_BIN/dslaunch" "$dir/bin/$name"; done
export PDSH_RCMD_TYPE=ssh PDSH_SSH_ARGS_APPEND="-F $dir/ssh_config"
unset WCOLL FANOUT
failures=0
compared=0
at() { local node=$1; shift; nsenter -m -t "$(cat "$dir/node$node/sshd.pid")" "$@"; }

cd "$dir/source" || exit 1
head -c 3000000 /dev/urandom > big
: > empty
mkdir -p 'tree/sub dir/deep'
for ((i = 0; i < 40; i++)); do echo "$i" > "tree/sub dir/$i"; done
echo plain > tree/plain
chmod 640 'tree/sub dir/7'
chmod 711 'tree/sub dir/9'
echo x > program
chmod 4711 program
chmod 555 'tree/sub dir/deep'
touch -d 2001-02-03 'tree/sub dir/8' 'tree/sub dir/deep' big
echo node1,node3 > wcoll
printf 'node[1-2] web\nnode3 db\n' > genders

# What lies below a folder: a line for each name; for files the digest, with -p the time.
state() { # FOLDER TIME
  (cd "$1" 2> /dev/null && find . -mindepth 1 -printf "%p %y %m $2\n" | sort && find . -type f -print0 | sort -z | xargs -0r md5sum)
}
state_there() { local node=$1 folder=$2 time=$3; at "$node" bash -c "$(declare -f state); state '$folder' '$time'"; }
# Empties the folder of a side on all hosts and puts there what the test needs.
prepare() {
  for n in 1 2 3; do
    at $n sh -c "rm -rf $dir/disk/*; mkdir $dir/disk/to $dir/disk/from; cp -a $dir/source/tree $dir/disk/from; echo $n > $dir/disk/from/log; touch -d 2002-01-0$n $dir/disk/from/log; echo old > $dir/disk/to/known; touch -d 2003-01-01 $dir/disk/to/known"
  done
  rm -rf "$dir/back"
  mkdir "$dir/back"
}
run_side() { # SIDE NAME WORDS...
  local side=$1 program=$2 time=
  shift 2
  prepare
  case " $*" in *' -p'*|*' -rp'*) time=%TY%Tm%Td%TH%TM%.2TS ;; esac
  [ "$side" = theirs ] || program=$dir/bin/$program
  on_head timeout 50 "$program" "$@" > "$dir/$side.said" 2>&1 < "${input:-/dev/null}" || echo "exit code $?" >> "$dir/$side.said"
  { for n in 1 2 3; do echo "node$n"; state_there $n "$dir/disk/to" "$time"; done
    echo head; state "$dir/back" "$time"; } > "$dir/$side"
}
same() { # NAME WORDS...
  local equal=equal
  run_side theirs "$@"
  run_side ours "$@"
  compared=$((compared + 1))
  cmp -s "$dir/theirs" "$dir/ours" || equal=DIFFERENT
  # Both could have failed.
  [ "$(wc -l < "$dir/ours")" -gt "$before" ] || [ -n "$nothing" ] || equal="NOTHING COPIED"
  [ "$table" = --table ] && echo "| \`$(echo "$*" | sed "s|$dir/||g")\` | $equal |"
  [ "$equal" = equal ] && return
  failures=$((failures + 1))
  echo "FAIL: $*"
  diff "$dir/theirs" "$dir/ours" | head -20 | sed 's/^/    /'
  sed 's/^/    said: /' "$dir/theirs.said" "$dir/ours.said" | head -20
}

to=$dir/disk/to
nothing=yes before=0
run_side ours pdcp -w node1 missing "$to"
before=$(wc -l < "$dir/ours") nothing= # lines about what lies there already
same pdcp -w 'node[1-3]' big "$to"
same pdcp -w 'node[1-3]' big "$to/"
same pdcp -w 'node[1-3]' big "$to/new"
same pdcp -w 'node[1-3]' big empty wcoll "$to"
same pdcp -p -w 'node[1-3]' big empty program "$to"
same pdcp -r -w 'node[1-3]' tree "$to"
same pdcp -rp -w 'node[1-3]' tree "$to"
same pdcp -r -p -w 'node[1-3]' tree big "$to"
same pdcp -w 'node[1-3],-node2' empty "$to"
same pdcp -w 'node[1-3]' -x node1 empty "$to"
same pdcp -w root@node1,node2 -l root empty "$to"
same pdcp -w 'node[1-3],/[13]$/' -f 1 -t 5 -u 20 empty "$to"
same pdcp -w node2 -e "$(command -v pdcp)" -b -N empty "$to"
same pdcp -F "$dir/source/genders" -g web empty "$to"
same pdcp -F "$dir/source/genders" -A -X db empty "$to"
WCOLL=wcoll same pdcp empty "$to"
input=$dir/source/wcoll same pdcp -w - empty "$to"
same pdcp -w node1 'tree/sub dir/9' "$to"
from=$dir/disk/from
same rpdcp -w 'node[1-3]' "$from/log" "$dir/back"
same rpdcp -w 'node[1-3]' "$from/log" "$from/tree/plain" "$dir/back"
same rpdcp -p -w 'node[1-3]' "$from/log" "$dir/back"
same rpdcp -r -w 'node[1,3]' "$from/tree" "$dir/back"
same rpdcp -rp -w 'node[1-3]' "$from/tree" "$from/log" "$dir/back"
same rpdcp -w node2 "$from/log" "$dir/back"
same rpdcp -w 'node[1-3]' "$from/l?g" "$from/tree/[op]*" "$dir/back"
same rpdcp -r -w 'node[1-3]' "$from/{tree,log}" "$dir/back"
# Nothing is written by either.
nothing=yes
same pdcp -w node1 missing "$to"
same pdcp -w node1 tree "$to"
same rpdcp -w node1 "$from/missing" "$dir/back"
same rpdcp -w node1 "$from/missing*" "$dir/back"

echo "$compared command lines compared, $failures differ"
[ "$failures" -eq 0 ]
