#!/usr/bin/env bash
# torchrun --nnodes MIN:MAX --rdzv-backend c10d, started by hand on every node: the node of the endpoint is the root, the others join
# it by a key; one is killed, one joins later, one is told to end. Each refusal is one message.
set -u
. "$DS_SOURCE/tests/support/join_nodes.sh"
. "$DS_SOURCE/tests/support/epochs.sh"
. "$DS_SOURCE/tests/support/small_training.sh"
ln -s "$dslaunch" torchrun
port=29400
# torch NAME ADDRESS WORDS...: torchrun on the node of that address.
torch() {
  local name=$1
  setsid ./torchrun --local-addr "$2" --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint "$net.11:$port" --rdzv-id 77 "${@:3}" \
    >"$name.out" 2>&1 </dev/null &
  pids[$name]=$!
}
cat >body.sh <<'END'
[ "$TORCHELASTIC_RUN_ID" = 77 ] || exit 8
echo "epoch $DSLAUNCH_EPOCH rank $RANK of $WORLD_SIZE local $LOCAL_RANK of $LOCAL_WORLD_SIZE restarts $TORCHELASTIC_RESTART_COUNT/$TORCHELASTIC_MAX_RESTARTS"
: >up.$DSLAUNCH_EPOCH.$RANK
while [ ! -e go.$DSLAUNCH_EPOCH ]; do sleep 0.02; done
exit $(cat go.$DSLAUNCH_EPOCH)
END
chmod +x body.sh
words=(--no-python --shutdown-timeout 2 --max-restarts 2 bash "$work/body.sh")

# Joiners may be first. At MAX nodes the job begins at once.
torch 1 "$net.12" --nnodes 1:3 "${words[@]}"
torch 2 "$net.13" --nnodes 1:3 "${words[@]}"
sleep 0.3
torch 0 "$net.11" --nnodes 1:3 "${words[@]}"
wait_for epoch_is_up 0 6
for rank in 0 1 2 3 4 5; do must_say 0 "[$rank] epoch 0 rank $rank of 6 local $((rank % 2)) of 2 restarts 0/2"; done

# A killed node: the others go on without it. A rank that fails counts, the node does not.
kill -9 "${pids[2]}"
end_of 2 2>/dev/null
wait_for epoch_is_up 1 4
must_say 0 'epoch 1: 2 nodes and 4 ranks (before: 3 and 6)'
end_epoch 1 9
wait_for epoch_is_up 2 4
must_say 0 '[3] epoch 2 rank 3 of 4 local 1 of 2 restarts 1/2'

# torchrun on a node that was not there yet: the ranks are stopped for it.
torch 3 "$net.14" --nnodes 1:3 "${words[@]}"
wait_for epoch_is_up 3 6
must_say 0 "epoch 3: 3 nodes and 6 ranks (before: 2 and 4); $net.14 joins"

# TERM to one torchrun: that node leaves, and may come back.
kill -TERM "${pids[1]}"
ends 143 1
wait_for epoch_is_up 4 4
torch 1 "$net.12" --nnodes 1:3 "${words[@]}"
wait_for epoch_is_up 5 6
must_say 0 "epoch 5: 3 nodes and 6 ranks (before: 2 and 4); $net.12 joins"
end_epoch 5 0
ends 0 0 1 3
nothing_left || die "left: $(job_processes)"

# A fixed number of nodes without node ranks, and TERM to the root: the end of all.
rm -f up.* go.*
torch 1 "$net.12" --nnodes 2 "${words[@]}"
torch 0 "$net.11" --nnodes 2 "${words[@]}"
wait_for epoch_is_up 0 4
kill -TERM "${pids[0]}"
ends 143 0 1
nothing_left || die "left: $(job_processes)"

# A training has the steps of one process, whoever leaves and joins. The options come from variables, as in the pods of a PyTorchJob
# with an elasticPolicy.
if [ -x "$DS_BIN/dsrunner" ] && command -v python3 >/dev/null; then
  export DSLAUNCH_CUDA_PLUGIN=none
  find "$DS_SOURCE/launcher/hosts" -name '*.h' | LC_ALL=C sort | xargs cat >text
  small_training train.toml 200 4
  train_on() { # NAME ADDRESS
    PET_NNODES=1:3 PET_NPROC_PER_NODE=1 PET_RDZV_BACKEND=c10d PET_RDZV_ENDPOINT=$net.11:$port PET_RDZV_ID=77 \
      setsid ./torchrun --local-addr "$2" train.toml log.dir=run debug.slow_data=0:50 >"$1.out" 2>&1 </dev/null &
    pids[$1]=$!
  }
  step_of() { tail -c 20000 run/metrics.jsonl 2>/dev/null | grep -o '"step": *[0-9]*' | tail -n 1 | grep -o '[0-9]*$' || echo 0; }
  later_than() { [ "$(step_of)" -gt "$1" ]; }
  for i in 0 1 2; do train_on $i "$net.1$((i + 1))"; done
  wait_for later_than 10
  kill -9 "${pids[2]}"
  end_of 2 2>/dev/null
  wait_for said 0 'epoch 1: 2 nodes and 2 ranks'
  wait_for later_than $(($(step_of) + 5))
  train_on 3 "$net.14"
  wait_for said 0 "; $net.14 joins"
  wait_for later_than $(($(step_of) + 5))
  kill -TERM "${pids[1]}"
  ends 143 1
  ends 0 0 3
  must_say 0 'epoch 3: 2 nodes and 2 ranks'
  "$dslaunch" -n 1 train.toml log.dir=reference determinism.virtual_ranks=4 >out 2>&1 || die "the reference run"
  python3 "$DS_SOURCE/tests/e2e/elastic/check_history.py" reference run --batch 4 || die "the steps differ from those of one process"
  nothing_left || die "left: $(job_processes)"
fi

# refused CODE TEXT WORDS...: one message and its hint.
refused() {
  rc=0
  ./torchrun "${@:3}" >out 2>&1 </dev/null || rc=$?
  [ "$rc" = "$1" ] || die "exit code $rc, not $1: torchrun ${*:3}"
  grep -qF -- "$2" out || die "not said: $2"
  [ "$(wc -l <out)" -le 2 ] || die "too many words: $(cat out)"
}
c10d=(--rdzv-backend c10d --rdzv-endpoint "$net.11:$port")
refused 64 '--nnodes 3:2: MIN is greater than MAX' --nnodes 3:2 "${c10d[@]}" --no-python true
refused 64 '--rdzv-backend etcd is not supported' --nnodes 1:3 --rdzv-backend etcd --rdzv-endpoint "$net.11:$port" --no-python true
refused 64 '--nnodes 1:3 needs --rdzv-backend c10d' --nnodes 1:3 --no-python true
refused 64 '--nnodes 1:3 needs --rdzv-endpoint HOST:PORT' --nnodes 1:3 --rdzv-backend c10d --no-python true
unset DSLAUNCH_TOKEN
HOME=$work refused 65 'make one with: openssl rand -hex 32' --nnodes 1:3 "${c10d[@]}" --local-addr "$net.11" --no-python true
HOME=$work refused 65 'make one with: openssl rand -hex 32' --nnodes 1:3 "${c10d[@]}" --local-addr "$net.12" --no-python true
echo "torchrun: all cases passed"
