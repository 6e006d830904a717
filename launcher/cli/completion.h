// Scripts by which shells complete the words of dslaunch, from the same tables as the help.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launcher/cli/command.h"

namespace ds::launcher {

inline constexpr std::string_view kCompletionShells[] = {"bash", "zsh", "fish"};

/// Errors:  Error{usage} for a shell that is not in the list.
std::string completion_script(std::string_view shell, std::span<const Command> commands);

/// What may stand as the value of an option, read from its argument's name.
struct ValueKind {
  enum class Kind { none, file, folder, job, choice, other };
  Kind kind = Kind::none;
  std::vector<std::string_view> choices{};
};
/// FILE, PATH: file; DIR: folder; JOB: job; SIGNAL and "a|b": choice; anything else: other.
ValueKind value_kind(const OptionShape& shape);
/// What may stand as a word of a subcommand, read from its synopsis.
ValueKind word_kind(const Command& command, std::span<const Command> commands);

}  // namespace ds::launcher
