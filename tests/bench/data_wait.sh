#!/usr/bin/env bash
# How long training waits for its data: the share of phase `data` in the time of all steps (docs/metrics.md), with files in the page
# cache, and with a token file on a disk that takes DELAY for each read (nbdkit's delay filter, mounted by nbdfuse; as root).
# By hand: tests/bench/data_wait.sh [STEPS], with the release build. Debian packages: nbdkit libnbd-bin fuse3 python3
. "$(dirname "$0")/../support/train_ranks.sh" || exit 1
steps=${1:-100}
export XDG_CACHE_HOME=$work/cache
mounts=()
unmount() {
  local folder
  for folder in "${mounts[@]}"; do fusermount3 -u "$folder" 2>/dev/null; done
  mounts=()
}
trap 'kill -9 "${pids[@]}" 2>/dev/null; unmount; finish' EXIT

mkdir "$work/gpt2"
cp "$DS_SOURCE/tests/golden/fixtures/tokenizers/gpt2.json" "$work/gpt2/tokenizer.json"
# Token files of zeros, which take no space: 10^9 tokens as one document (llm.c), and 10^6 documents of 400 tokens (Megatron). They
# are so large that no window is read twice.
python3 - "$work" "$DS_SOURCE" <<'END'
import array, glob, json, struct, sys
work, source = sys.argv[1:]
with open(work + "/one.bin", "wb") as file:
    file.write(struct.pack("<256i", 20240520, 1, 10**9, *[0] * 253))
    file.truncate(1024 + 2 * 10**9)
with open(work + "/many.bin", "wb") as file:
    file.truncate(2 * 400 * 10**6)
with open(work + "/many.idx", "wb") as file:
    file.write(b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, 10**6, 10**6 + 1))
    array.array("i", [400] * 10**6).tofile(file)
    array.array("q", range(0, 800 * 10**6, 800)).tofile(file)
    array.array("q", range(10**6 + 1)).tofile(file)
with open(work + "/lines.jsonl", "w") as file:
    for name in sorted(glob.glob(source + "/engine/*/*.cpp")):
        text = open(name).read()
        for at in range(0, len(text) - 600, 600):
            print(json.dumps({"text": text[at:at + 600], "prompt": text[at:at + 300], "response": text[at + 300:at + 600]}), file=file)
END
common=(model.layers=6 model.hidden=128 model.heads=4 data.seq_len=128 batch.micro=4 train.steps="$steps" log.every=10)

# measure WHAT DELAY KEYS...: trains on 2 ranks and prints a line of the table
measure() {
  run_job 2 job "${common[@]}" "${@:3}"
  tr -d '\n {}' <"$work/job/summary.json" | sed 's/.*"phases":"/"/; s/"//g' | tr , '\n' |
    awk -F : -v what="$1" -v delay="$2" -v steps="$steps" -v says="$(sed -n 's/^\(waited for data .* time\).*/"\1"/p' "$work/job.0.out")" '
      NF == 2 { sum += $2; if ($1 == "data") data = $2 }
      END { printf "| %s | %s | %.0f | %.2f | %s |\n", what, delay, 1000 * sum / steps, 100 * data / sum, says == "" ? "nothing" : says }'
}
# slow FILE MS: serves the file as $work/slow/FILE, each read of which takes MS
slow() {
  mkdir -p "$work/slow"
  nbdfuse -r "$work/slow/$1" [ nbdkit -r --filter=delay file "$work/$1" rdelay="$2ms" ] >"$work/nbd.out" 2>&1 &
  mounts=("$work/slow")
  wait_for 10 test -s "$work/slow/$1" || { echo "skipped: nbdfuse: $(cat "$work/nbd.out")"; exit 77; }
}

echo "| data | delay of a read | ms per step | waited for data, % | the job says |"
echo "|---|---|---|---|---|"
tokens=(data.format=tokens model.vocab=8192)
measure "tokens, rows cut" none "${tokens[@]}" data.train="$work/one.bin"
measure "tokens, whole documents" none "${tokens[@]}" data.train="$work/many.bin" data.rows=whole
measure "JSONL, rows cut" none data.format=jsonl data.tokenizer="$work/gpt2" data.train="$work/lines.jsonl"
measure "JSONL, prompts and answers" none data.format=jsonl data.task=response data.tokenizer="$work/gpt2" data.train="$work/lines.jsonl"
command -v nbdfuse >/dev/null && command -v nbdkit >/dev/null || { echo "without a slow disk: needs nbdkit and nbdfuse"; exit $((failures > 0)); }
for delay in 20 50; do
  slow one.bin $delay
  measure "tokens, rows cut" "$delay ms" "${tokens[@]}" data.train="$work/slow/one.bin"
  unmount
  slow many.bin $delay
  ln -sf "$work/slow/many.bin" "$work/linked.bin"
  ln -sf "$work/many.idx" "$work/linked.idx"
  measure "tokens, whole documents" "$delay ms" "${tokens[@]}" data.train="$work/linked.bin" data.rows=whole
  unmount
done
slow one.bin 500
measure "tokens, rows cut" "500 ms" "${tokens[@]}" data.train="$work/slow/one.bin"
exit $((failures > 0))
