// The frame of the help; the options in it come from their tables.
#include "launcher/cli/help.h"

#include "launcher/cli/options.h"

namespace ds::launcher {

namespace {

constexpr std::string_view kIntroduction =
    R"(dslaunch: start a program on many machines, one process (rank) per slot.

Usage:
  dslaunch [options] train.toml [key=value ...]   train with the C++ engine
  dslaunch [options] -- COMMAND ARGS...           run any program
)";

constexpr std::string_view kExitCodes = R"(
Exit code: 0 when every rank ended with 0; otherwise the code of the first rank that failed, or
128 + its signal; 64 wrong usage, 65 wrong hostfile or config, 69 a node could not be reached or
was lost, 124 a deadline passed, 126 not executable, 127 not found, 130 and 143 interrupted.
)";

}  // namespace

std::string help_text() {
  Options options;
  return std::string(kIntroduction) + option_table(options).help() + std::string(kExitCodes);
}

std::string_view version_text() { return "dslaunch " DS_VERSION "\n"; }

}  // namespace ds::launcher
