// Parser of foreign options: spellings, values, notes and help.
#include "launcher/disguise/foreign_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/base/nearest_word.h"
#include "launcher/cli/option_table.h"

namespace ds::launcher {

namespace {

constexpr std::size_t kHelpColumn = 34;
constexpr const char* kEndsWord = " ,:;=[\n";

std::string bare(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::size_t values_of(const ForeignOption& option) {
  if (option.argument.empty()) return 0;
  return 1 +
         static_cast<std::size_t>(std::count(option.argument.begin(), option.argument.end(), ' '));
}

/// Returns the first of `words` that stands for `own`, an option of dslaunch; else `own`.
std::string_view typed_for(std::string_view own, std::span<const ForeignOption> table,
                           std::span<const std::string> words) {
  for (const std::string_view word : words) {
    if (!word.starts_with('-')) continue;
    const std::string_view typed = word.substr(0, word.find('='));
    for (const ForeignOption& option : table) {
      if (option.meaning.substr(0, option.meaning.find_first_of(kEndsWord)) != own) continue;
      for (const std::string_view name : split_names(option.names))
        if (bare(name) == bare(typed)) return typed;
    }
  }
  return own;
}

class Reader {
 public:
  Reader(std::string_view launcher, std::span<const ForeignOption> table, Spelling spelling,
         std::span<const std::string> words)
      : launcher_(launcher), table_(table), spelling_(spelling), words_(words) {}

  ForeignWords read() {
    while (at_ < words_.size() && words_[at_].size() > 1 && words_[at_].front() == '-') {
      if (words_[at_] == "--") {
        ++at_;
        break;
      }
      read_option();
    }
    result_.rest = at_;
    return std::move(result_);
  }

 private:
  void read_option() {
    const std::string& word = words_[at_];
    if (spelling_ == Spelling::getopt) return read_letters(word);
    const std::size_t equals = std::min(word.find('='), word.size());
    std::string name = word.substr(0, equals);
    std::size_t attached = equals < word.size() ? equals + 1 : 0;
    std::optional<std::size_t> option = find(name);
    if (!option && is_short(word)) {  // -r3
      name = word.substr(0, 2);
      attached = 2;
      option = find(name);
      if (option && table_[*option].argument.empty()) option.reset();
    }
    if (!option) unknown(word.substr(0, equals));
    take(*option, name, attached);
  }

  void read_letters(const std::string& word) {
    const std::size_t own = at_;
    for (std::size_t letter = 1; at_ == own; ++letter) {
      const std::string name = {'-', word[letter]};
      const std::optional<std::size_t> option = find(name);
      if (word[1] == '-' || !option) unknown(word[1] == '-' ? word : name);
      const bool is_last = letter + 1 == word.size();
      const bool is_flag = values_of(table_[*option]) == 0;
      take(*option, name, is_flag || is_last ? 0 : letter + 1);
      if (is_flag && !is_last) --at_;
    }
  }

  [[nodiscard]] bool is_short(const std::string& word) const {
    return spelling_ == Spelling::argparse && word.size() > 2 && word[1] != '-';
  }

  void take(std::size_t option, const std::string& name, std::size_t attached) {
    const ForeignOption& shape = table_[option];
    if (shape.fate == Fate::refused)
      usage_error(fmt::format("{}: {} is not supported", launcher_, name),
                  std::string(shape.meaning));
    ForeignGiven given{.option = option, .name = name};
    const std::size_t wanted = values_of(shape);
    if (wanted == 0 && attached > 0)
      usage_error(fmt::format("{}: {} takes no value", launcher_, name), see_help());
    given.word = attached > 0 ? at_ : at_ + 1;
    given.offset = attached;
    if (attached > 0) given.values.push_back(words_[at_].substr(attached));
    ++at_;
    const auto is_whole = [&] {
      return shape.argument == kPairInOneOrTwo && !given.values.empty() &&
             given.values.front().find('=') != std::string::npos;
    };
    while (given.values.size() < wanted && !is_whole()) {
      if (at_ == words_.size())
        usage_error(fmt::format("{}: {} needs {}", launcher_, name,
                                wanted == 1 ? "a value" : std::string(shape.argument)),
                    see_help());
      given.values.push_back(words_[at_++]);
    }
    result_.given.push_back(std::move(given));
  }

  /// Finds an option by its exact name; for argparse also by a unique prefix.
  [[nodiscard]] std::optional<std::size_t> find(const std::string& typed) const {
    const bool one_dash = spelling_ != Spelling::mpi && !typed.starts_with("--");
    const std::string name = bare(typed);
    std::vector<std::size_t> beginning;
    for (std::size_t i = 0; i < table_.size(); ++i) {
      for (const std::string_view spelling : split_names(table_[i].names)) {
        if (one_dash ? spelling == typed : bare(spelling) == name) return i;
        const bool may = spelling_ == Spelling::argparse && !one_dash && spelling.starts_with("--");
        if (may && bare(spelling).starts_with(name) && (beginning.empty() || beginning.back() != i))
          beginning.push_back(i);
      }
    }
    return beginning.size() == 1 ? std::optional(beginning.front()) : std::nullopt;
  }

  [[noreturn]] void unknown(const std::string& typed) const {
    std::vector<std::string_view> known;
    for (const ForeignOption& option : table_)
      for (const std::string_view name : split_names(option.names)) known.push_back(name);
    const std::string near = typed.size() > 2 ? nearest_word(typed, known) : "";
    usage_error(fmt::format("{}: unknown option {}", launcher_, typed),
                near.empty() ? see_help() : fmt::format("did you mean {}?", near));
  }

  [[nodiscard]] std::string see_help() const {
    return fmt::format("see dslaunch as {} --help", launcher_);
  }

  std::string_view launcher_;
  std::span<const ForeignOption> table_;
  Spelling spelling_;
  std::span<const std::string> words_;
  std::size_t at_ = 0;
  ForeignWords result_;
};

}  // namespace

ForeignWords read_foreign(std::string_view launcher, std::span<const ForeignOption> table,
                          Spelling spelling, std::span<const std::string> words) {
  return Reader(launcher, table, spelling, words).read();
}

std::string in_typed_words(std::string_view message, std::span<const ForeignOption> table,
                           std::span<const std::string> words) {
  std::string text;
  while (!message.empty()) {
    const std::size_t end = std::max<std::size_t>(message.find_first_of(kEndsWord), 1);
    const std::string_view word = message.substr(0, end);
    text += word.starts_with('-') ? typed_for(word, table, words) : word;
    message.remove_prefix(word.size());
  }
  return text;
}

std::vector<std::string> notes_of(std::span<const ForeignOption> table, const ForeignWords& words) {
  std::vector<std::string> notes;
  for (const ForeignGiven& given : words.given) {
    const ForeignOption& option = table[given.option];
    if (option.fate != Fate::noted) continue;
    std::string note = fmt::format("{} has no effect: {}", given.name, option.meaning);
    if (std::find(notes.begin(), notes.end(), note) == notes.end())
      notes.push_back(std::move(note));
  }
  return notes;
}

std::string foreign_help(std::span<const ForeignOption> table) {
  std::string text;
  for (const ForeignOption& option : table) {
    std::string line = "  ";
    for (const std::string_view name : split_names(option.names))
      line += fmt::format("{}{}", line.size() > 2 ? ", " : "", name);
    if (!option.argument.empty()) line += fmt::format(" {}", option.argument);
    line += line.size() + 2 > kHelpColumn ? "\n" + std::string(kHelpColumn, ' ')
                                          : std::string(kHelpColumn - line.size(), ' ');
    const char* const fate = option.fate == Fate::taken     ? ""
                             : option.fate == Fate::refused ? "refused: "
                                                            : "no effect: ";
    text += fmt::format("{}{}{}\n", line, fate, option.meaning);
  }
  return text;
}

}  // namespace ds::launcher
