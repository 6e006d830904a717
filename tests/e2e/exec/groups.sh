#!/usr/bin/env bash
# Tests node groups in host lists of `dslaunch exec` and in --host: sources, operators, commands of groups.conf, errors.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
fail() { echo "FAIL: $*"; sed 's/^/    /' "$dir/out" "$dir/err"; failures=$((failures + 1)); }
mkdir -p "$dir/home/.dsh/group" "$dir/conf/groups.d" "$dir/xdg"
export HOME=$dir/home CLUSTERSHELL_CFGDIR=$dir/conf XDG_CONFIG_HOME=$dir/xdg PDSH_GENDERS=$dir/genders
unset DSHGROUP_PATH WCOLL
printf 'w1\nw[2-3] # three\n#include more\n' > "$HOME/.dsh/group/web"
echo w9 > "$HOME/.dsh/group/more"
printf 'n[1-4] compute,rack=1\nn[5-8] compute,rack=2\nn8 spare\n' > "$PDSH_GENDERS"
cat > "$dir/conf/groups.conf" << 'C'
[Main]
default: script
autodir: $CFGDIR/groups.d
[script]
map: case $GROUP in big) echo 's[1-3]'; echo s9;; from) cat list;; broken) exit 4;; esac; echo "$SOURCE" >> ran
list: echo big from broken
C
echo 's7 s8' > "$dir/conf/list"
printf "roles:\n    io: 'r[1-4]'  # four\n    oss: '@io!r1'\n" > "$dir/conf/groups.d/site.yaml"

nodes() { # EXPECTED OPTIONS...
  local expected=$1
  shift
  timeout 20 "$DS_BIN/dslaunch" exec -n --here -N -f 4 "$@" -- echo %h > "$dir/out" 2> "$dir/err"
  [ "$(sort "$dir/out" | tr '\n' ' ')" = "$expected " ] || fail "$*: not $expected"
}
nodes 'w1 w2 w3 w9' -w @web
nodes 'n5 n6 n7' -g 'rack=2--spare'
nodes 'n1 n2 n3 n4 w1 w2 w3 w9' -w '@rack=1,@web'
nodes 's1 s2 s3 s9' -w @big
nodes 's7 s8' -w @script:from
nodes 'r2 r3 r4' -w @roles:oss
nodes 'n1 n3 n4' -w '@rack=1!n2'
nodes 'n8' -w '@compute&@spare'
nodes 'n1 n2 n5' -w 'n[1-3]^n[3,5]'
nodes 'n3 n4' -w @rack=1 -x 'n[1-3]!n3'
nodes 'n1 n2 n3 n4 n5 n6 n7 n8' -w '@*'
[ "$(sort -u "$dir/conf/ran")" = script ] || fail "the name of the source"

error() { # CODE PATTERN OPTIONS...
  local code=$1 pattern=$2
  shift 2
  timeout 20 "$DS_BIN/dslaunch" exec -n --here "$@" -- true > "$dir/out" 2> "$dir/err"
  [ $? = "$code" ] && grep -q -- "$pattern" "$dir/err" || fail "$*: not $code with $pattern"
}
error 64 'did you mean big?' -w @bug
error 64 "no group 'zz' in the source roles" -w @roles:zz
error 64 'known sources: dsh, genders, .*roles, script' -w @role:io
error 64 "groups.conf: the command 'map' of \[script\] failed with exit code 4" -w @broken
error 64 "genders query 'a||'" -g 'a||'
printf 'roles:\n  io: [a, b]\n' > "$dir/conf/groups.d/site.yaml"
error 64 'site.yaml:2:7: this YAML is not supported here' -w @big

# A job: each item is a group with its operators.
rm "$dir/conf/groups.d/site.yaml"
"$DS_BIN/dslaunch" --dry-run --host 'a:2,@rack=1!n[1-3],@spare' -- true > "$dir/out" 2> "$dir/err" || fail "--host with groups"
for host in a n4 n8; do grep -qw $host "$dir/out" || fail "--host: $host"; done
grep -qw 'n[123]' "$dir/out" && fail "--host: a host that is left out"
"$DS_BIN/dslaunch" --dry-run --host @bug -- true > "$dir/out" 2> "$dir/err"
[ $? = 64 ] && grep -q 'did you mean big?' "$dir/err" || fail "--host with an unknown group"
[ "$failures" -eq 0 ] && echo ok
exit "$failures"
