// dslaunch: a subcommand, another launcher's command line, or a job.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>

#include "engine/base/error.h"
#include "launcher/cli/option_values.h"
#include "launcher/main/as_command.h"
#include "launcher/main/commands.h"
#include "launcher/main/main_command.h"
#include "runner/contract.h"

namespace {

using namespace ds::launcher;

/// `dslaunch attahc`: a subcommand is nearer than a file that does not end in .toml.
void check_first_word(const std::string& word) {
  const bool is_name = word.find_first_not_of("abcdefghijklmnopqrstuvwxyz-_") == std::string::npos;
  if (word.starts_with('-') || !is_name) return;
  const std::string near = near_command(word);
  if (!near.empty())
    usage_error(fmt::format("there is no subcommand '{}'", word),
                fmt::format("did you mean dslaunch {}? A program stands after --: dslaunch -- {}",
                            near, word));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (is_disguised(argv[0])) return run_disguised(argc, argv);
    if (const Command* command = argc > 1 ? find_command(argv[1]) : nullptr)
      return command->run(argc - 1, argv + 1);
    if (argc > 1) check_first_word(argv[1]);
    return run_main_command(argc, argv);
  } catch (const ds::Error& error) {
    std::fputs(("dslaunch: " + error.for_people() + "\n").c_str(), stderr);
    return ds::contract::exit_code(error.kind());
  } catch (const std::exception& error) {
    std::fputs(("dslaunch: bug: " + std::string(error.what()) + "\n").c_str(), stderr);
    return ds::contract::kExitBug;
  }
}
