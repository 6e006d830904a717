// Becomes dsrunner with the same words: the launcher itself knows nothing of training.
#include "launcher/hand_over/hand_over.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "launcher/cli/option_values.h"
#include "launcher/cli/train_command.h"

namespace ds::launcher {

void pass_on(HandedWords& handed, const GivenOption& given) {
  handed.words.push_back(given.value.empty() ? given.name : given.name + "=" + given.value);
}

void pass_text_on(HandedWords& handed, const GivenOption& given) {
  text_value(given);
  pass_on(handed, given);
}

void pass_size_on(HandedWords& handed, const GivenOption& given) {
  if (!parse_bytes(given.value) || given.value.find(' ') != std::string::npos)
    usage_error(fmt::format("{} takes bytes as 80G or 512GiB, not '{}'", given.name, given.value));
  pass_on(handed, given);
}

void become_dsrunner(std::string_view subcommand, const std::vector<std::string>& options,
                     const std::vector<std::string>& words) {
  std::vector<std::string> command = {std::filesystem::path(own_path()).parent_path() / "dsrunner",
                                      std::string(subcommand)};
  command.insert(command.end(), options.begin(), options.end());
  command.insert(command.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  throw Error(
      ErrorKind::config,
      fmt::format("cannot run {}: {}", command.front(), std::generic_category().message(errno)),
      fmt::format("dsrunner, which does the work of {}, belongs beside dslaunch", subcommand));
}

int run_handed_over(const Command& command, const OptionTable& table, const HandedWords& handed,
                    void (*check)(const std::vector<std::string>& words), int argc, char** argv) {
  const auto words = read_command(command, table, argc, argv, Words::mixed);
  if (!words) return 0;
  check(*words);
  become_dsrunner(command.name, handed.words, *words);
}

}  // namespace ds::launcher
