// Reads the file and the overrides, applies entries through the key table, and collects errors.
#include "engine/config/load.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/base/nearest_word.h"
#include "engine/config/deepspeed_file.h"
#include "engine/config/from_folder.h"
#include "engine/config/keys.h"
#include "engine/config/resolve.h"
#include "engine/config/toml_reader.h"

namespace ds {
namespace {

constexpr std::size_t kMaxListedErrors = 8;
constexpr std::uintmax_t kMaxFileBytes = 1 << 20;  // a train.toml is about a page long

std::string read_file(const std::string& path) {
  std::error_code status;
  if (std::filesystem::is_directory(path, status)) {
    throw Error(ErrorKind::config, fmt::format("{}: is a folder, not a train.toml", path),
                "name the file inside it");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(ErrorKind::config,
                fmt::format("{}: cannot be read: {}", path, std::strerror(errno)),
                "check the path; the folder configs/ has ready ones");
  }
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    throw Error(ErrorKind::config,
                fmt::format("{}: longer than 1 MiB, which a train.toml never is", path),
                "pass the train.toml; data files are named inside it");
  }
  return text;
}

/// Returns the entries of the file, then those of the overrides.
std::vector<Entry> read_own_entries(const LoadRequest& request) {
  const std::string text = read_file(request.path);
  const std::string folder = std::filesystem::path(request.path).parent_path();
  std::vector<Entry> entries = read_toml(text, request.path, folder);
  int number = 0;
  for (const std::string& assignment : request.overrides)
    entries.push_back(read_override(assignment, ++number, ""));
  return entries;
}

/// Returns them with those of a DeepSpeed configuration if one is named.
std::vector<Entry> read_entries(const LoadRequest& request) {
  return with_deepspeed(read_own_entries(request));
}

/// Returns true for "batch", and for "batch." plus anything, when "batch.micro" is a key.
bool is_section(std::string_view name) {
  return std::ranges::any_of(all_keys(), [name](const Key& key) {
    return key.name.starts_with(name) && key.name.size() > name.size() &&
           key.name[name.size()] == '.';
  });
}

std::string_view leaf(std::string_view name) {
  return name.substr(name.rfind('.') == std::string_view::npos ? 0 : name.rfind('.') + 1);
}

/// Returns the hint for a mistyped key: the nearest key by spelling, or the key of the same name in
/// another section.
std::string suggestion(std::string_view typed) {
  std::vector<std::string_view> names;
  for (const Key& key : all_keys()) names.push_back(key.name);
  const auto same_leaf = std::ranges::find(names, leaf(typed), leaf);
  std::string near = nearest_word(typed, names);
  if (near.empty() && same_leaf != names.end()) near = *same_leaf;
  return near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near);
}

/// Returns the first key of a section, as an example.
std::string_view first_key(std::string_view section) {
  const auto key = std::ranges::find_if(all_keys(), [section](const Key& k) {
    return k.name.starts_with(section) && k.name.substr(section.size()).starts_with('.');
  });
  return key->name;
}

Error unknown_key(const Entry& entry) {
  if (is_section(entry.key)) {
    return entry_error(entry.place, Point::key,
                       fmt::format("{} is a section, not a key", entry.key),
                       fmt::format("its keys are written under [{}], or as {} = ...", entry.key,
                                   first_key(entry.key)));
  }
  if (is_reserved(entry.key)) {
    return entry_error(entry.place, Point::key, fmt::format("{} is not implemented yet", entry.key),
                       "leave it out");
  }
  return entry_error(entry.place, Point::key,
                     fmt::format("unknown key \"{}\"{}", entry.key, suggestion(entry.key)),
                     "docs/config.md lists every key");
}

/// Joins the errors into one Error, which keeps the hint of the last one.
Error combined(const std::vector<Error>& errors) {
  std::string message;
  for (std::size_t i = 0; i + 1 < errors.size(); ++i) message += errors[i].for_people() + "\n";
  return {errors.back().kind(), message + errors.back().what(), errors.back().hint()};
}

}  // namespace

TrainConfig make_train_config(const std::vector<Entry>& entries, const std::string& source,
                              std::int64_t world_size, std::int64_t most_ranks) {
  TrainConfig config;
  GivenKeys given{source, {}};
  std::vector<Error> errors;
  for (const Entry& entry : entries) {
    const bool empty_section =
        std::holds_alternative<ConfigValue::Other>(entry.value.held) && is_section(entry.key);
    if (empty_section) continue;
    const Key* key = find_key(entry.key);
    try {
      if (key == nullptr) throw unknown_key(entry);
      key->set(config, check_value(*key, entry));
      given.places.insert_or_assign(entry.key, entry.place);
    } catch (const Error& error) {
      errors.push_back(error);
    }
    if (errors.size() == kMaxListedErrors) break;
  }
  if (!errors.empty()) throw combined(errors);
  apply_folder(config, given);
  resolve(config, given, {.now = world_size, .most = most_ranks});
  return config;
}

std::string load_note(const LoadRequest& request) {
  return deepspeed_note(read_own_entries(request));
}

bool gives_key(const LoadRequest& request, std::string_view key) {
  bool given = false;
  for (const Entry& entry : read_entries(request)) {
    if (entry.key == key) given = entry.value != ConfigValue{std::string("auto")};
  }
  return given;
}

TrainConfig load_train_config(const LoadRequest& request) {
  return make_train_config(read_entries(request), request.path, request.world_size,
                           request.most_ranks);
}

}  // namespace ds
