// Generator of the manual in markdown: one term and one description for each option.
#include "launcher/cli/man_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/cli/options.h"

namespace ds::launcher {

namespace {

constexpr std::size_t kColumns = 118;

/// Wraps `text` after ": " into lines of at most kColumns columns.
std::string description(std::string_view text) {
  std::string lines = ":";
  std::size_t column = 1;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const bool fits = column + 1 + word.size() <= kColumns;
    lines += fits ? " " : "\n  ";
    column = fits ? column + 1 + word.size() : 2 + word.size();
    lines += word;
  }
  return lines + "\n";
}

/// Ends the text with a full stop.
std::string sentence(std::string_view help) {
  return fmt::format("{}{}", help, help.ends_with('.') ? "" : ".");
}

std::string note_of(const OptionShape& shape) {
  for (const OptionNote& note : option_notes())
    if (split_names(shape.names).front() == note.option) return fmt::format(" {}", note.text);
  return {};
}

std::string options_part() {
  Options options;
  const OptionTable table = option_table(options);
  std::string text;
  std::string_view section;
  for (const OptionTable::Entry& entry : table.entries()) {
    if (entry.section != section) text += fmt::format("\n### {}\n", entry.section);
    section = entry.section;
    text += fmt::format("\n{}\n{}", option_term(entry.shape, "**"),
                        description(sentence(entry.shape.help) + note_of(entry.shape)));
  }
  return text;
}

std::string command_part(const Command& command) {
  std::string text =
      fmt::format("\n### dslaunch {}\n\n    dslaunch {}{}{}\n\n{}\n", command.name, command.name,
                  command.synopsis.empty() ? "" : " ", command.synopsis, sentence(command.summary));
  if (!command.details.empty()) text += fmt::format("\n{}\n", command.details);
  if (command.options == nullptr) return text;
  const OptionTable table = command.options();
  for (const OptionTable::Entry& entry : table.entries())
    text += fmt::format("\n{}\n{}", option_term(entry.shape, "**"),
                        description(sentence(entry.shape.help)));
  return text;
}

}  // namespace

std::string manual(std::span<const Command> commands) {
  std::string text(kManualHead);
  text += options_part();
  text += "\n## Subcommands\n\nEvery subcommand has `--help`.\n";
  for (const Command& command : commands)
    if (!command.summary.empty()) text += command_part(command);
  return text + std::string(kManualTail);
}

}  // namespace ds::launcher
