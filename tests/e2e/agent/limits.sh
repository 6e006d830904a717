#!/usr/bin/env bash
# Tests that the launcher's soft limits reach ranks: raised up to the node's hard limits, never lowered; cores exactly.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
probe="$DS_TESTS/agent_probe"
hard=$(ulimit -Hn)
[ "$hard" = unlimited ] || [ "$hard" -ge 600 ] || { echo "skip: the hard limit of open files is $hard"; exit 77; }
ulimit -Sn 500

# open_files SENT: what a rank gets.
open_files() { "$probe" "$dslaunch" --limit "nofile=$1" -- bash -c 'ulimit -Sn' 2>&1 | grep -xE '[0-9]+|unlimited'; }
[ "$(open_files 600)" = 600 ] || die "not raised: $(open_files 600)"
[ "$(open_files 100)" = 500 ] || die "lowered: $(open_files 100)"
[ "$(open_files 18446744073709551615)" = "$hard" ] || die "not the hard limit"
[ "$("$probe" "$dslaunch" --limit core=0 -- bash -c 'ulimit -Sc' | grep -x 0)" = 0 ] || die "cores"
[ "$("$dslaunch" -- bash -c 'ulimit -Sn')" = 500 ] || die "a local rank"
echo "limits: 5 checks passed"
