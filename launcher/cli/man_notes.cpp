// Notes of the manual: facts about options that are too long for their help.
#include "launcher/cli/man_page.h"

namespace ds::launcher {

namespace {

constexpr OptionNote kNotes[] = {
    // Where
    {"--hostfile", "See `hostfile.md` for the grammar."},
    {"--host",
     "For example `a:4,node[01-16]:8,me@b,[fd00::7]:2,c:*`. The slots of a host named twice add "
     "up. "
     "With a hostfile the order is the hostfile's; a host without a number keeps all its slots, "
     "and "
     "`+n2` is the third host of the file."},
    {"--include",
     "Ranges work: `-i 'node[1-4]:0-3'`. Slots are counted from 0, or are the numbers of `gpus=`. "
     "The ranks of a host with chosen slots see those slots as CUDA_VISIBLE_DEVICES. The order is "
     "that of the hostfile. Without a hostfile, `-i localhost:1,2` chooses among the GPUs of this "
     "machine."},
    {"--exclude", "Cannot be combined with --include."},
    {"--num-gpus", "CUDA_VISIBLE_DEVICES lists these devices."},
    {"-n",
     "Asking for more ranks than there are slots is an error. `-np` also works, and one dash "
     "before "
     "any other long name (`-hostfile`)."},
    {"--ppn",
     "A host without a number of slots gets N slots. A host with fewer slots is an error."},
    {"--oversubscribe", "Ranks are spread over the hosts, up to their `max-slots`."},
    {"--devices",
     "`node` sets it only if slots were chosen, to all of them, so it is the same for every rank "
     "of "
     "the node; LOCAL_RANK picks the device, as with torchrun and deepspeed. If the environment of "
     "a "
     "node already names devices (a Slurm job, a container), slot 0 is the first of those."},
    {"--dry-run",
     "Hosts with `slots=auto` are asked for their number of slots. The JSON form is an array of "
     "objects with the keys `rank`, `node`, `node_rank`, `local_rank`, `slot`, `role`."},
    // What each rank gets
    {"-x",
     "A name without a value that is not set here is an error. The variables that dslaunch "
     "computes "
     "(RANK, WORLD_SIZE and others) cannot be set. Values on the command line are overwritten in "
     "memory at once, but other users may see them before that: use `-x NAME` for secrets."},
    {"--env-file",
     "See `environment.md` for the format. Later files override earlier ones; -x overrides all "
     "files."},
    {"--env",
     "Ranks on this machine get the launcher's environment, or with `none` only what a login "
     "sets."},
    {"--mpi-env",
     "Programs that find such variables assume that the launcher of that name started them."},
    {"--redact",
     "`--dry-run=env` always hides names that contain TOKEN, SECRET, PASSWORD, CREDENTIAL, API_KEY "
     "or ACCESS_KEY. The ranks' output is searched only if this option is given; see "
     "`environment.md` for what is found."},
    // How it ends
    {"--timeout",
     "The time counts from the start of the job, over all restarts. Ranks get TERM, then KILL "
     "after "
     "the grace. The ranks that were still running are named."},
    {"--pre-signal", "The signal goes once, to the main process of every rank."},
    {"--forward-signals",
     "The signals go to the main process of every rank. With HUP in the list, a hangup no longer "
     "ends the job. INT, TERM and TSTP cannot be listed: they stop or suspend the ranks."},
    {"--exit-skew", "The ranks that are still running are named once."},
    {"--max-restarts",
     "Ranks keep their numbers and their hosts, and the agents stay. An exit code of 93 prevents a "
     "restart. See `failure.md`."},
    {"--spares", "The agents of spares are connected and wait."},
    {"--verdict", "It is also written after success. The complete file appears at the end."},
    {"--isolate", "See `no_orphans.md` for how programs see the namespace."},
    // Output
    {"--prefix",
     "`{node}` is the name in the hostfile, `{host}` the machine's own host name, `{stream}` out "
     "or "
     "err, `{elapsed}` the seconds since the ranks started; `{{` is a brace. A job with one rank "
     "has "
     "no prefix unless this option is given."},
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

}  // namespace ds::launcher
