// Formatter for the help of an option table; split_words.cpp parses the command line with it.
#include "launcher/cli/option_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/split.h"

namespace ds::launcher {

constexpr std::size_t kHelpColumn = 27;

std::string option_help(const OptionShape& shape) {
  std::string text = "  " + option_term(shape);
  text += text.size() + 2 > kHelpColumn ? "\n" + std::string(kHelpColumn, ' ')
                                        : std::string(kHelpColumn - text.size(), ' ');
  for (const char letter : shape.help) {
    text += letter;
    if (letter == '\n') text.append(kHelpColumn, ' ');
  }
  return text + '\n';
}

std::string option_term(const OptionShape& shape, std::string_view mark) {
  std::vector<std::string_view> names = split_names(shape.names);
  std::stable_partition(names.begin(), names.end(),
                        [](std::string_view name) { return !name.starts_with("--"); });
  std::string text;
  for (const std::string_view name : names)
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", mark, name, mark);
  if (shape.argument.empty()) return text;
  return fmt::format("{}{}{}{}", text, shape.implied.empty() ? " " : "[=", shape.argument,
                     shape.implied.empty() ? "" : "]");
}

std::vector<std::string_view> split_names(std::string_view names) { return split(names, ','); }

std::vector<std::string> OptionTable::names() const {
  std::vector<std::string> all;
  for (const Entry& entry : entries_)
    for (const std::string_view name : split_names(entry.shape.names)) all.emplace_back(name);
  return all;
}

std::string OptionTable::help() const {
  std::string text;
  std::string_view section;
  for (const Entry& entry : entries_) {
    if (entry.section != section) {
      section = entry.section;
      text += fmt::format("\n{}:\n", section);
    }
    text += option_help(entry.shape);
  }
  return text;
}

}  // namespace ds::launcher
