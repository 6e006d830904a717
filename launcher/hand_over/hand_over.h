// Subcommands whose work dsrunner does: the launcher knows their options, and hands the words over.
#pragma once

#include <string>
#include <vector>

#include "launcher/cli/command.h"

namespace ds::launcher {

/// Words for dsrunner, which checks the values.
struct HandedWords {
  std::vector<std::string> words;
};

using HandedOption = OptionDef<HandedWords>;

/// `--name`, or `--name=value`.
void pass_on(HandedWords& handed, const GivenOption& given);
/// The same of a value that is not empty. Errors: Error{usage}.
void pass_text_on(HandedWords& handed, const GivenOption& given);
/// The same of bytes, as 80G. Errors: Error{usage}.
void pass_size_on(HandedWords& handed, const GivenOption& given);

/// Becomes `dsrunner SUBCOMMAND options words`. Returns only with an error. Errors: Error{config}:
/// there is no dsrunner.
[[noreturn]] void become_dsrunner(std::string_view subcommand,
                                  const std::vector<std::string>& options,
                                  const std::vector<std::string>& words);

/// The whole of such a subcommand: reads by `table`, which writes into `handed`, has `check` look
/// at the other words, hands over. Returns 0 after --help.
int run_handed_over(const Command& command, const OptionTable& table, const HandedWords& handed,
                    void (*check)(const std::vector<std::string>& words), int argc, char** argv);

}  // namespace ds::launcher
