#!/usr/bin/env bash
# --dry-run shows the map and starts nothing; a closed or full standard output is an error, not silence.
set -u
dslaunch="$DS_BIN/dslaunch"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
die() {
  echo "FAILED: $*"
  exit 1
}

printf 'node[01-02] slots=2\n' >hosts
expected='  RANK  NODE    NODE_RANK  LOCAL_RANK  SLOT
     0  node01          0           0     0
     1  node01          0           1     1
     2  node02          1           0     0
3 ranks on 2 nodes'
seen=$("$dslaunch" --hostfile hosts -n 3 --dry-run -- touch started) || die "table: exit $?"
[ "$seen" = "$expected" ] || die "table: $seen"
[ ! -e started ] || die "--dry-run started the program"

seen=$("$dslaunch" --hostfile - --dry-run=json -- touch started <hosts) || die "json: exit $?"
[ "$(grep -c '"rank"' <<<"$seen")" = 4 ] || die "json: $seen"
[ "$(tail -n 2 <<<"$seen" | head -n 1)" = \
  '  {"rank": 3, "node": "node02", "node_rank": 1, "local_rank": 1, "slot": 1, "role": "default"}' ] || die "json: $seen"

# For ssh h:22 would be a port; here 22 is a number of slots, and a warning says so.
for port in 22 2222; do
  "$dslaunch" -H "h:$port" --dry-run -- true 2>err | grep -q "^$port ranks on 1 node$" || die "-H h:$port"
  grep -qx "dslaunch: warning: --host h:$port means $port slots; to set a port, write port=$port in a hostfile" err ||
    die "warning: $(cat err)"
done
"$dslaunch" -H h:23 --dry-run -- true 2>err | grep -q '^23 ranks on 1 node$' || die "-H h:23"
[ ! -s err ] || die "-H h:23 warned: $(cat err)"

printf '[model]\n' >train.toml
"$dslaunch" -n 2 --dry-run train.toml train.steps=3 | grep -q '^2 ranks on 1 node$' || die "train form"

"$dslaunch" --dry-run -- true >/dev/full 2>err && die "a full standard output went unnoticed"
grep -q 'cannot write to standard output: No space left on device' err || die "message: $(cat err)"
echo "dry run: the map is shown and nothing is started"
