// Option table: one list of options drives the parser, the help, the man page and completion.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace ds::launcher {

/// Names, argument and help of an option.
struct OptionShape {
  std::string_view names;     // "--hostfile" or "--include,-i"; messages use the first name
  std::string_view argument;  // "FILE"; empty for a flag
  std::string_view help;      // lines of at most 72 columns, separated by '\n'
  bool repeatable = false;
  std::string_view implied{};  // if not empty, the value is optional and defaults to this
};

/// One option as given; `name` is the first of its names.
struct GivenOption {
  std::string name;
  std::string value;  // empty for a flag
};

/// Option with the function that stores its value in a struct of options.
/// Errors:  Error{usage} from `apply` if the value is invalid.
template <class Part>
struct OptionDef {
  using Values = Part;
  OptionShape shape;
  void (*apply)(Part& part, const GivenOption& given);
};

constexpr std::string_view kHelpOrDashes =
    "see dslaunch --help; a program's own options stand after --";

/// Whether options may follow the first positional word (`mixed`) or end there (`command`).
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
  void add(std::string_view section, const auto& defs, Part& part) {
    for (const OptionDef<Part>& def : defs)
      entries_.push_back({section, def.shape,
                          [&part, apply = def.apply](const GivenOption& g) { apply(part, g); }});
  }

  void add(Entry entry) { entries_.push_back(std::move(entry)); }

  /// Parses `args` and applies the options in table order; a repeated option in the order of
  /// `args`. Long options may be written with underscores. Returns the positional words.
  /// Errors:  Error{usage}: an unknown option (with the nearest known one), a missing value, an
  ///          option given twice that is not repeatable.
  /// `unknown_hint`: hint for an unknown option that resembles no known one.
  std::vector<std::string> read(std::vector<std::string> args, Words words,
                                std::string_view unknown_hint = kHelpOrDashes) const;

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// Returns every spelling, with its dashes.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Returns the sections with their options in two columns, at most 100 columns wide.
  [[nodiscard]] std::string help() const;

 private:
  std::vector<Entry> entries_;
};

/// Returns a table with the one section "Options".
OptionTable table_of(const auto& defs, auto& part) {
  OptionTable table;
  table.add("Options", defs, part);
  return table;
}

/// Returns this table for help, manual and completion: its values are never read.
template <const auto& defs>
OptionTable shown_table() {
  static typename std::remove_cvref_t<decltype(defs[0])>::Values unused;
  return table_of(defs, unused);
}
/// Does the same for a function that makes a table.
template <class Part, OptionTable (*table)(Part&)>
OptionTable shown_table() {
  static Part unused;
  return table(unused);
}

/// Splits "--include,-i" into {"--include", "-i"}.
std::vector<std::string_view> split_names(std::string_view names);
/// Returns "-h, --help" or "-x NAME[=value]", short names first, each name between two `mark`s.
std::string option_term(const OptionShape& shape, std::string_view mark = "");
/// Returns the help lines of one option.
std::string option_help(const OptionShape& shape);

}  // namespace ds::launcher
