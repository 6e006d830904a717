// Formatter for the help of an option table; split_words.cpp parses the command line with it.
#include "launcher/cli/option_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/split.h"

namespace ds::launcher {

namespace {

constexpr std::size_t kHelpColumn = 27;

/// Returns the left column of the help: "-h, --help" or "-x NAME[=value]".
std::string spelling(const OptionShape& shape) {
  std::string text = fmt::format("{}", fmt::join(shown_names(shape), ", "));
  if (shape.argument.empty()) return text;
  if (!shape.implied.empty()) return fmt::format("{}[={}]", text, shape.argument);
  return fmt::format("{} {}", text, shape.argument);
}

}  // namespace

std::string option_help(const OptionShape& shape) {
  std::string text = "  " + spelling(shape);
  text += text.size() + 2 > kHelpColumn ? "\n" + std::string(kHelpColumn, ' ')
                                        : std::string(kHelpColumn - text.size(), ' ');
  for (const char letter : shape.help) {
    text += letter;
    if (letter == '\n') text.append(kHelpColumn, ' ');
  }
  return text + '\n';
}

std::vector<std::string_view> shown_names(const OptionShape& shape) {
  std::vector<std::string_view> names = split_names(shape.names);
  std::stable_sort(names.begin(), names.end(), [](std::string_view a, std::string_view b) {
    return !a.starts_with("--") && b.starts_with("--");
  });
  return names;
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
