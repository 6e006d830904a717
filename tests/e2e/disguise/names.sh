#!/usr/bin/env bash
# Tests names and `dslaunch as`: deepspeed's ranks, parts without ssh, train.toml under torchrun, refused options.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
export PYTHON_EXEC=/usr/bin/python3
mkdir bin
for name in torchrun deepspeed mpirun mpiexec mpiexec.hydra mpirun.mpich; do ln -s "$dslaunch" "bin/$name"; done

for words in 'torchrun --version' 'deepspeed --version' 'mpirun --version' 'mpiexec -V' 'mpiexec.hydra -n 2 -version' 'mpirun.mpich -version'; do
  name=${words%% *}
  # shellcheck disable=SC2086
  bin/$words >out 2>err || die "$words"
  [ "$(head -n 1 out)" = "$name: $("$dslaunch" --version)" ] || die "$words: the version"
  grep -q '^dslaunch answers to the names torchrun, .*, mpiexec.hydra, .*, mpiexec.mpich$' out || die "$words: the names"
done
for name in torchrun deepspeed mpirun mpiexec mpiexec.hydra; do
  "bin/$name" --help | grep -q "^dslaunch as $name: " || die "$name --help"
done
run as --print torchrun --nproc-per-node 2 't w.py'
expect 0 'as --print'
[ "$(cat out)" = "dslaunch --part 0/1:none -n 2 --one-program -- /usr/bin/python3 -u 't w.py'" ] || die 'as --print'
for words in 'as' 'as torchrum x' 'as torchrun --nope x' 'as mpirun -np' 'as deepspeed --autotuning run x'; do
  # shellcheck disable=SC2086
  run $words
  expect 64 "$words"
  [ "$(wc -l <err)" = 2 ] || die "$words: not one line and a hint"
done

PET_NNODES=2 PET_NODE_RANK=1 PET_MASTER_ADDR=nowhere.invalid PET_MASTER_PORT=1 bin/torchrun --no-python sleep 2 >out 2>err
grep -q '^dslaunch: warning: nowhere.invalid cannot be resolved yet' err || die 'a master without an address'

# Nobody sees what is given to ranks.
bin/mpirun -np 1 -x PLAIN=geheim-1 -genv OTHER geheim-2 sh -c 'echo "$PLAIN $OTHER"; exec sleep 60' >out 2>err </dev/null &
launcher=$!
wait_for grep -q 'geheim-1 geheim-2' out
tr '\0' ' ' <"/proc/$launcher/cmdline" | grep geheim && die 'a value is in the command line'
kill "$launcher"
wait "$launcher"
launcher=

# deepspeed: --local_rank behind the script; one node of a list without ssh.
cat >show.py <<'P'
import os, sys
print(os.environ["RANK"], os.environ["WORLD_SIZE"], os.environ["NODE_RANK"], sys.argv[1:])
P
bin/deepspeed --num_gpus 2 show.py --x 'a b' >out 2>err || die deepspeed
[ "$(sort out | tr '\n' ';')" = "[0] 0 2 0 ['--local_rank=0', '--x', 'a b'];[1] 1 2 0 ['--local_rank=1', '--x', 'a b'];" ] ||
  die 'deepspeed: what ranks see'
printf 'w0 slots=2\nw1 slots=1\n' >hosts
bin/deepspeed -H hosts --no_ssh --node_rank 1 --master_addr 127.0.0.1 show.py >out 2>err || die 'deepspeed --no_ssh'
[ "$(cat out)" = "[2] 2 3 1 ['--local_rank=0']" ] || die 'deepspeed --no_ssh: what the rank sees'

# Two nodes without a secret train one model of our own engine.
if [ -x "$DS_BIN/dsrunner" ]; then
  port=$((20000 + $$ % 10000))
  part() {
    PET_NNODES=2 PET_NODE_RANK=$1 PET_MASTER_ADDR=127.0.0.1 PET_MASTER_PORT=$port bin/torchrun \
      "$DS_SOURCE/configs/tiny.toml" train.steps=6 log.dir="$work/run" >"out$1" 2>"err$1" </dev/null
  }
  part 1 &
  second=$!
  part 0 || { cat out0 err0 err1; die 'node 0 of train.toml'; }
  wait "$second" || { cat out1 err1; die 'node 1 of train.toml'; }
fi
echo 'names: five launchers'
