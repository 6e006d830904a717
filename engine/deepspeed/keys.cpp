// Joins the parts of the table and looks paths up in it.
#include "engine/deepspeed/keys.h"

#include <algorithm>

#include "engine/base/nearest_word.h"

namespace ds {
namespace {

constexpr std::string_view kAnyBelow = ".**";

std::vector<DsKey> joined() {
  std::vector<DsKey> keys;
  for (const std::span<const DsKey> part : {ds_training_keys(), ds_zero_keys(), ds_other_keys()})
    keys.insert(keys.end(), part.begin(), part.end());
  return keys;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = text.find(separator);
    words.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

/// Returns whether `path` is below `section`.
bool is_below(std::string_view path, std::string_view section) {
  return path.size() > section.size() && path.starts_with(section) && path[section.size()] == '.';
}

/// Returns whether `rest`, a path below a section, is this part, an object above it, or below a
/// part of any form.
bool matches(std::string_view part, std::string_view rest) {
  const bool any_below = part.ends_with(kAnyBelow);
  if (any_below) part.remove_suffix(kAnyBelow.size());
  const std::vector<std::string_view> names = split(part, '.'), given = split(rest, '.');
  if (given.size() > names.size() && !any_below) return false;
  for (std::size_t i = 0; i < std::min(names.size(), given.size()); ++i)
    if (names[i] != "*" && names[i] != given[i]) return false;
  return true;
}

std::string_view last_name(std::string_view path) { return path.substr(path.rfind('.') + 1); }

}  // namespace

std::span<const DsKey> ds_keys() {
  static const std::vector<DsKey> keys = joined();
  return keys;
}

const DsKey* find_ds_key(std::string_view path) {
  const auto found = std::ranges::find(ds_keys(), path, &DsKey::path);
  return found == ds_keys().end() ? nullptr : &*found;
}

const DsKey* section_of_ds_key(std::string_view path) {
  const auto found = std::ranges::find_if(ds_keys(), [path](const DsKey& key) {
    return !key.parts.empty() && is_below(path, key.path);
  });
  return found == ds_keys().end() ? nullptr : &*found;
}

bool has_ds_keys_below(std::string_view path) {
  return std::ranges::any_of(ds_keys(),
                             [path](const DsKey& key) { return is_below(key.path, path); });
}

bool is_known_ds_key(std::string_view path) {
  if (find_ds_key(path) != nullptr || has_ds_keys_below(path)) return true;
  const DsKey* section = section_of_ds_key(path);
  if (section == nullptr) return false;
  const std::string_view rest = path.substr(section->path.size() + 1);
  return std::ranges::any_of(split(section->parts, ' '),
                             [rest](std::string_view part) { return matches(part, rest); });
}

std::vector<std::string> all_ds_paths() {
  std::vector<std::string> paths;
  for (const DsKey& key : ds_keys()) {
    paths.emplace_back(key.path);
    for (std::string_view part : split(key.parts, ' ')) {
      if (part.ends_with(kAnyBelow)) part.remove_suffix(kAnyBelow.size());
      paths.push_back(std::string(key.path) + "." + std::string(part));
    }
  }
  return paths;
}

std::string nearest_ds_key(std::string_view path) {
  const std::vector<std::string> paths = all_ds_paths();
  const std::vector<std::string_view> known(paths.begin(), paths.end());
  const auto same_name = std::ranges::find(known, last_name(path), last_name);
  if (same_name != known.end()) return std::string(*same_name);
  std::vector<std::string_view> siblings;
  const std::size_t dot = path.rfind('.');
  const std::string_view section = dot == std::string_view::npos ? "" : path.substr(0, dot);
  for (const std::string_view other : known) {
    const bool inside = section.empty() || is_below(other, section);
    if (!inside) continue;
    // Sections are known by the first part of their keys' paths.
    const std::size_t from = section.empty() ? 0 : section.size() + 1;
    siblings.push_back(other.substr(from, other.find('.', from) - from));
  }
  const std::string near = nearest_word(last_name(path), siblings);
  if (!near.empty()) return section.empty() ? near : std::string(section) + "." + near;
  std::vector<std::string_view> names;
  for (const std::string_view other : known) names.push_back(last_name(other));
  const std::string elsewhere = nearest_word(last_name(path), names);
  const auto place = std::ranges::find(known, std::string_view(elsewhere), last_name);
  return elsewhere.empty() ? "" : std::string(*place);
}

}  // namespace ds
