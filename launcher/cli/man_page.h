// The manual: hand-written parts around what the tables of options and subcommands say.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "launcher/cli/command.h"

namespace ds::launcher {

/// docs/dslaunch.1.md.
std::string manual(std::span<const Command> commands);

/// What the manual says of an option of the main command beyond its help.
struct OptionNote {
  std::string_view option;  // its first name
  std::string_view text;
};
std::span<const OptionNote> option_notes();

/// For man(1), from the part of markdown that manual() uses: headings, paragraphs, code indented by
/// four, "**term**" with ": text" below it, `code` and **bold** in text.
std::string roff_of(std::string_view markdown);

}  // namespace ds::launcher
