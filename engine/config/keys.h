// The one table of train.toml's keys: it drives reading, overrides, printing, the ranks' hash and
// docs/config.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config/entry.h"
#include "engine/config/train_config.h"

namespace ds {

enum class KeyKind : std::uint8_t {
  integer,
  number,
  choice,  // one word of `choices`
  text,
  path,        // relative to the TOML file's folder
  globs,       // one pattern or a list of them, relative as a path
  validation,  // globs, or a fraction
  betas        // two numbers
};

struct Key {
  std::string_view name;
  KeyKind kind;
  /// Changes the bits of the result, so all ranks must agree on it (ARCHITECTURE.md, "Same bits").
  bool arithmetic;
  double min, max;           // Of integers and numbers, ends included.
  std::string_view choices;  // "fp32|bf16", in the order of the enum.
  std::string_view later;    // Words that are planned and refused; "*" = every other word.
  std::string_view default_text;
  std::string_view help;
  void (*set)(TrainConfig&, const ConfigValue&);  // The value has passed check_value().
  ConfigValue (*get)(const TrainConfig&);
};

std::span<const Key> all_keys();
/// The key of that name, or null.
const Key* find_key(std::string_view name);
/// Names (keys and whole sections) that have a meaning planned and are refused until it is built.
bool is_reserved(std::string_view name);
/// "fp32|bf16" to its words.
std::vector<std::string_view> split_words(std::string_view words);

/// For people: "integer, 1 to 65536", "fp32 or bf16".
std::string describe_range(const Key& key);
/// The value as the key wants it: integers widened to numbers, single patterns to lists, paths made
/// absolute. Errors: Error{config} at the entry's value: wrong type, out of range, not built yet.
ConfigValue check_value(const Key& key, const Entry& entry);

}  // namespace ds
