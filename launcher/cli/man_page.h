// Manual page of dslaunch: hand-written text and the tables of options and subcommands.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launcher/cli/command.h"

namespace ds::launcher {

/// Returns the manual in markdown. docs/dslaunch.1.md is a copy of it.
std::string manual(std::span<const Command> commands);

/// Text that the manual adds to the help of an option of the main command.
struct OptionNote {
  std::string_view option;  // its first name
  std::string_view text;
};
std::span<const OptionNote> option_notes();

extern const std::string_view kManualHead;  // before the options
extern const std::string_view kManualTail;  // after the subcommands

/// Converts markdown to roff for man(1). Knows only what manual() uses: headings, paragraphs, code
/// indented by 4 columns, "**term**" with ": text" below it, `code` and **bold** in text.
std::string roff_of(std::string_view markdown);

}  // namespace ds::launcher
