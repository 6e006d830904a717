// What is worth saying of an option in the manual and too long for its help.
#include "launcher/cli/man_page.h"

namespace ds::launcher {

namespace {

constexpr OptionNote kNotes[] = {
    // Where
    {"--hostfile", "The grammar is in `hostfile.md`."},
    {"-n", "Asking for more ranks than there are slots is an error."},
    {"--dry-run",
     "The JSON form is an array of objects with the keys `rank`, `node`, `node_rank`, "
     "`local_rank`, "
     "`slot`."},
    // What each rank gets
    {"-x",
     "It is an error when there is no value to forward. The variables that dslaunch computes "
     "(RANK, "
     "WORLD_SIZE and the like) cannot be set."},
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
