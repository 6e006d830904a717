// Generator of the manual in markdown, one term and one description for each option, and its
// conversion to roff.
#include "launcher/cli/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <sstream>

#include "engine/base/split.h"
#include "launcher/cli/options.h"

namespace ds::launcher {

namespace {

constexpr std::size_t kColumns = 118;

/// Wraps `text` after ": " into lines of at most kColumns columns.
std::string description(std::string_view text) {
  std::string lines = ":";
  std::size_t column = 1;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const bool fits = column + 1 + word.size() <= kColumns;
    lines += (fits ? " " : "\n  ") + word;
    column = fits ? column + 1 + word.size() : 2 + word.size();
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

std::string entry_part(const OptionTable::Entry& entry, std::string_view note) {
  return fmt::format("\n{}\n{}", option_term(entry.shape, "**"),
                     description(sentence(entry.shape.help) + std::string(note)));
}

std::string options_part() {
  Options options;
  const OptionTable table = option_table(options);
  std::string text;
  std::string_view section;
  for (const OptionTable::Entry& entry : table.entries()) {
    if (entry.section != section) text += fmt::format("\n### {}\n", entry.section);
    section = entry.section;
    text += entry_part(entry, note_of(entry.shape));
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
  for (const OptionTable::Entry& entry : table.entries()) text += entry_part(entry, "");
  return text;
}

/// Escapes what roff would interpret.
std::string escaped(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out = "\\&";
  for (const char c : text) {
    if (c == '\\' || c == '-') out += '\\';
    out += c == '\\' ? 'e' : c;
  }
  return out;
}

/// Converts inline markup: `code` and **bold** become bold.
std::string inline_text(std::string_view text) {
  std::string out;
  for (bool bold = false;; bold = !bold) {
    const std::size_t at = std::min(text.find("**"), text.find('`'));
    out += escaped(text.substr(0, at));
    if (at == std::string_view::npos) return out + "\n";
    out += bold ? "\\fR" : "\\fB";
    text.remove_prefix(at + (text[at] == '*' ? 2 : 1));
  }
}

/// Converts markdown line by line.
class Roff {
 public:
  std::string convert(std::string_view markdown) {
    while (!markdown.empty()) line(take_line(markdown));
    end_code();
    return text_;
  }

 private:
  void line(std::string_view line) {
    const bool is_code = line.starts_with("    ");
    if (!is_code && !line.empty()) end_code();
    if (line.empty()) {
      if (in_code_) text_ += "\n";
      fresh_ = !headed_;
    } else if (is_code) {
      begin_code();
      text_ += escaped(line.substr(4)) + "\n";
    } else if (line.starts_with("# ")) {
      text_ += ".TH DSLAUNCH 1\n";
    } else if (line.starts_with("## ")) {
      std::string title(line.substr(3));
      for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      heading(".SH " + title);
    } else if (line.starts_with("### ")) {
      heading(fmt::format(".SS {}", line.substr(4)));
    } else if ((fresh_ || headed_) && line.starts_with("**")) {
      text_ += ".TP\n" + inline_text(line);
      fresh_ = headed_ = false;
    } else {
      paragraph(line);
    }
  }

  void heading(const std::string& request) {
    text_ += request + "\n";
    fresh_ = false;
    headed_ = true;
  }

  void paragraph(std::string_view line) {
    if (fresh_) text_ += ".PP\n";
    fresh_ = headed_ = false;
    if (line.starts_with(": ") || line.starts_with("  ")) line.remove_prefix(2);
    text_ += inline_text(line);
  }

  void begin_code() {
    if (!in_code_) text_ += headed_ ? ".RS 4\n.nf\n" : ".PP\n.RS 4\n.nf\n";
    in_code_ = true;
    fresh_ = headed_ = false;
  }
  void end_code() {
    if (!in_code_) return;
    while (text_.ends_with("\n\n")) text_.pop_back();
    text_ += ".fi\n.RE\n";
    in_code_ = false;
    fresh_ = true;
  }

  std::string text_;
  bool in_code_ = false;
  bool fresh_ = false;   // a new paragraph begins
  bool headed_ = false;  // the last line was a heading
};

}  // namespace

std::string manual(std::span<const Command> commands) {
  std::string text(kManualHead);
  text += options_part();
  text += "\n## Subcommands\n\nEvery subcommand has `--help`.\n";
  for (const Command& command : commands)
    if (!command.summary.empty()) text += command_part(command);
  return text + std::string(kManualTail);
}

std::string roff_of(std::string_view markdown) { return Roff().convert(markdown); }

}  // namespace ds::launcher
