// Written by hand; man_page.cpp puts options and subcommands between them.
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

The first form runs any program; everything after `--` belongs to it. The second form trains with the C++ engine: every
rank runs `dsrunner` with the file and the overrides, which have the names of its keys (`train.steps=20`). `dsrunner` is
taken from the folder of `dslaunch`; on a node that has no such file, from PATH. The third form is below, under several
programs.

Hosts come from a hostfile (see `hostfile.md`), from `--host`, or from both: then `--host` filters the hostfile. Ranks fill
slots host by host, in the order of the file. Without any host every rank runs on this machine, and no ssh is needed.

Standard output and standard error of the ranks stay apart; in a job of more than one rank every line is prefixed with
its rank. The first rank that fails decides: the others are stopped everywhere, and dslaunch exits with its code and
names it.

While a job runs, `dslaunch ps`, `tail`, `attach`, `checkpoint` and `kill` find it, from any terminal of the same user
on the same machine (see `jobs.md`).

## Options

An option that is not marked as repeatable can be given once. Options may stand before or after `train.toml`, and their
names may be written with underscores (`--dry_run`).
)";

const std::string_view kManualTail = R"(
## Several programs

    dslaunch --hostfile hosts -n 2 --role learner -- ./learner : -n 6 --role actor -- ./actor --fast

is one job of 8 ranks. Programs take slots one after the other, and ranks are numbered in the same order. A `:` starts
another program when an option or `--` follows it; any other `:` is an argument as it stands, and with `--one-program`
every one is. Options before the first `--` are those of the job and of the first program; behind a `:` may stand `-n`,
`--role`, `--host` (only on these hosts), `-x` and `--wdir` (over those of the job). One program may leave out `-n` and
takes the slots that are left. Every rank finds its program in ROLE_NAME, ROLE_RANK and ROLE_WORLD_SIZE.

## Exit codes

**0**
: every rank ended with 0

**64**
: wrong usage

**65**
: wrong hostfile, configuration or data

**69**
: a node could not be reached, or was lost

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
: hung up

**130**
: interrupted (Ctrl-C)

**143**
: terminated

Otherwise the code of the first rank that failed, or 128 + the signal that killed it. Codes of ranks can coincide with
those above; the last line on standard error names the cause.

## Examples

Two ranks on this machine:

    dslaunch -n 2 -- hostname

Which rank would run where, without starting anything:

    dslaunch --hostfile hostfiles/two_nodes.hosts --dry-run -- true

Train with the engine; any program, with a variable for every rank:

    dslaunch --hostfile hostfiles/local.hosts configs/quickstart.toml train.steps=20
    dslaunch --hostfile hosts -x NCCL_DEBUG=INFO --grace 30s -- ./train.sh

In the background; look at it from anywhere, and stop it:

    dslaunch --hostfile hosts --detach configs/quickstart.toml
    dslaunch ps
    dslaunch tail -f
    dslaunch checkpoint
    dslaunch kill 1f3a --grace 1m --wait
)";

}  // namespace ds::launcher
