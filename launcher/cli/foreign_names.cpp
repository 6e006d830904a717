// The names that people bring along from mpirun, srun, torchrun and deepspeed.
#include "launcher/cli/foreign_names.h"

#include <algorithm>

namespace ds::launcher {

namespace {

struct ForeignName {
  std::string_view typed;
  std::string_view needs;  // the hint is given where this option is known
  std::string_view hint;
};

constexpr std::string_view kRanksOfHost = "ranks on each host: --ppn N; ranks in all: -n N";
constexpr std::string_view kAsTorchrun =
    "an option of torchrun, whose command line is taken by: dslaunch as torchrun ...";
constexpr std::string_view kAsDeepspeed =
    "an option of deepspeed, whose command line is taken by: dslaunch as deepspeed ...";
constexpr std::string_view kAsMpirun =
    "an option of mpirun, whose command line is taken by: dslaunch as mpirun ...";
constexpr std::string_view kHasPrefix =
    "each line begins with its rank already; --prefix says with what";

constexpr ForeignName kNames[] = {
    {"-N", "--ppn", kRanksOfHost},
    {"--nproc-per-node", "--ppn", kRanksOfHost},
    {"--ntasks-per-node", "--ppn", kRanksOfHost},
    {"--ntasks", "--ppn", kRanksOfHost},
    {"--nodes", "--num-nodes", "only the first N hosts: --num-nodes N"},
    {"--tag-output", "--prefix", kHasPrefix},
    {"--label", "--prefix", kHasPrefix},
    {"-l", "--prefix", kHasPrefix},
    {"--timestamp-output", "--timestamps", "each line with its time: --timestamps"},
    {"--output-filename", "--log-dir", "a file for each rank: --log-dir DIR"},
    {"--display-map", "--dry-run", "which rank runs where: --dry-run"},
    {"--report-bindings", "--dry-run", "which rank runs where: --dry-run"},
    {"--allow-run-as-root", "--np", "leave it out: root may run dslaunch"},
    {"-v", "--log-level", "more words of dslaunch: --log-level debug; its version: --version"},
    {"--verbose", "--log-level", "more words of dslaunch: --log-level debug"},
    {"-V", "--version", "dslaunch --version"},
    {"-m", "--np", "a Python module: dslaunch [options] -- python3 -m MODULE"},
    {"--module", "--np", "a Python module: dslaunch [options] -- python3 -m MODULE"},
    {"-hosts", "--host", "hosts: --host a:4,b"},
    {"-f", "--hostfile", "a file of hosts: --hostfile FILE"},
    {"--mca", "--np", kAsMpirun},
    {"-mca", "--np", kAsMpirun},
    {"-genv", "--env-file", "a variable for each rank: -x NAME=value"},
    {"-env", "--env-file", "a variable for each rank: -x NAME=value"},
    {"--standalone", "--np", kAsTorchrun},
    {"--rdzv-backend", "--np", kAsTorchrun},
    {"--rdzv-endpoint", "--np", kAsTorchrun},
    {"--node-rank", "--np", kAsTorchrun},
    {"--launcher", "--np", kAsDeepspeed},
    {"--no-ssh", "--np", kAsDeepspeed},
    {"--ssh-port", "--hostfile", "a port of ssh: port=2222 behind a host of the hostfile"},
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
