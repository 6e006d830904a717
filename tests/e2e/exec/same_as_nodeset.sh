#!/usr/bin/env bash
# Compares the hosts of node groups with those of ClusterShell's nodeset, on groups.conf, files of confdir and YAML files.
#   same_as_nodeset.sh --table    also prints the rows of same_as_pdsh_results.md
set -u
nodeset --version > /dev/null 2>&1 || { echo "SKIP: ClusterShell is not installed (apt-get install clustershell)"; exit 77; }
table=${1:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
compared=0
# same WORDS...: the command of ClusterShell that wrote $dir/theirs; dslaunch has written $dir/ours.
same() {
  local result=equal
  compared=$((compared + 1))
  if [ ! -s "$dir/theirs" ] || ! cmp -s "$dir/theirs" "$dir/ours"; then
    result=DIFFERENT
    failures=$((failures + 1))
    echo "FAIL: $*"
    diff "$dir/theirs" "$dir/ours" | head -20
    cat "$dir/err"
  fi
  [ "$table" = --table ] && echo "| \`$*\` | $result |"
  return 0
}
same_nodes() {
  nodeset -e "$1" 2> "$dir/err" | tr ' ' '\n' | sort > "$dir/theirs"
  "$DS_BIN/dslaunch" exec -n --here -N -w "$1" -- echo %h 2>> "$dir/err" | sort > "$dir/ours"
  same nodeset -e "'$1'"
}
same_clush() {
  clush --worker=exec "$@" echo %h 2> "$dir/err" < /dev/null | sort > "$dir/theirs"
  "$DS_BIN/dslaunch" exec -n --here "$@" -- echo %h 2>> "$dir/err" | sort > "$dir/ours"
  same clush --worker=exec "$@" echo %h
}

export CLUSTERSHELL_CFGDIR=$dir/clustershell HOME=$dir/home
mkdir -p "$CLUSTERSHELL_CFGDIR/groups.d" "$CLUSTERSHELL_CFGDIR/groups.conf.d" "$HOME"
cat > "$CLUSTERSHELL_CFGDIR/groups.conf" << 'C'
[Main]
default: local
confdir: $CFGDIR/groups.conf.d
autodir: $CFGDIR/groups.d
[local]
map: sed -n 's/^$GROUP:\(.*\)/\1/p' $CFGDIR/local.cfg
all: sed -n 's/^all:\(.*\)/\1/p' $CFGDIR/local.cfg
list: sed -n 's/^\([0-9A-Za-z_-]*\):.*/\1/p' $CFGDIR/local.cfg
C
printf '[letters,numbers]\nmap: test $SOURCE = letters && echo l-$GROUP ||\n  echo n-$GROUP[1-2]\nlist: echo a b\n' > "$CLUSTERSHELL_CFGDIR/groups.conf.d/more.conf"
printf '%s\n' 'adm: example0' 'oss: example4 example5' 'mds: example6' 'io: example[4-6]' 'compute: example[32-159]' 'gpu: example[156-159]' \
  'all: example[4-6,32-159]' 'both: @oss,@gpu' > "$CLUSTERSHELL_CFGDIR/local.cfg"
cp /etc/clustershell/groups.d/cluster.yaml.example "$CLUSTERSHELL_CFGDIR/groups.d/cluster.yaml"
for nodes in @oss @local:io @compute '@*' @both '@compute!@gpu' '@io&@oss' '@io^@oss' '@oss,@mds,example9!example4' '@compute&@gpu!example158' \
  @roles:adm @roles:io @roles:compute '@roles:*' @racks:old '@racks:rack[1-2]' '@racks:rack5' @cpu:hsw '@racks:*' '@cpu:*' '@letters:a' '@numbers:*' \
  'n[1-5]!n2,n2' 'n[1-3]^n[3-4]' 'n[0-10/5,3]' 'r[1-3/2]n[08-11/2]!r1n8' '@racks:rack[1-2/1]'; do same_nodes "$nodes"; done
same_clush -w '@io,@gpu!@oss'
same_clush -N -w @roles:compute -x @gpu
same_clush -g gpu
echo "$compared lists compared, $failures differ"
[ "$failures" -eq 0 ]
