#!/usr/bin/env bash
# dslaunch plan: figures, refusals, programs as text, wrong arguments. Needs no data.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
cat >train.toml <<'END'
[model]
preset = "gpt-tiny"
[data]
train = "no/such/text"
seq_len = 32
[batch]
micro = 2
accum = 2
[train]
steps = 10
[device]
threads = 1
END
# json KEY: prints the first number of that name
json() { sed -n "s/^ *\"$1\": \([0-9.e+]*\),\{0,1\}$/\1/p" out | head -1; }

run plan train.toml --nodes 2 --slots 2
expect 0 "a plan without data"
grep -q '^plan  *train.toml: .* 2 nodes x 2 slots' out || die "the job"
grep -q '^limits  *none given' out || die "no limits for machines that nobody knows"
for word in weights master moments gradients scratch "in the node" "between nodes" boundary step cheapest; do
  [ "$word" = master ] || grep -q "$word" out || die "the line of $word"
done
run plan --json train.toml --slots 2 precision.dtype=bf16
expect 0 "JSON"
grep -q '"fits": true' out || die "fits"
[ "$(json master)" -gt 0 ] || die "bytes of the master weights in bf16"

# Of many micro-batches, only the config's own choice is planned whole.
run plan train.toml batch.accum=40
expect 0 "many micro-batches"
grep -q '^other choices: bytes of memory estimated from plans of 8 micro-batches$' out || die "estimates are not named"

# The classes of a tier add up to the tier.
run plan train.toml
expect 0 "one rank"
! grep -q estimated out || die "2 micro-batches are estimated"
awk '/^  device/ {total = $2} /^    / {sum += $(NF - 2)} /^one step/ {exit} END {exit sum != total}' out ||
  die "the classes add up"
grep -q 'free on this machine' out || die "this machine's limits for a job of one node"

# Asynchronous saves keep a snapshot of the states in host memory: 12 bytes per parameter, and the writer's buffers.
saves=(checkpoint.dir=saves checkpoint.every=5)
run plan train.toml precision.dtype=bf16
states=$(awk '/^    (master|moments) /{sum += $2} END {print sum}' out)
run plan train.toml precision.dtype=bf16 "${saves[@]}"
expect 0 "a job that saves"
grep -qE "^    snapshot +$((states + (16 << 20))) " out || die "the bytes of a snapshot"
run plan --json train.toml precision.dtype=bf16 "${saves[@]}"
[ "$(json snapshot)" = $((states + (16 << 20))) ] || die "the same in JSON"
run plan --json train.toml precision.dtype=bf16 "${saves[@]}" --slots 4 determinism.virtual_ranks=4
[ "$(json snapshot)" -lt $((states / 4 + (17 << 20))) ] || die "of states that all ranks have, each saves a part"
run plan train.toml "${saves[@]}" checkpoint.async=false
! grep -q snapshot out || die "a save that training waits for takes none"
grep -qE "^    save buffers +$((16 << 20)) " out || die "only its buffers"
run plan train.toml "${saves[@]}" device.host_memory=$((16 << 20))
expect 65 "host memory without room for a snapshot"
grep -q '^dsrunner: the plan needs .* of host memory per rank, the limit is 16.0 MiB' err || die "why"
run plan train.toml "${saves[@]}" checkpoint.async=false device.host_memory=$((16 << 20))
expect 0 "the same without one"
run plan train.toml checkpoint.every=5
! grep -qE 'snapshot|save buffers' out || die "without a folder nothing is saved"

# Too large: the plan is printed, then what to change.
run plan train.toml --device-memory 1M
expect 65 "a device that is too small"
grep -q '^dsrunner: the plan needs .* of device memory per rank, the limit is 1.0 MiB' err || die "both numbers"
grep -q '^  hint: ' err || die "a hint"
grep -q '^cheapest\|no choice fits' out || die "the plan itself"
run plan train.toml --host-memory 1M --slots 4
expect 65 "a node that is too small"
grep -q 'memory per node' err || die "the node's memory"
run plan train.toml --host-memory 10G --slots 4
expect 0 "a node that is large enough"

# Rates.
run plan train.toml --rates flops=1T,link=1G --slots 2
expect 0 "rates"
grep -q 'all at the same time' out || die "the least time"
run plan train.toml --measure
expect 0 "measured rates"
grep -q '^  optimizer .* s$' out || die "the time of the optimizer"

run plan train.toml --deepspeed-estimate
expect 0 "DeepSpeed's estimate"
[ "$(grep -c 'zero_init' out)" = 3 ] || die "stage 3 without zero_init"

# Programs as text.
for pass in build differentiate recompute shard place; do
  run plan train.toml --print "$pass" --slots 2 --rank 1
  expect 0 "--print $pass"
  grep -q '^op ' out || die "ops after $pass"
done
grep -q '^place .* device at [0-9]' out || die "offsets"
nvme=(zero.stage=3 offload.optimizer.device=nvme offload.param.device=nvme 'offload.optimizer.paths=["/no/such/disk"]')
for pass in offload rotate; do
  run plan train.toml --print $pass --slots 2 "${nvme[@]}"
  expect 0 "--print $pass"
  grep -q '^op ' out || die "ops after $pass"
done
run plan train.toml --slots 2 "${nvme[@]}"
expect 0 "a plan for folders that are not here"
grep -q '^  nvme  *[1-9]' out || die "bytes in files"
grep -qE '^\* 3 .* nvme +nvme ' out || die "the line of the configuration's own choice"
for stage in 0 1 2 3; do grep -qE "^. $stage " out || die "choices of stage $stage"; done
run plan train.toml --print config train.steps=77
expect 0 "--print config"
grep -q '^steps = 77' out || die "the resolved file"

# "auto" is solved in the same way by the plan and by the job: one text, one device, less and less memory.
head -c 60000 "$DS_SOURCE"/docs/*.md >text 2>/dev/null
small=(train.toml data.train=text data.validation=0 data.seq_len=128 batch.micro=8 recompute.policy=auto)
policy() { sed -n 's/^auto  *recompute.policy = \([a-z]*\).*/\1/p' out; }
run plan "${small[@]}"
[ "$(policy)" = none ] || die "with room nothing is computed again"
least=$(($(sed -n 's/^  device  *\([0-9]*\) .*/\1/p' out) - 1))
run plan "${small[@]}" device.memory=$least
expect 0 "a little less room"
[ "$(policy)" = selective ] || die "with a little less room some is computed again"
run "${small[@]}" device.memory=$least train.steps=1 log.dir=run
expect 0 "the job with as much room"
grep -q '^policy = "selective"' run/config.toml || die "the job chooses as the plan does"
run plan train.toml --print config recompute.policy=auto
grep -q '^policy = "auto"' out || die "the configuration as it was given"

# A job that does not fit ends before any rank starts, on this machine and where only its configuration is known.
run -n 2 "${small[@]}" recompute.policy=none device.memory=$least
expect 65 "a job that does not fit"
grep -q '^dsrunner: the plan needs .*: .*recompute.policy=selective needs ' err || die "what to change"
! grep -q 'rank' <(grep -v dsrunner err) || die "no rank was started"
echo 'no-such-host.invalid slots=2' >hosts
run --hostfile hosts "${small[@]}" recompute.policy=none device.memory=$least
expect 65 "a job elsewhere that does not fit"

# Llama 1 on a node of 8 devices of 80 GiB and 512 GiB of host memory (docs/plan.md): what fits, and what would.
node=(--slots 8 --device-memory 80G --host-memory 512G precision.dtype=bf16 recompute.policy=block data.seq_len=2048 batch.micro=1
  batch.accum=1)
# llama CODE PRESET STAGE [KEY=VALUE...]
llama() {
  local code=$1 preset=$2 stage=$3
  shift 3
  sed "s/gpt-tiny/$preset/" train.toml >llama.toml
  run plan llama.toml "${node[@]}" zero.stage="$stage" "$@"
  expect "$code" "$preset at stage $stage $*"
}
llama 0 llama-7b 2
llama 0 llama-13b 2
llama 0 llama-30b 3
llama 65 llama-65b 3
grep -q 'limit is 80.0 GiB: offload.optimizer.device=nvme needs' err || die "what makes 65B fit"
llama 65 llama-65b 3 offload.optimizer.device=cpu
grep -q 'per node, the limit is 512.0 GiB' err || die "masters and moments of 65B do not fit into host memory"
llama 0 llama-65b 3 offload.optimizer.device=nvme offload.optimizer.paths=.

# An elastic job: every size with its kept states, four slots a rank on several nodes, two on one.
run plan train.toml --nodes 1:3 determinism.virtual_ranks=4 zero.stage=1
expect 0 "sizes"
grep -q '^ *3  *3  *67%' out || die "the efficiency of 4 virtual ranks on 3"
grep -q '^    kept states ' out || die "kept states are counted"
run plan train.toml --nodes 1:3 determinism.virtual_ranks=3
expect 0 "as many ranks as virtual ones"
run plan train.toml --nodes 1:3 determinism.virtual_ranks=3 zero.stage=1 --json
expect 0 "sizes as JSON"
python3 - out <<'END' || die "the sizes in the JSON"
import json, sys
sizes = json.load(open(sys.argv[1]))["sizes"]
assert [(s["nodes"], s["ranks"], s["fits"]) for s in sizes] == [(1, 1, True), (2, 2, True), (3, 3, True)], sizes
assert sizes[1]["efficiency"] == 0.75 and sizes[1]["kept_bytes"] > sizes[2]["kept_bytes"] > 0, sizes
bytes = [s["device_bytes"] + s["host_bytes"] for s in sizes]
print((max(bytes) + bytes[2]) // 2, file=open("limit", "w"))
END
run plan train.toml --nodes 1:3 determinism.virtual_ranks=3 zero.stage=1 --host-memory "$(cat limit)"
expect 65 "one node is too few"
"$dslaunch" plan train.toml --nodes 1:3 determinism.virtual_ranks=3 --host-memory 1M >both 2>&1
[ "$(grep -n '^dsrunner: ' both | cut -d: -f1)" -gt "$(grep -n '^plan ' both | cut -d: -f1)" ] || die "the plan comes after its error"
grep -q '1 node of --nodes MIN:MAX: the plan needs .* of memory per node, the limit is .* of each rank are kept states' err || die "which size, how many bytes"
run plan train.toml --nodes 2
! grep -q 'kept states' out || die "nothing is kept in a job of a fixed size"
run plan train.toml --nodes 2 elastic.every=5 --host-memory 1M
expect 65 "kept states that do not fit"
grep -q 'are kept states; elastic.every=0 needs ' err || die "what is too large"
# What the hint says is what the plan without kept states needs: the copy beside the step goes away, too.
hint=$(sed -n 's/.*elastic.every=0 needs \([^)]*\)).*/\1/p' err)
run plan train.toml --nodes 2 elastic.every=0 --host-memory 1M
grep -q "the plan needs \(at least \)\?$hint of memory per node, the limit is 1.0 MiB" err || die "elastic.every=0 does not need '$hint'"

# Wrong arguments.
run plan
expect 64 "no file"
run plan train.toml --nodes zero
expect 64 "a count that is none"
grep -q "must be\|integer" err || die "what is accepted"
run plan train.toml --device-memory lots
expect 64 "bytes that are none"
run plan train.toml --rates flops=fast
expect 64 "a rate that is none"
run plan train.toml --print nonsense
expect 64 "a pass that is none"
grep -q 'build, differentiate' err || die "the passes"
run plan train.toml --rank 1
expect 64 "a rank that is none"
run plan train.toml --nodse 2
expect 64 "an option that is none"
run plan nowhere.toml
expect 65 "a file that is none"
run plan train.toml train.stepz=2
expect 65 "a key that is none"
run plan --help
expect 0 "help"
grep -q -- '--device-memory' out || die "the options"
echo "ok"
