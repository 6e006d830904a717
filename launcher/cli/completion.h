// Shell completion: generates the scripts for bash, zsh and fish from the option tables.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launcher/cli/command.h"

namespace ds::launcher {

inline constexpr std::string_view kCompletionShells[] = {"bash", "zsh", "fish"};

/// Returns the completion script for `shell`.
/// Errors:  Error{usage} if `shell` is not in kCompletionShells.
std::string completion_script(std::string_view shell, std::span<const Command> commands);

/// Kind of value that an option or a positional word accepts, with the choices if it is a list.
struct ValueKind {
  enum class Kind { none, file, folder, job, choice, other };
  Kind kind = Kind::none;
  std::vector<std::string_view> choices{};
};
/// Derives the kind from the option's argument name. FILE, PATH: file; DIR: folder; JOB: job;
/// SIGNAL and "a|b": choice; any other name: other.
ValueKind value_kind(const OptionShape& shape);
/// Derives the kind of a subcommand's positional word from its synopsis.
ValueKind word_kind(const Command& command, std::span<const Command> commands);

}  // namespace ds::launcher
