#!/usr/bin/env bash
# Tests the environment of a rank: variables, working folder, standard input, signals, descriptors.
set -u
. "$DS_SOURCE/tests/support/launch.sh"

export RANK=99 WORLD_SIZE=99 FROM_USER="a b'c\"d"
unset OMP_NUM_THREADS CUDA_VISIBLE_DEVICES
run -n 3 -- bash -c 'env -0 >"env.$RANK"'
expect 0 "environment"
# has RANK NAME VALUE
has() {
  tr '\0' '\n' <"env.$1" | grep -qxF "$2=$3" || die "rank $1: $2 is not $3, but $(tr '\0' '\n' <"env.$1" | grep "^$2=")"
}
for rank in 0 1 2; do
  has $rank RANK $rank
  has $rank LOCAL_RANK $rank
  has $rank WORLD_SIZE 3
  has $rank LOCAL_WORLD_SIZE 3
  has $rank LOCAL_SIZE 3
  has $rank NODE_RANK 0
  has $rank GROUP_RANK 0
  has $rank CROSS_RANK 0
  has $rank CROSS_SIZE 1
  has $rank MASTER_ADDR 127.0.0.1
  has $rank FROM_USER "$FROM_USER"
  tr '\0' '\n' <env.$rank | grep -qE '^MASTER_PORT=[0-9]+$' || die "rank $rank: no MASTER_PORT"
  tr '\0' '\n' <env.$rank | grep -qE '^OMP_NUM_THREADS=[1-9][0-9]*$' || die "rank $rank: no OMP_NUM_THREADS"
  tr '\0' '\n' <env.$rank | grep -qE '^DSLAUNCH_JOB_KEY=[0-9a-f]{64}$' || die "rank $rank: no DSLAUNCH_JOB_KEY"
done
# The same for all ranks.
for name in MASTER_PORT DSLAUNCH_JOB_KEY DSLAUNCH_JOB_ID DSLAUNCH_EPOCH; do
  [ "$(cat env.? | tr '\0' '\n' | grep "^$name=" | sort -u | wc -l)" = 1 ] || die "$name differs between ranks"
done
tr '\0' '\n' <env.0 | grep -q '^CUDA_VISIBLE_DEVICES=' && die "CUDA_VISIBLE_DEVICES appeared"

OMP_NUM_THREADS=5 CUDA_VISIBLE_DEVICES=3,1 run -n 2 -- bash -c 'env -0 >"env.$RANK"'
has 1 OMP_NUM_THREADS 5
has 1 CUDA_VISIBLE_DEVICES 3,1
run -n 2 -x GIVEN=value -x EMPTY= -x FROM_USER -- bash -c 'env -0 >"env.$RANK"'
expect 0 "-x"
has 1 GIVEN value
has 1 EMPTY ""
has 1 FROM_USER "$FROM_USER"

mkdir "a folder"
run -n 1 --wdir "a folder" -- pwd
[ "$(cat out)" = "$(pwd -P)/a folder" ] || die "--wdir"
run -n 1 --wdir /no/such/folder -- pwd
[ "$rc" != 0 ] && grep -q /no/such/folder err || die "a missing --wdir is not named"
run -n 1 -- pwd
[ "$(cat out)" = "$(pwd -P)" ] || die "the working folder is kept"

run -n 1 -- cat
expect 0 "standard input is empty"
(umask 027 && run -n 1 -- bash -c umask && [ "$(cat out)" = 0027 ]) || die "umask"
(ulimit -S -n 200 && run -n 1 -- bash -c 'ulimit -S -n' && [ "$(cat out)" = 200 ]) || die "limits"
run -n 1 -- bash -c 'ls /proc/self/fd | wc -l'
[ "$(cat out)" = 4 ] || die "descriptors: $(cat out), with the one of ls"
run -n 1 -- grep -E '^Sig(Blk|Ign)' /proc/self/status
[ "$(grep -c '0000000000000000$' out)" = 2 ] || die "signals are blocked or ignored"
# Ranks of a node share a session: see run_shim().
run -n 2 --prefix none -- bash -c 'read -r _ _ _ _ group session _ </proc/self/stat; [ "$group" = $$ ] && echo $session'
expect 0 "a process group of its own"
[ "$(sort -u out | wc -l)" = 1 ] || die "one session: $(cat out)"

# Arguments pass as they are.
run -n 1 -- printf '<%s>' 'a b' '' '$HOME' '*' $'new\nline' '"q"' ';'
[ "$(cat out)" = '<a b><><$HOME><*><new
line><"q"><;>' ] || die "arguments"

# The port is kept for the job, and the framework can still bind it.
echo "environment: the contract holds"
