#!/usr/bin/env bash
# On demand: compares some steps of the quickstart by sbatch on four nodes x 1 with the same on one machine.
# Usage: quickstart.sh [STEPS]   (DS_BIN, DS_SOURCE as the tests have them)
set -u
steps=${1:-20}
source "$(dirname "$0")/cluster.sh"
source "$DS_SOURCE/tests/e2e/slurm/in_allocations.sh"  # cluster.sh has left this folder
start_cluster
words=(configs/quickstart.toml train.steps="$steps" schedule.warmup=5 log.every=1)
losses() { grep -o '"loss":[0-9.e-]*' "$1/metrics.jsonl"; }

cd "$DS_SOURCE" || exit 1
job=$(sbatch --parsable -o "$work/out" -N4 --ntasks-per-node=1 containers/slurm/train.sbatch "${words[@]}" "log.dir=$work/slurm")
until_true 300 job_is_gone "$job" || die "the job does not end"
cat "$work/out"
"$dslaunch" -n 4 "${words[@]}" "log.dir=$work/here" > "$work/here.out" 2>&1 || die "the training on one machine: $(cat "$work/here.out")"
[ "$(losses "$work/slurm" | wc -l)" = "$steps" ] || die "steps are missing"
cmp <(losses "$work/slurm") <(losses "$work/here") || die "losses differ"
echo "ok: $steps steps on 4 nodes x 1, losses as on one machine"
