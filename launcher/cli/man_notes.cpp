// What is worth saying of an option in the manual and too long for its help.
#include "launcher/cli/man_page.h"

namespace ds::launcher {

namespace {

constexpr OptionNote kNotes[] = {
    // Where
    {"--hostfile", "The grammar is in `hostfile.md`."},
    {"--host",
     "As in `a:4,node[01-16]:8,me@b,[fd00::7]:2,c:*`. A host named twice adds up. With a hostfile "
     "the order is the hostfile's: all slots of a host without a number, else that many; `+n2` is "
     "the third host of the file."},
    {"--include",
     "Ranges are fine: `-i 'node[1-4]:0-3'`. Slots are counted from 0, or are the numbers of "
     "`gpus=`; the ranks of a host whose slots were chosen see them as CUDA_VISIBLE_DEVICES. The "
     "order is that of the hostfile. Without any hostfile `-i localhost:1,2` chooses among the "
     "GPUs of this machine."},
    {"--exclude", "Not together with --include."},
    {"--num-gpus", "They are the devices in CUDA_VISIBLE_DEVICES."},
    {"-n",
     "Asking for more ranks than there are slots is an error. `-np` is understood, as is one dash "
     "before any other long name (`-hostfile`)."},
    {"--ppn",
     "A host of which nobody said how many slots it has takes N; one with fewer slots is an "
     "error."},
    {"--oversubscribe", "They are spread over the hosts, up to their `max-slots`."},
    {"--devices",
     "`node` sets it only where slots were chosen, to all of them, the same for every rank of the "
     "node: LOCAL_RANK picks, as with torchrun and deepspeed. Where the environment of a node "
     "names devices already (a Slurm job, a container), slot 0 is the first of those."},
    {"--dry-run",
     "Hosts with `slots=auto` are asked how many they have. The JSON form is an array of objects "
     "with the keys `rank`, `node`, `node_rank`, `local_rank`, `slot`, `role`."},
    // What each rank gets
    {"-x",
     "It is an error when there is no value to forward. The variables that dslaunch computes "
     "(RANK, WORLD_SIZE and the like) cannot be set. Values on the command line are overwritten "
     "at once, but were there for a moment: write `-x NAME` for secrets."},
    {"--env-file",
     "See `environment.md` for the form. Later files win over earlier ones, -x over all."},
    {"--env", "Ranks of this machine have the launcher's environment; with `none` a login's."},
    {"--mpi-env",
     "Programs that find such variables believe that the launcher of that name started them."},
    {"--redact",
     "In `--dry-run=env` names with TOKEN, SECRET, PASSWORD, CREDENTIAL, API_KEY or ACCESS_KEY in "
     "them are always so. In what ranks write nothing is looked for without this option; "
     "`environment.md` says what is found."},
    // How it ends
    {"--timeout",
     "Counted from the start of the job and over all restarts: TERM, then KILL after the grace. "
     "The "
     "ranks that still ran are named."},
    {"--pre-signal", "To the main process of every rank, once."},
    {"--forward-signals",
     "To the main process of every rank. HUP in the list no longer ends the job. INT, TERM and "
     "TSTP "
     "cannot be in it: they stop or suspend the ranks."},
    {"--exit-skew", "The ranks that still run are named, once."},
    {"--max-restarts",
     "Ranks keep their numbers and their hosts; the agents stay. An exit code of 93 is never "
     "followed "
     "by a restart. See `failure.md`."},
    {"--spares", "They are connected and wait."},
    {"--verdict", "Also when it went well. The file appears as a whole at the end."},
    {"--isolate", "What programs see of the namespace is in `no_orphans.md`."},
    // Output
    {"--prefix",
     "`{node}` is the name in the hostfile, `{host}` what the machine calls itself, `{stream}` out "
     "or "
     "err, `{elapsed}` seconds since the ranks were started; `{{` is a brace. A job of one rank "
     "has "
     "no prefix unless one is given."},
    {"--show",
     "What is not shown still goes to log files, and the last lines of a rank that fails are told "
     "in "
     "any case."},
    {"--fold", "As in `[0-1022] step 10`. See `logs.md`."},
    {"--timestamps", "The time at which the line was written; also in log files."},
    {"--color", "NO_COLOR in the environment turns `auto` off."},
    {"--log-dir", "Files of an earlier job are overwritten."},
    {"--backpressure", "Where lines are dropped, it is said how many are missing. See `logs.md`."},
    // In the background
    {"--detach", "A job that cannot start is told as without this option. See `jobs.md`."},
};

}  // namespace

std::span<const OptionNote> option_notes() { return kNotes; }

}  // namespace ds::launcher
