// Options as data: one table gives the parser, the help, the man page and the completion.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ds::launcher {

/// How an option is written.
struct OptionShape {
  std::string_view names;     // "--hostfile" or "--include,-i"; the first one stands in messages
  std::string_view argument;  // "FILE"; empty: a flag
  std::string_view help;      // lines of at most 72 columns, separated by '\n'
  bool repeatable = false;
  std::string_view implied{};  // not empty: the value may be left out, and is this then
};

/// One option as typed: `name` is the first of its names.
struct GivenOption {
  std::string name;
  std::string value;  // empty for a flag
};

/// What an option does to the part of the options that it belongs to.
/// Errors:  Error{usage} from `apply` when the value makes no sense.
template <class Part>
struct OptionDef {
  OptionShape shape;
  void (*apply)(Part& part, const GivenOption& given);
};

constexpr std::string_view kHelpOrDashes =
    "see dslaunch --help; a program's own options stand after --";

/// Whether options may follow the first word that is none.
enum class Words { mixed, command };

class OptionTable {
 public:
  struct Entry {
    std::string_view section;
    OptionShape shape;
    std::function<void(const GivenOption&)> apply;
  };

  /// Adds options that write into `part`, which must outlive read().
  template <class Part>
  void add(std::string_view section, std::span<const OptionDef<Part>> defs, Part& part) {
    for (const OptionDef<Part>& def : defs)
      entries_.push_back({section, def.shape,
                          [&part, apply = def.apply](const GivenOption& g) { apply(part, g); }});
  }

  void add(Entry entry) { entries_.push_back(std::move(entry)); }

  /// Applies what is given, in the order of the table, equal options in the order of `args`.
  /// Long options may be written with underscores. Returns the words that are no options.
  /// Errors:  Error{usage}: an unknown option (with the nearest known one), a missing value, an
  ///          option given twice that is not repeatable.
  /// `unknown_hint`: what to do about an unknown option that is near no known one.
  std::vector<std::string> read(std::vector<std::string> args, Words words,
                                std::string_view unknown_hint = kHelpOrDashes) const;

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// Every spelling, with its dashes.
  [[nodiscard]] std::vector<std::string> names() const;
  /// The sections with their options, two columns, at most 100 wide.
  [[nodiscard]] std::string help() const;

 private:
  std::vector<Entry> entries_;
};

/// "--include,-i" -> {"--include", "-i"}.
std::vector<std::string_view> split_names(std::string_view names);
/// The same, short spellings first, as they are shown.
std::vector<std::string_view> shown_names(const OptionShape& shape);
/// The lines of one option in the help.
std::string option_help(const OptionShape& shape);

}  // namespace ds::launcher
