// Entry point of dslaunch: runs a subcommand, another launcher's command line, or a job.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "launcher/cli/option_table.h"
#include "launcher/commands/commands.h"

namespace {

using namespace ds::launcher;

/// Reports a mistyped subcommand (`dslaunch attahc`) before it is read as the name of a file.
void check_first_word(const std::string& word) {
  const bool is_name = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-_") == std::string::npos;
  if (word.starts_with('-') || !is_name) return;
  const std::string near = near_command(word);
  if (!near.empty())
    usage_error(
        fmt::format("unknown subcommand '{}'", word),
        fmt::format("did you mean dslaunch {}? To run a program: dslaunch -- {}", near, word));
}

/// Opens /dev/null on closed descriptors 0, 1 and 2 (`>&-`) so that no socket of dslaunch gets one
/// of these numbers. Reading then ends at once and writing fails.
void fill_closed_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDONLY) != fd) return;
}

}  // namespace

int main(int argc, char** argv) {
  fill_closed_descriptors();
  try {
    if (const auto code = run_disguised(argc, argv)) return *code;
    if (const Command* command = argc > 1 ? find_command(argv[1]) : nullptr)
      return command->run(argc - 1, argv + 1);
    if (argc > 1) check_first_word(argv[1]);
    return run_main_command(argc, argv);
  } catch (const std::exception& caught) {
    const ds::Error error = ds::as_error(caught);
    std::fputs(("dslaunch: " + error.for_people() + "\n").c_str(), stderr);
    return ds::contract::exit_code(error.kind());
  }
}
