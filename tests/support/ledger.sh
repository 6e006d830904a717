# Sourced by tests of resuming, after `die` is defined: prints the samples that a training with batches of 4 used, from the
# ledgers of its ranks (log.samples = true) in the folder run.
# ledger RANK: all runs in their order, earlier ones are in previous-N
ledger() { cat $(ls -d run/previous-* 2>/dev/null | sort -t- -k2n | sed "s|\$|/samples-rank000$1.jsonl|") "run/samples-rank000$1.jsonl"; }
# samples_once RANKS STEPS: as each step was last run, all ranks together have taken each sample once.
samples_once() {
  local rank
  for ((rank = 0; rank < $1; ++rank)); do
    ledger $rank | awk -F'[:,]' -v most="$2" '$2 <= most { line[$2] = $0 } END { for (step in line) print line[step] }'
  done | grep -o '"samples":\[[0-9,]*\]' | grep -oE '[0-9]+' | sort -n >seen
  seq 0 $(($2 * 4 - 1)) | cmp -s - seen || die "samples of $2 steps: $(wc -l <seen), $(head -n 3 seen | tr '\n' ' ')"
}
# times_run STEP: by rank 0
times_run() { ledger 0 | grep -c "^{\"step\":$1,"; }
# newest DIR: the newest complete checkpoint; step_of NAME
newest() { ls "$1" | grep -E '^step-[0-9]+$' | sort | tail -n 1; }
step_of() { echo $((10#${1#step-})); }
