// Hand-written parts of the manual: the text around the tables of options and subcommands, and
// notes on options, with facts that are too long for their help.
#include "launcher/cli/man_page.h"

namespace ds::launcher {

namespace {

constexpr OptionNote kNotes[] = {
    // Where
    {"--hostfile", "See `hostfile.md` for the grammar."},
    {"--host",
     "For example `a:4,node[01-16]:8,me@b,[fd00::7]:2,c:*`. The slots of a host named twice add "
     "up. With a hostfile the order is the hostfile's; a host without a number keeps all its "
     "slots, and `+n2` is the third host of the file."},
    {"--include",
     "Ranges work: `-i 'node[1-4]:0-3'`. Slots are counted from 0, or are the numbers of "
     "`gpus=`. The ranks of a host with chosen slots see those slots as CUDA_VISIBLE_DEVICES. "
     "The order is that of the hostfile. Without a hostfile, `-i localhost:1,2` chooses among "
     "the GPUs of this machine."},
    {"--exclude", "Cannot be combined with --include."},
    {"--num-gpus", "CUDA_VISIBLE_DEVICES lists these devices."},
    {"-n",
     "Asking for more ranks than there are slots is an error. `-np` also works, and one dash "
     "before any other long name (`-hostfile`)."},
    {"--ppn",
     "A host without a number of slots gets N slots. A host with fewer slots is an error."},
    {"--map-by",
     "Parts of a host decide which processors its ranks use, and with ppr how many ranks it gets. "
     "See `binding.md`."},
    {"--oversubscribe", "A host takes at most its `max-slots`."},
    {"--devices",
     "`node` sets it only if slots were chosen, to all of them, so it is the same for every rank "
     "of the node; LOCAL_RANK picks the device, as with torchrun and deepspeed. If the "
     "environment of a node already names devices (a Slurm job, a container), slot 0 is the "
     "first of those."},
    {"--dry-run",
     "Hosts with `slots=auto` are asked for their number of slots. The JSON form is an array of "
     "objects with the keys `rank`, `node`, `node_rank`, `local_rank`, `slot`, `role`."},
    // What each rank gets
    {"-x",
     "A name without a value that is not set here is an error. The variables that dslaunch "
     "computes (RANK, WORLD_SIZE and others) cannot be set. Values on the command line are "
     "overwritten in memory at once, but other users may see them before that: use `-x NAME` for "
     "secrets."},
    {"--env-file",
     "See `environment.md` for the format. Later files override earlier ones; -x overrides all "
     "files."},
    {"--env",
     "Ranks on this machine get the launcher's environment, or with `none` only what a login "
     "sets."},
    {"--mpi-env",
     "Programs that find such variables assume that the launcher of that name started them."},
    {"--mpi",
     "dslaunch reads the program's ELF file on this machine, also behind env, nice, taskset and "
     "the like. Python code that imports mpi4py gets what `any` offers; other scripts need that "
     "word. See `mpi.md`."},
    {"--redact",
     "`--dry-run=env` always hides names that contain TOKEN, SECRET, PASSWORD, CREDENTIAL, "
     "API_KEY or ACCESS_KEY. The ranks' output is searched only if this option is given; see "
     "`environment.md` for what is found."},
    // How it ends
    {"--timeout",
     "The time counts from the start of the job, over all restarts. Ranks get TERM, then KILL "
     "after the grace. The ranks that were still running are named."},
    {"--pre-signal", "The signal goes once, to the main process of every rank."},
    {"--forward-signals",
     "The signals go to the main process of every rank. With HUP in the list, a hangup no longer "
     "ends the job. INT, TERM and TSTP cannot be listed: they stop or suspend the ranks."},
    {"--exit-skew", "The ranks that are still running are named once."},
    {"--mpi-timeout", "The ranks that others wait for are named."},
    {"--max-restarts",
     "Ranks keep their numbers and their hosts, and the agents stay. An exit code of 93 prevents "
     "a restart. See `failure.md`. With --nodes MIN:MAX the number of nodes changes while the job "
     "runs, and 94 begins the next epoch without counting a failure: see `elastic.md`."},
    {"--spares", "The agents of spares are connected and wait."},
    {"--verdict", "It is also written after success. The complete file appears at the end."},
    {"--isolate", "See `no_orphans.md` for how programs see the namespace."},
    // Output
    {"--prefix",
     "`{node}` is the name in the hostfile, `{host}` the machine's own host name, `{stream}` out "
     "or err, `{elapsed}` the seconds since the ranks started; `{{` is a brace. A job with one "
     "rank has no prefix unless this option is given."},
    {"--show",
     "Hidden output still goes to log files. The last lines of a failed rank are always printed."},
    {"--fold", "For example `[0-1022] step 10`. See `logs.md`."},
    {"--timestamps", "The time is when the line was written. Log files have it too."},
    {"--color", "NO_COLOR in the environment turns `auto` off."},
    {"--log-dir", "Files of an earlier job are overwritten."},
    {"--backpressure", "A line says how many lines were dropped. See `logs.md`."},
    // In the background
    {"--detach", "A job that cannot start is reported as without this option. See `jobs.md`."},
};

}  // namespace

std::span<const OptionNote> option_notes() { return kNotes; }

const std::string_view kManualHead = R"(# dslaunch(1)

## Name

dslaunch - start a program on many machines, one process (rank) per slot

## Synopsis

    dslaunch [options] -- COMMAND ARGS...
    dslaunch [options] train.toml [key=value ...]
    dslaunch [options] -- COMMAND ARGS... : [-n N] [--role NAME] [--host LIST] -- COMMAND ARGS...
    dslaunch SUBCOMMAND ...

## Description

The first form runs any program; every word after `--` belongs to it. The second form trains with the C++ engine: each
rank runs `dsrunner` with the file and the overrides, which are named like its keys (`train.steps=20`). `dsrunner` comes
from the folder of `dslaunch`, or from PATH on a node that has no such file. See "Several programs" below for the third
form.

Hosts come from a hostfile (see `hostfile.md`), from `--host`, or from both: then `--host` filters the hostfile. Ranks
fill slots host by host, in the order of the file. Without hosts every rank runs on this machine, and ssh is not needed.

Standard output and standard error of the ranks stay separate. In a job with more than one rank every line is prefixed
with its rank. When a rank fails, dslaunch stops all other ranks, exits with the code of the first failed rank, and names
that rank.

While a job runs, `dslaunch ps`, `tail`, `attach`, `checkpoint` and `kill` find it from any terminal of the same user on
the same machine (see `jobs.md`).

## Options

An option can be given once unless it is marked as repeatable. Options may stand before or after `train.toml`. Option
names may be written with underscores (`--dry_run`).
)";

const std::string_view kManualTail = R"(
## Several programs

    dslaunch --hostfile hosts -n 2 --role learner -- ./learner : -n 6 --role actor -- ./actor --fast

starts one job with 8 ranks. Programs take slots one after the other, and ranks are numbered in the same order. A `:`
starts another program if an option or `--` follows it; any other `:` is an ordinary argument, and with `--one-program`
every `:` is. Options before the first `--` apply to the job and to the first program. After a `:`, `-n`, `--role`,
`--host` (use only these hosts), `-x` and `--wdir` (these override the job's) are allowed. One program may omit `-n`; it
takes the remaining slots. Every rank finds its program in ROLE_NAME, ROLE_RANK and ROLE_WORLD_SIZE.

## Exit codes

**0**
: every rank exited with 0

**64**
: usage error

**65**
: invalid hostfile, configuration or data

**69**
: a node could not be reached or was lost

**70**
: a bug in dslaunch

**93**
: a rank asks not to be restarted

**124**
: a deadline passed

**126**
: the program cannot be executed

**127**
: the program was not found

**129**
: hangup

**130**
: interrupted (Ctrl-C)

**143**
: terminated

Otherwise the exit code is that of the first rank that failed, or 128 + the signal that killed it. Codes of ranks can
coincide with those above; the last line on standard error names the cause.

## Files and variables

**DSLAUNCH_HOSTFILE**
: the hostfile of jobs, `exec` and `doctor` if no host is given

**PREFIX/share/doc/dslaunch/**
: the pages that this manual cites, such as `hostfile.md`

## Examples

Two ranks on this machine:

    dslaunch -n 2 -- hostname

Print which rank would run where, without starting anything:

    dslaunch --hostfile hostfiles/two_nodes.hosts --dry-run -- true

Train with the engine, or run any program with a variable for every rank:

    dslaunch --hostfile hostfiles/local.hosts configs/quickstart.toml train.steps=20
    dslaunch --hostfile hosts -x NCCL_DEBUG=INFO --grace 30s -- ./train.sh

Run in the background, then inspect and stop the job from anywhere:

    dslaunch --hostfile hosts --detach configs/quickstart.toml
    dslaunch ps
    dslaunch tail -f
    dslaunch checkpoint
    dslaunch kill 1f3a --grace 1m --wait
)";

}  // namespace ds::launcher
