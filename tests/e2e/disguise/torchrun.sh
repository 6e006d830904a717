#!/usr/bin/env bash
# Tests a DDP script under dslaunch's torchrun: two "pods" of one rank with the variables of Kubeflow's torch runtime. The
# variables of ranks must equal those of PyTorch's torchrun.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
/usr/bin/python3 -c 'import torch.distributed as d; assert d.is_available()' 2>/dev/null ||
  { echo "SKIP: Debian's python3-torch is not installed"; exit 77; }
export PYTHON_EXEC=/usr/bin/python3 OMP_NUM_THREADS=1
ln -s "$dslaunch" torchrun
port=$((20000 + $$ % 10000))

# pod INDEX RANKS WORDS...: our torchrun as in the pod of this index.
pod() {
  local index=$1 ranks=$2
  shift 2
  PET_NNODES=2 PET_NPROC_PER_NODE=$ranks PET_NODE_RANK=$index PET_MASTER_ADDR=127.0.0.1 PET_MASTER_PORT=$port \
    ./torchrun "$@" >"out$index" 2>"err$index" </dev/null
}
pod 1 1 "$DS_SOURCE/tests/e2e/ssh/train_ddp.py" &
second=$!
pod 0 1 "$DS_SOURCE/tests/e2e/ssh/train_ddp.py"
first_rc=$?
wait "$second"
second_rc=$?
cat out0 out1 >out
cat err0 err1 >err
[ "$first_rc $second_rc" = '0 0' ] || die "DDP: exit codes $first_rc and $second_rc"
for rank in 0 1; do
  grep -q "^\[$rank\] rank $rank of 2: loss" "out$rank" || die "rank $rank has not ended its training"
done
[ "$(sed 's/.*weights //' out | sort -u | wc -l)" = 1 ] || die 'the ranks have different weights'

# The same words to both launchers, on one node and as the second of two.
place="$DS_SOURCE/tests/e2e/disguise/place.py"
words=(--nproc_per_node 2 --master_port "$port" --rdzv_id abc --role trainer --max_restarts 3 --monitor_interval 0.2)
./torchrun "${words[@]}" "$place" ours a 'b c' >out 2>err || die 'our torchrun'
# torchrun 1.13 fails on Python 3.11 without -r and -t.
PYTHONPATH= /usr/bin/torchrun -r 1 -t 1 --log_dir logs "${words[@]}" "$place" theirs a 'b c' >out 2>err || die "PyTorch's torchrun"
for rank in 0 1; do
  diff "ours.$rank" "theirs.$rank" >out || die "rank $rank is told something else than by PyTorch's torchrun"
done
pod 1 2 --rdzv_id abc "$place" part || die 'the second of two'
[ "$(grep -E '^(RANK|ROLE_RANK|WORLD_SIZE|GROUP_RANK)=' part.3 | tr '\n' ' ')" = 'RANK=3 WORLD_SIZE=4 GROUP_RANK=1 ROLE_RANK=3 ' ] ||
  die "rank 3: $(cat part.3)"
echo "torchrun: two pods train one model; ranks are told what PyTorch's torchrun tells them"
