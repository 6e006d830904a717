// Table of options of mpirun, srun, torchrun and deepspeed, with their equivalents here.
#include "launcher/cli/foreign_names.h"

#include <algorithm>

namespace ds::launcher {

namespace {

struct ForeignName {
  std::string_view typed;
  std::string_view needs;  // the hint is given only if this option exists in the table
  std::string_view hint;
};

constexpr std::string_view kRanksOfHost = "use --ppn N for ranks per host, -n N for all ranks";
constexpr std::string_view kAsTorchrun =
    "this is an option of torchrun; use its command line with: dslaunch as torchrun ...";
constexpr std::string_view kAsDeepspeed =
    "this is an option of deepspeed; use its command line with: dslaunch as deepspeed ...";
constexpr std::string_view kAsMpirun =
    "this is an option of mpirun; use its command line with: dslaunch as mpirun ...";
constexpr std::string_view kHasPrefix =
    "each line already begins with its rank; change that with --prefix";

constexpr ForeignName kNames[] = {
    {"-N", "--ppn", kRanksOfHost},
    {"--nproc-per-node", "--ppn", kRanksOfHost},
    {"--ntasks-per-node", "--ppn", kRanksOfHost},
    {"--ntasks", "--ppn", kRanksOfHost},
    {"--nodes", "--num-nodes", "use --num-nodes N for the first N hosts"},
    {"--tag-output", "--prefix", kHasPrefix},
    {"--label", "--prefix", kHasPrefix},
    {"-l", "--prefix", kHasPrefix},
    {"--timestamp-output", "--timestamps", "use --timestamps"},
    {"--output-filename", "--log-dir", "use --log-dir DIR for one file per rank"},
    {"--display-map", "--dry-run", "use --dry-run to see which rank runs where"},
    {"--report-bindings", "--dry-run", "use --dry-run to see which rank runs where"},
    {"--allow-run-as-root", "--np", "remove it: root may run dslaunch"},
    {"-v", "--log-level", "use --log-level debug for more messages, --version for the version"},
    {"--verbose", "--log-level", "use --log-level debug for more messages"},
    {"-V", "--version", "use dslaunch --version"},
    {"-m", "--np", "for a Python module: dslaunch [options] -- python3 -m MODULE"},
    {"--module", "--np", "for a Python module: dslaunch [options] -- python3 -m MODULE"},
    {"-hosts", "--host", "use --host a:4,b"},
    {"-f", "--hostfile", "use --hostfile FILE"},
    {"--mca", "--np", kAsMpirun},
    {"-mca", "--np", kAsMpirun},
    {"-genv", "--env-file", "use -x NAME=value"},
    {"-env", "--env-file", "use -x NAME=value"},
    {"--standalone", "--np", kAsTorchrun},
    {"--rdzv-backend", "--np", kAsTorchrun},
    {"--rdzv-endpoint", "--np", kAsTorchrun},
    {"--node-rank", "--np", kAsTorchrun},
    {"--launcher", "--np", kAsDeepspeed},
    {"--no-ssh", "--np", kAsDeepspeed},
    {"--ssh-port", "--hostfile", "write port=2222 after the host in the hostfile"},
};

}  // namespace

std::string_view meaning_of_foreign(std::string_view typed,
                                    std::span<const std::string_view> known) {
  for (const ForeignName& name : kNames)
    if (name.typed == typed && std::find(known.begin(), known.end(), name.needs) != known.end())
      return name.hint;
  return {};
}

}  // namespace ds::launcher
