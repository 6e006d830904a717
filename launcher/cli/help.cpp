// Written by hand so that it reads well; a test keeps it equal to the options that exist.
#include "launcher/cli/help.h"

namespace ds::launcher {

std::string_view help_text() {
  return R"(dslaunch: start a program on many machines, one process (rank) per slot.

Usage:
  dslaunch [options] train.toml [key=value ...]   train with the C++ engine
  dslaunch [options] -- COMMAND ARGS...           run any program

Where:
  --hostfile FILE          hosts and slots, one a line ("-" reads standard input);
                           without it every rank runs on this machine
  -n N                     ranks; with a hostfile: only the first N slots
                           (default: every slot; without a hostfile: 1)
  --dry-run[=json]         print which rank would run where, and start nothing

What each rank gets:
  --wdir DIR               working directory on every node (default: the current one)
  -x NAME[=value]          set an environment variable; without =value the launcher's own
                           value is forwarded; may be repeated

How it ends:
  --grace SECONDS          between TERM and KILL of a stopping rank: 10, 10s, 500ms, 2m
                           (default: 10s)
  --node-timeout SECONDS   a node silent for longer is lost (default: 10s)

Reaching the nodes:
  --transport HOW          auto (default): this machine directly, others by ssh; ssh: all by
                           ssh; local: start every node's ranks on this machine
  --agent-path PATH        dslaunch on the nodes (default: the path of this one, then PATH)
  --connect-timeout SECONDS  for one connection to be made and authenticated (default: 10s)
  --window N               connections being opened at once (default: 64)
  --ssh-config FILE        instead of ~/.ssh/config
  --known-hosts FILE       instead of the known_hosts of the ssh configuration; may be repeated

About dslaunch:
  --log-level LEVEL        error, warn, info (default) or debug
  --version                print the version
  -h, --help               print this

Exit code: 0 when every rank ended with 0; otherwise the code of the first rank that failed, or
128 + its signal; 64 wrong usage, 65 wrong hostfile or config, 69 a node could not be reached or
was lost, 124 a deadline passed, 126 not executable, 127 not found, 130 and 143 interrupted.
)";
}

std::string_view version_text() { return "dslaunch " DS_VERSION "\n"; }

}  // namespace ds::launcher
