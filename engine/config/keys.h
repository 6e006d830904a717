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
  path,        // relative to the TOML file's folder; or a word of `choices`
  globs,       // one pattern or a list of them, relative as a path
  validation,  // globs, or a fraction
  betas,       // two numbers
  flag,        // true or false
  count,       // an integer, also written as 5e8; or a word of `choices`
  bytes,       // an integer or "8G"; or a word of `choices`
  folders      // a list of paths, which may be empty
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
/// Its parts.
std::span<const Key> model_keys();
std::span<const Key> optim_keys();
std::span<const Key> memory_keys();
std::span<const Key> checkpoint_keys();
std::span<const Key> run_keys();
/// The key of that name, or null.
const Key* find_key(std::string_view name);
/// Names (keys and whole sections) that have a meaning planned and are refused until it is built.
bool is_reserved(std::string_view name);
/// "fp32|bf16" to its words.
std::vector<std::string_view> split_words(std::string_view words);

/// Values that have a key and a meaning and are refused until they are built.
bool is_built(const Key& key, const ConfigValue& value);
/// The choices of a key that are built, as `choices`.
std::string built_choices(const Key& key);
/// True when only the default is built: the key is accepted and not documented yet.
bool only_default_built(const Key& key);

/// For people: "integer, 1 to 65536", "fp32 or bf16".
std::string describe_range(const Key& key);
/// The value as the key wants it: integers widened to numbers, single patterns to lists, paths made
/// absolute. Errors: Error{config} at the entry's value: wrong type, out of range, not built yet.
ConfigValue check_value(const Key& key, const Entry& entry);

}  // namespace ds
