#!/usr/bin/env bash
# docs/examples/read_checkpoint.py reads checkpoints of real jobs: every checksum is right, and the master weights in the model's
# order have the weights_hash that the job printed, however they were cut and stored.
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
python=
for candidate in python3 /usr/bin/python3; do
  "$candidate" -c 'import xxhash' 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || { echo "SKIP: needs Python's xxhash (apt-get install python3-xxhash)"; exit 77; }

cat >"$work/hash.py" <<'END'
import struct, sys
import read_checkpoint, xxhash
folder = sys.argv[1]
manifest = read_checkpoint.read_manifest(folder)
LEAF = 1024  # elements; tensors begin at a leaf
digest = leaf = 0
for tensor in manifest["tensors"]:
    for state in tensor["states"]:
        values = read_checkpoint.read_tensor(folder, manifest, tensor, state)
        if state["name"] == "master":
            for first in range(0, len(values), LEAF):
                part = values[first : first + LEAF]
                digest += xxhash.xxh3_128_intdigest(struct.pack("<%df" % len(part), *part), seed=leaf)
                leaf += 1
        elif not any(values):
            sys.exit("nothing but zeros in the %s of %s" % (state["name"], tensor["name"]))
print("%032x" % (digest % 2**128))
END

# job WORLD NAME KEYS...: runs a job and compares the hash of its checkpoint with the one it printed
job() {
  run_job "$@" train.steps=3 "checkpoint.dir=$work/$2-saved"
  local wanted found
  wanted=$(summary_of "$2" weights_hash)
  found=$(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$DS_SOURCE/docs/examples timeout -s KILL 60 "$python" "$work/hash.py" "$work/$2-saved/step-00000003" 2>&1)
  [ ${#wanted} = 32 ] || fail "$2: no weights_hash"
  [ "$found" = "$wanted" ] || fail "$2: the checkpoint has $found, the job $wanted"
}
job 1 alone
job 2 replicated
job 2 sharded zero.stage=2
job 3 halves zero.stage=3 precision.dtype=bf16 precision.master=split16 determinism.virtual_ranks=3
job 2 files zero.stage=1 offload.optimizer.device=nvme "offload.optimizer.paths=[\"$work\"]" offload.optimizer.tile=16384

[ $failures = 0 ] && echo "checkpoints read by Python have the weights of their jobs"
exit $((failures > 0))
