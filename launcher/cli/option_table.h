// Option table: one list of options drives the parser, the help, the man page and completion. Also
// contains the functions that parse and store the values of options.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
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

/// Whether options may follow the first positional word (`mixed`) or end there (`command`). Behind
/// "--" there are none.
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

// Values of options: parsers with their usage errors.

/// Throws Error{usage}.
[[noreturn]] void usage_error(const std::string& message, std::string hint = "see dslaunch --help");

/// Parses a number with an optional unit: 10, 2.5s, 500ms, 2m or 1h; without a unit it counts
/// seconds. Rounds to milliseconds, but only 0 to 0. Returns nothing if the text is anything else
/// or the duration is longer than a year.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// Parses an integer from `least` to `most`.
/// Errors of all parsers below:  Error{usage} naming the option, the accepted form and the value.
int number_value(const GivenOption& given, int least, int most);
/// Parses 10 (seconds), 1.5s, 500ms or 2m.
std::chrono::milliseconds duration_value(const GivenOption& given);
std::chrono::milliseconds positive_duration_value(const GivenOption& given);
/// Parses a duration that agents get, from `least` to 24 days: frames hold milliseconds in 32 bits,
/// and TCP_USER_TIMEOUT is an int.
std::chrono::milliseconds agent_duration_value(const GivenOption& given,
                                               std::chrono::milliseconds least = {});
std::string text_value(const GivenOption& given);
/// Parses USR1, SIGUSR1 or 10.
int signal_value(const GivenOption& given);
/// Returns the index of the value in `names`.
std::size_t choice_value(const GivenOption& given, std::span<const std::string_view> names);
/// Returns the index of the value in a list such as "slot|node".
std::size_t choice_value(const GivenOption& given, std::string_view names);

/// Text as a template argument.
template <std::size_t N>
struct Literal {
  char text[N];
  constexpr Literal(const char (&literal)[N]) { std::copy_n(literal, N, text); }
};

// Functions of option tables. Each stores the value in a member: `set_flag<&LogOptions::policy,
// &LogPolicy::fold>` sets part.policy.fold.

template <auto... path>
void set_flag(auto& part, const GivenOption& /*given*/) {
  (part.*....*path) = true;
}

template <auto... path>
void set_text(auto& part, const GivenOption& given) {
  (part.*....*path) = text_value(given);
}

template <auto... path>
void add_text(auto& part, const GivenOption& given) {
  (part.*....*path).push_back(text_value(given));
}

template <auto... path>
void set_duration(auto& part, const GivenOption& given) {
  (part.*....*path) = duration_value(given);
}

template <auto... path>
void set_positive_duration(auto& part, const GivenOption& given) {
  (part.*....*path) = positive_duration_value(given);
}

template <auto... path>
void set_grace(auto& part, const GivenOption& given) {
  (part.*....*path) = agent_duration_value(given);
}

template <auto... path>
void set_node_timeout(auto& part, const GivenOption& given) {
  (part.*....*path) = agent_duration_value(given, std::chrono::milliseconds(100));
}

template <int least, int most, auto... path>
void set_number(auto& part, const GivenOption& given) {
  auto& number = (part.*....*path);
  number = static_cast<std::remove_reference_t<decltype(number)>>(number_value(given, least, most));
}

/// The enumerators stand in the order of the names: `set_choice<"slot|node",
/// &HostOptions::map_by>`.
template <Literal names, auto... path>
void set_choice(auto& part, const GivenOption& given) {
  auto& value = (part.*....*path);
  value = static_cast<std::remove_reference_t<decltype(value)>>(choice_value(given, names.text));
}

}  // namespace ds::launcher
