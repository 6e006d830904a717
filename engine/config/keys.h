// The table of train.toml's keys. Reading, overrides, printing, the comparison among ranks and
// docs/config.md all follow it.
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
  path,        // relative to the folder of the TOML file; or a word of `choices`
  globs,       // one pattern or a list of patterns, relative like a path
  validation,  // globs, a table of named globs, or a fraction
  names,       // a word of `choices`, a pattern, or a list of them, which may be empty
  betas,       // two numbers
  numbers,     // a list of numbers, which may be empty
  flag,        // true or false
  count,       // an integer (5e8 is one too) or a word of `choices`
  bytes,       // an integer, a size such as "8G", or a word of `choices`
  folders,     // a list of paths, which may be empty
  place,       // true or false, or a folder that is relative like a path
  steps        // a step, a range of steps such as "20-22", or ""; kept as text
};

struct Key {
  std::string_view name;
  KeyKind kind;
  /// Whether the value changes the bits of the result. All ranks must agree on such a value
  /// (ARCHITECTURE.md, "Same bits").
  bool arithmetic;
  double min, max;           // inclusive range of integers and numbers
  std::string_view choices;  // "fp32|bf16", in the order of the enum
  std::string_view later;    // planned words, refused until then; "*" = every other word
  std::string_view default_text;
  std::string_view help;
  void (*set)(TrainConfig&, const ConfigValue&);  // the value has passed check_value()
  ConfigValue (*get)(const TrainConfig&);
};

/// Returns the whole table.
std::span<const Key> all_keys();
/// The parts of the table.
std::span<const Key> model_keys();
std::span<const Key> lora_keys();
std::span<const Key> optim_keys();
std::span<const Key> memory_keys();
std::span<const Key> checkpoint_keys();
std::span<const Key> run_keys();
/// Returns the key with that name, or null.
const Key* find_key(std::string_view name);
/// Returns whether `name` (a key or a whole section) is reserved for a feature that is planned.
bool is_reserved(std::string_view name);
/// Splits "fp32|bf16" into its words.
std::vector<std::string_view> split_words(std::string_view words);

/// Returns whether this value of the key is implemented.
bool is_built(const Key& key, const ConfigValue& value);
/// Returns the implemented choices of a key, in the form of `choices`.
std::string built_choices(const Key& key);
/// Returns whether only the default is implemented. Such a key is accepted but not documented yet.
bool only_default_built(const Key& key);

/// Describes the accepted values for messages: "an integer, 1 to 65536", "fp32 or bf16".
std::string describe_range(const Key& key);
/// Returns the value in the form that the key stores: integers as numbers, single patterns as
/// lists, paths made absolute. Errors: Error{config} at the entry's value for a wrong type, a value
/// out of range, a value that is not implemented.
ConfigValue check_value(const Key& key, const Entry& entry);

}  // namespace ds
