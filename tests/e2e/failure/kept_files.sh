#!/usr/bin/env bash
# Files that ranks of a training hand to their agents survive the ranks, and end with the agent. dsrunner is a program of the tests.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
. "$DS_SOURCE/tests/support/jobs.sh"
mkdir bin
cp "$dslaunch" bin/dslaunch
cp "$DS_TESTS/channel_rank" bin/dsrunner
dslaunch=$work/bin/dslaunch
echo '[train]' >train.toml
rows() { sed 's/^\[[^]]*\] *//' out | sort; }
fresh() { rm -f asked.* kept.* end.* last; }

# A rank dies by kill -9 as soon as it has handed in its file; then one exits. Names are replaced in each epoch.
echo kill >end.0.1
echo 5 >end.1.0
echo 2 >last
DROP=2 run -n 3 --max-restarts 2 --verdict verdict train.toml
expect 0 "two restarts"
[ "$(rows)" = "$(for epoch in 1 2; do for rank in 0 1 2; do for own in 0 1 2; do
  echo "epoch $epoch rank $rank: own.$own is share $own of epoch $((epoch - 1))"
done; done; done | sort)" ] || die "other files: $(rows)"

# Each node has its own files. Those of a lost agent are gone, and the spare has none.
fresh
printf 'n0 slots=2\nn1 slots=1\nn2 slots=1\n' >hosts
echo 1 >last
background --transport local --hostfile hosts --spares 1 --max-restarts 1 train.toml
wait_for files_there kept.0.0 kept.0.1 kept.0.2
parent() { awk '$1 == "PPid:" {print $2}' "/proc/$1/status"; }
rank2=$(for pid in $(pgrep -x dsrunner); do
  tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx RANK=2 && grep -qsF "$DS_TEST_COOKIE" "/proc/$pid/environ" && echo "$pid"
done)
kill -9 "$(parent "$(parent "$rank2")")"
finish
expect 0 "a lost node"
[ "$(rows)" = "epoch 1 rank 0: own.0 is share 0 of epoch 0
epoch 1 rank 0: own.1 is share 1 of epoch 0
epoch 1 rank 1: own.0 is share 0 of epoch 0
epoch 1 rank 1: own.1 is share 1 of epoch 0" ] || die "files after the loss of a node: $(rows)"

# What rank 0 tells is seen by clients.
fresh
detached -n 2 train.toml
kept_is() { [ "$(column kept "$id")" = "$1" ] && [ "$(column step "$id")" = "$2" ]; }
wait_for kept_is 9 10
"$dslaunch" kill "$id" --signal KILL --wait 2>/dev/null

# Any other program gets no channel.
run -n 1 -- bash -c '[ -z "${DSLAUNCH_RANK_CHANNEL:-}" ] && [ ! -e /proc/self/fd/3 ]'
expect 0 "a command"
nothing_left || die "left: $(job_processes)"
echo "ok: kept files survive ranks and end with their agent"
