// Option tables of other launchers: parser, notes and help. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

enum class Fate {
  taken,   // has its effect
  noted,   // has no effect here; a line says why
  quiet,   // has no effect here and needs no line
  refused  // an error: the job would not be what was asked for
};

/// The argument of an option that takes NAME=VALUE in a word, or NAME and VALUE in two.
inline constexpr std::string_view kPairInOneOrTwo = "NAME[=| ]VALUE";

struct ForeignOption {
  std::string_view names;     // spellings, "-np,--np"; messages use the first
  std::string_view argument;  // "N", or "NAME VALUE" for two words; empty for a flag
  Fate fate = Fate::taken;
  std::string_view meaning{};  // translation or reason; a sentence without a full stop
};

/// Syntax of a launcher's command line.
enum class Spelling {
  argparse,  // --long, also as a unique prefix, `_` like `-`; -m, -r3
  mpi,       // -np like --np
  getopt     // letters, also several in one word: -SNf8
};

/// One option as given.
struct ForeignGiven {
  std::size_t option = 0;  // index in the table
  std::string name{};      // as typed, without its value
  std::vector<std::string> values{};
  std::size_t word = 0;    // index of the word with the first value
  std::size_t offset = 0;  // first byte of the value in that word
};

struct ForeignWords {
  std::vector<ForeignGiven> given{};
  std::size_t rest = 0;  // index of the first word after the options
};

/// Parses options up to the first positional word; a `--` before it is skipped.
/// Errors:  Error{usage}: an unknown option (with the nearest known one), a missing value, or a
/// refused
///          option.
ForeignWords read_foreign(std::string_view launcher, std::span<const ForeignOption> table,
                          Spelling spelling, std::span<const std::string> words);

/// Returns a message in which options of dslaunch, with which a meaning in the table begins, are
/// replaced by those that stand for them in `words`; of several, by the first.
std::string in_typed_words(std::string_view message, std::span<const ForeignOption> table,
                           std::span<const std::string> words);

/// Returns one line for each given option without effect.
std::vector<std::string> notes_of(std::span<const ForeignOption> table, const ForeignWords& words);

/// Returns the --help text of a table.
std::string foreign_help(std::span<const ForeignOption> table);

/// Option with the function that applies it to `Part`; a launcher's table consists of these.
template <class Part>
struct ForeignDef {
  ForeignOption shape;
  void (*apply)(Part& part, const ForeignGiven& given) = nullptr;  // set only if Fate::taken
};

/// Function of tables: stores the value in the member at the end of `path`.
template <auto... path>
void take(auto& part, const ForeignGiven& given) {
  (part.*....*path) = given.values[0];
}

/// Function of tables: adds the value to the list at the end of `path`.
template <auto... path>
void take_more(auto& part, const ForeignGiven& given) {
  (part.*....*path).push_back(given.values[0]);
}

/// Function of tables: sets a flag.
template <auto... path>
void take_flag(auto& part, const ForeignGiven& /*given*/) {
  (part.*....*path) = true;
}

template <class Part>
std::vector<ForeignOption> shapes_of(std::span<const ForeignDef<Part>> defs) {
  std::vector<ForeignOption> shapes;
  for (const ForeignDef<Part>& def : defs) shapes.push_back(def.shape);
  return shapes;
}

template <class Part>
void apply_foreign(std::span<const ForeignDef<Part>> defs, const ForeignWords& words, Part& part) {
  for (const ForeignGiven& given : words.given)
    if (defs[given.option].apply != nullptr) defs[given.option].apply(part, given);
}

}  // namespace ds::launcher
