#!/usr/bin/env bash
# Nodes that find each other: ranks by index, one verdict in all of them; training has the bits of one process.
set -u
. "$DS_SOURCE/tests/support/join_nodes.sh"

# Any start order: joiners before the root.
peers_of 4
for i in 3 1 2; do node $i --slots 2 -- unused; done
sleep 0.3
node 0 --slots 2 -- sh -c 'echo "$RANK of $WORLD_SIZE: $NODE_RANK $LOCAL_RANK ${DSLAUNCH_TOKEN-no token}"'
ends 0 0 1 2 3
for r in 0 1 2 3 4 5 6 7; do must_say 0 "[$r] $r of 8: $((r / 2)) $((r % 2)) no token"; done
for i in 0 1 2 3; do has_report $i '"exit_code":0' '"reason":"all ranks ended with 0"' '"rank":null'; done
cmp -s 0.log 3.log || die "reports differ"

# One slot each where there is no GPU, and a failing rank is the same end for all of them.
export CUDA_VISIBLE_DEVICES=
peers="$net.11,$net.12,$net.13"
for i in 0 1 2; do node $i -- sh -c '[ $RANK = 2 ] || exec sleep 60; echo "last words" >&2; exit 9'; done
ends 9 0 1 2
must_say 0 "rank 2 on $net.13: exited 9 (first failure)"
for i in 0 1 2; do
  has_report $i '"exit_code":9' '"rank":2' "\"node\":\"$net.13\"" '"checkpoint":null' '"last_lines":["last words"]'
done
nothing_left || die "left: $(job_processes)"

# Training on three nodes has the loss of one process.
find "$DS_SOURCE/launcher/hosts" -name '*.h' | LC_ALL=C sort | xargs cat >text
cat >train.toml <<'END'
[model]
preset = "gpt-tiny"
[data]
train = "text"
validation = 0
seq_len = 32
[batch]
micro = 2
[train]
steps = 6
[determinism]
virtual_ranks = 4
[log]
every = 1
[device]
threads = 1
backend = "cpu"
END
"$DS_BIN/dsrunner" train.toml log.dir=one >one.out 2>&1 || die "one process: $(cat one.out)"
for i in 0 1 2; do node $i train.toml log.dir=three; done
ends 0 0 1 2
hash_of() { sed -n 's/.*"weights_hash": *"\([0-9a-f]*\)".*/\1/p' "$1/summary.json"; }
[ "$(hash_of one)" = "$(hash_of three)" ] && [ -n "$(hash_of one)" ] ||
  die "weights: $(hash_of one) by one process, $(hash_of three) by three nodes"
has_report 2 '"step":6'

# A configuration that cannot be is one message, and all nodes end with its code.
for i in 0 1 2; do node $i train.toml model.layer=3; done
ends 65 0 1 2
must_say 0 "layer"
echo OK
