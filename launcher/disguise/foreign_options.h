// Options of other launchers as data: what each takes, and what becomes of it. Pure.
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
  noted,   // has none here; a line says why
  quiet,   // has none here, and nobody misses it
  refused  // without it the job would not be what was asked for
};

struct ForeignOption {
  std::string_view names;     // "-np,--np": spellings, the first one stands in messages
  std::string_view argument;  // "N", or "NAME VALUE": a word each; empty: a flag
  Fate fate = Fate::taken;
  std::string_view meaning{};  // what it becomes, or why not; one sentence without its end
};

/// How a launcher reads its command line.
enum class Spelling {
  argparse,  // --long, also shortened while it is clear, `_` as `-`; -m, -r3
  mpi        // -np as --np
};

/// One option as typed.
struct ForeignGiven {
  std::size_t option = 0;  // in the table
  std::string name{};      // as typed, without its value
  std::vector<std::string> values{};
  std::size_t word = 0;    // where the first value stands
  std::size_t offset = 0;  // and at which byte of it
};

struct ForeignWords {
  std::vector<ForeignGiven> given{};
  std::size_t rest = 0;  // the first word that is none of the options and their values
};

/// Reads up to the first word that is no option; a `--` before it is left out.
/// Errors:  Error{usage}: an unknown option, with the nearest known one; a missing value; one that
///          is refused.
ForeignWords read_foreign(std::string_view launcher, std::span<const ForeignOption> table,
                          Spelling spelling, std::span<const std::string> words);

/// The lines about options that have no effect, each option once.
std::vector<std::string> notes_of(std::span<const ForeignOption> table, const ForeignWords& words);

/// What --help prints of a table.
std::string foreign_help(std::span<const ForeignOption> table);

/// An option and what it does to `Part`; the table of a launcher is made of them.
template <class Part>
struct ForeignDef {
  ForeignOption shape;
  void (*apply)(Part& part, const ForeignGiven& given) = nullptr;  // only of those that are taken
};

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
