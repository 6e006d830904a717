// Hand-written parts of the manual; man_page.cpp puts options and subcommands between them.
#include "launcher/cli/man_text.h"

namespace ds::launcher {

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
