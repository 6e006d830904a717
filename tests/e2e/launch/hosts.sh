#!/usr/bin/env bash
# Tests hosts and slots of a job: filters, placement, devices, several programs, slots=auto, and usage errors.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
unset CUDA_VISIBLE_DEVICES

# map ARGS...: "node/local_rank/slot" of every rank.
map() { "$dslaunch" --dry-run=json "$@" -- true | sed -nE 's/.*"node": "([^"]*)".*"local_rank": ([0-9]+), "slot": ([0-9]+).*/\1\/\2\/\3/p' | tr '\n' ' '; }
is() { [ "$2" = "$3" ] || die "$1: $2, not $3"; }

printf '# three nodes\nn[1-2] slots=2\nn3 /* old\n*/\n' >hosts
is 'all' "$(map --hostfile hosts)" 'n1/0/0 n1/1/1 n2/0/0 n2/1/1 n3/0/0 '
is 'include' "$(map --hostfile hosts -i n3@n1:1)" 'n1/0/1 n3/0/0 '
is 'exclude' "$(map --hostfile hosts -e 'n[1-2]:0@n3')" 'n1/0/1 n2/0/1 '
is 'host' "$(map --hostfile hosts --host n2,n1:1)" 'n1/0/0 n2/0/0 n2/1/1 '
is 'num_nodes' "$(map --hostfile hosts --num_nodes 1)" 'n1/0/0 n1/1/1 '
is 'num_gpus' "$(map --hostfile hosts --num_gpus 1)" 'n1/0/0 n2/0/0 n3/0/0 '
is 'by node' "$(map --hostfile hosts --map-by node -n 4)" 'n1/0/0 n2/0/0 n3/0/0 n1/1/1 '
is 'oversubscribe' "$(map --hostfile hosts --oversubscribe -n 7 | wc -w)" 7
is 'ppn' "$(map --host a,b --ppn 2)" 'a/0/0 a/1/1 b/0/0 b/1/1 '
is 'local' "$(map -np 2)" 'localhost/0/0 localhost/1/1 '

refused() {  # CODE TEXT ARGS...
  local code=$1 text=$2
  shift 2
  run "$@" -- touch started
  expect "$code" "$*"
  grep -qF -- "$text" err || die "$*: no '$text' in the message"
  [ ! -e started ] || die "$*: the program ran"
}
refused 65 'cannot read hostfile none' --hostfile none
refused 65 "--include names host 'jeff'" --hostfile hosts -i jeff
refused 65 '--include names slot 2 of n1' --hostfile hosts -i n1:2
refused 65 '--num-nodes 4: there are only 3 hosts' --hostfile hosts --num-nodes 4
refused 65 '6 ranks were requested, but 3 hosts have only 5 slots' --hostfile hosts -n 6
refused 64 '--include and --exclude cannot be combined' --hostfile hosts -i n1 -e n2
refused 64 "slots must be an integer, not 'x'" --hostfile hosts --host n1:x

# Devices: only where slots were chosen; a list that is there already is cut, not replaced.
visible='echo "$RANK:${CUDA_VISIBLE_DEVICES-unset}"'
seen() { "$dslaunch" "$@" -- sh -c "$visible" | sed 's/^\[[0-9]*\] //' | sort | tr '\n' ' '; }
is 'no choice' "$(seen -n 2)" '0:unset 1:unset '
is 'include' "$(CUDA_VISIBLE_DEVICES=4,5,6 seen -i localhost:0,2)" '0:4,6 1:4,6 '
is 'own' "$(CUDA_VISIBLE_DEVICES=4,5,6 seen -i localhost:0,2 --devices own)" '0:4 1:6 '
is 'kept' "$(CUDA_VISIBLE_DEVICES=4,5 seen -n 2)" '0:4,5 1:4,5 '
is 'num_gpus' "$(seen --num_gpus 2)" '0:0,1 1:0,1 '
is 'auto' "$(CUDA_VISIBLE_DEVICES=4,5,6 seen --host 'localhost:*')" '0:4,5,6 1:4,5,6 2:4,5,6 '
is 'cores' "$(CUDA_VISIBLE_DEVICES= taskset -c 0 "$dslaunch" --host localhost:auto --dry-run -- true | tail -n 1)" '1 rank on 1 node'
CUDA_VISIBLE_DEVICES=4 run -i localhost:0,2 -- true
expect 65 'a slot that is not there'
printf 'localhost gpus=0,2\n' >two
CUDA_VISIBLE_DEVICES=4 run --hostfile two -- true
expect 69 'a device that the environment does not leave'
grep -q 'localhost: slot 2 is chosen, but CUDA_VISIBLE_DEVICES there lists 1 device' err || die 'its message'

# Several programs: one job.
printf 'x slots=2\ny slots=2\n' >two
run --transport local --hostfile two -n 1 --role head -x A=1 -- sh -c 'echo "$RANK $ROLE_NAME $ROLE_RANK $ROLE_WORLD_SIZE $WORLD_SIZE $LOCAL_RANK $A"' \
  : --role tail -x A=2 --wdir / -- sh -c 'echo "$RANK $ROLE_NAME $ROLE_RANK $ROLE_WORLD_SIZE $WORLD_SIZE $LOCAL_RANK $A $PWD"'
expect 0 'several programs'
is 'programs' "$(sort out | tr '\n' ';')" '[0] 0 head 0 1 4 0 1;[1] 1 tail 0 3 4 1 2 /;[2] 2 tail 1 3 4 0 2 /;[3] 3 tail 2 3 4 1 2 /;'
run --transport local --hostfile two -n 2 -- true : -n 2 -- sh -c '[ $RANK = 2 ] && exit 7; sleep 60'
expect 7 'the failure of the second program'
# Programs of mpirun have hosts, variables and folders of their own.
seats() { "$dslaunch" as mpirun -do-not-launch "$@" | awk '$NF == "default" {printf "%s:%s ", $1, $2}'; }
printf 'a slots=2\nb slots=2\nc slots=4\n' >three
is 'hosts of programs' "$(seats -np 1 -host a x : -np 2 -host b:2 y)" '0:a 1:b 2:b '
is 'hosts of programs in a hostfile' "$(seats -hostfile three -np 1 -host c x : -np 2 -host b y)" '0:c 1:b 2:b '
is 'a program for all hosts' "$(seats -hostfile three -np 1 -host a x : -np 4 y)" '0:a 1:a 2:b 3:b 4:c '
is 'hosts of the second program alone' "$(seats -np 1 x : -np 1 -host c:2 y)" '0:c 1:c '
is 'ranks on each host' "$(seats -host a,b -N 1 x : -N 2 -host c:4,d:4 y)" '0:a 1:b 2:c 3:c 4:d 5:d '
is 'ranks by node' "$(seats -hostfile three -rank-by node -np 5 x : -np 1 y)" '0:a 1:b 2:c 3:a 4:b 5:c '
is 'span' "$(seats -hostfile three -map-by slot:span -np 4 x : -np 1 y)" '0:a 1:a 2:b 3:c 4:b '
is 'seq' "$(seats -host a,b,a -map-by seq x : -np 1 y)" '0:a 1:b 2:a '
own='echo "$RANK $A $PWD"'
run as mpirun -np 1 -x A=1 -wdir / sh -c "$own" : -np 1 sh -c "$own" : -np 1 -x A=3 -wdir /usr sh -c "$own"
expect 0 'programs of mpirun'
is 'programs of mpirun' "$(sort out | tr '\n' ';')" "0 1 /;1  $work;2 3 /usr;"
run as mpiexec.hydra -n 1 -env A 1 sh -c "$own" : -n 1 -genv A 2 sh -c "$own"
is 'variables of mpiexec' "$(sort out | tr '\n' ';')" "0 1 $work;1 2 $work;"
run -n 1 -- sh -c : name
expect 0 'an argument :'
run -n 1 -- sh -c 'echo a $RANK of $WORLD_SIZE' : -- sh -c 'echo b $RANK of $WORLD_SIZE'
expect 0 "a program without -n beside another one, on this machine"
grep -q 'b 1 of 2' out || die "a program without -n: $(cat out)"

echo 'hosts: filters, placement, devices and programs hold'
