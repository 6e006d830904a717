// The table of DeepSpeed's configuration keys: what dslaunch does with each. Conversion and
// docs/deepspeed.md follow it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds {

enum class DsFate : std::uint8_t {
  mapped,     // becomes the key `toml` of train.toml
  always,     // dslaunch does this in any case
  no_matter,  // no effect on the results of dslaunch
  refused     // changes results in a way that dslaunch does not have
};

struct DsKey {
  std::string_view path;  // "fp16.loss_scale"
  DsFate fate;
  /// The key of train.toml; for some keys a phrase, because other keys decide which one it is.
  std::string_view toml{};
  /// The sentence of the page and of messages: how it is converted, why it is passed over, or why
  /// it is refused and what to do.
  std::string_view text{};
  /// Refused keys: values that ask for nothing, separated by '|'. "@off": an object whose "enabled"
  /// is missing or false.
  std::string_view harmless{};
  /// The keys below a section that has one row: separated by blanks, "*" for any name, a last ".**"
  /// for values of any form. Without parts, the value may have any form.
  std::string_view parts{};
  /// Copied to `toml` as it is, numbers such as 5e8 as integers. Other mapped keys are converted by
  /// convert_*.cpp.
  bool copied = false;
};

/// Returns the whole table.
std::span<const DsKey> ds_keys();
/// The parts of the table.
std::span<const DsKey> ds_training_keys();
std::span<const DsKey> ds_zero_keys();
std::span<const DsKey> ds_other_keys();

/// Returns the row of exactly that path, or null.
const DsKey* find_ds_key(std::string_view path);
/// Returns the row of the nearest section with parts that contains `path`, or null.
const DsKey* section_of_ds_key(std::string_view path);
/// Returns whether the table has rows below `path`, so that `path` is an object.
bool has_ds_keys_below(std::string_view path);
/// Returns whether `path` is a key that the table knows: a row, a part, or an object above one.
bool is_known_ds_key(std::string_view path);
/// Returns the known key that was probably meant by an unknown path, or "".
std::string nearest_ds_key(std::string_view path);
/// Returns every key, parts included, as full paths.
std::vector<std::string> all_ds_paths();

/// Returns docs/deepspeed.md.
std::string deepspeed_reference();

}  // namespace ds
