# Sourced after cluster.sh: jobs inside allocations, and checks of how they end.

export DSLAUNCH=$dslaunch SALLOC_DEBUG=0
scripts=$DS_SOURCE/containers/slurm

# Allocations that wait for the last one's end are started at Slurm's next look.
in_allocation() { run salloc -Q "$@"; }
job_is() { [ "$(squeue -h -j "$1" -o %T 2> /dev/null)" = "$2" ]; }
job_is_gone() { [ -z "$(squeue -h -t PD,R,CG,S -j "$1" 2> /dev/null)" ]; }
# submit SCRIPT ARGS...: its number to $job, its output to the file out when it has ended.
submit() { job=$(sbatch --parsable -o "$work/out.%j" "$@") || die "sbatch $*"; }
finished() { until_true 30 job_is_gone "$1" || die "job $1 does not end"; cp "$work/out.$1" "$work/out"; }
exit_code() { scontrol show job "$1" | sed -n 's/.* ExitCode=\([0-9]*\):.*/\1/p'; }
