// Reads a DeepSpeed configuration, turns settings into entries, and compares them with
// train.toml's.
#include "engine/config/deepspeed_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "engine/config/from_folder.h"
#include "engine/config/keys.h"
#include "engine/config/resolve_sections.h"

namespace ds {
namespace {

constexpr std::string_view kKey = "deepspeed";
constexpr std::size_t kMaxFileBytes = 1 << 20;

std::string read_text(const std::string& path) {
  std::error_code status;
  if (std::filesystem::is_directory(path, status)) {
    throw Error(ErrorKind::config,
                fmt::format("{}: is a folder, not a DeepSpeed configuration", path),
                "name the JSON file inside it");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(ErrorKind::config,
                fmt::format("{}: cannot be read: {}", path, std::strerror(errno)),
                "check the path");
  }
  std::string text(kMaxFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMaxFileBytes) {
    throw Error(ErrorKind::config,
                fmt::format("{}: longer than 1 MiB, which a configuration never is", path));
  }
  return text;
}

ConfigValue to_config_value(const DsValue& value) {
  return std::visit(
      [](const auto& held) -> ConfigValue {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::vector<double>> ||
                      std::is_same_v<Held, std::vector<std::string>>) {
          ConfigValue::List list;
          for (const auto& element : held) list.push_back({element});
          return {std::move(list)};
        } else {
          return {held};
        }
      },
      value);
}

Entry to_entry(const DsSetting& setting, const JsonFile& file, const std::string& folder) {
  const JsonSpot name = spot_of(file, setting.name_offset);
  const JsonSpot value = spot_of(file, setting.value_offset);
  const bool same_line = name.line == value.line;
  return {setting.key,
          to_config_value(setting.value),
          {std::string(file.name), name.line, std::string(name.text), name.offset,
           same_line ? value.offset : name.offset},
          folder};
}

/// Returns the value in the form that its key stores; nothing if the key refuses it, which
/// make_train_config() will report.
std::optional<ConfigValue> stored(const Entry& entry) {
  const Key* key = find_key(entry.key);
  if (key == nullptr) return std::nullopt;
  try {
    return check_value(*key, entry);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Returns the last entry of a key, or null.
const Entry* last_of(const std::vector<Entry>& entries, std::string_view key) {
  const auto found = std::find_if(entries.rbegin(), entries.rend(),
                                  [key](const Entry& entry) { return entry.key == key; });
  return found == entries.rend() ? nullptr : &*found;
}

bool is_override(const Entry& entry) { return entry.place.line == 0; }

/// Returns the model's width as far as these entries define it, else 0.
std::int64_t hidden_of(const std::vector<Entry>& entries) {
  TrainConfig config;
  GivenKeys given{"", {}};
  try {
    for (const Entry& entry : entries) {
      const Key* key = find_key(entry.key);
      if (key == nullptr || !entry.key.starts_with("model.")) continue;
      key->set(config, check_value(*key, entry));
      given.places.insert_or_assign(entry.key, entry.place);
    }
    apply_folder(config, given);
    resolve_model(config.model, given);
  } catch (const Error&) {
    return 0;  // the same error will end the job where the whole configuration is made
  }
  return config.model.hidden;
}

DsContext context_of(const std::vector<Entry>& entries) {
  const Entry* dtype = last_of(entries, "precision.dtype");
  const auto* word = dtype == nullptr ? nullptr : std::get_if<std::string>(&dtype->value.held);
  return {.hidden = hidden_of(entries), .dtype = word == nullptr ? "" : *word};
}

std::string at(const Place& place) { return fmt::format("{}:{}", place.source, place.line); }

/// Returns the file that the key `deepspeed` names, and removes the key; nothing if there is none.
std::optional<DeepSpeedFile> take_deepspeed(std::vector<Entry>& entries) {
  const Entry* named = last_of(entries, kKey);
  if (named == nullptr) return std::nullopt;
  const Entry entry = *named;
  std::erase_if(entries, [](const Entry& other) { return other.key == kKey; });
  const Key path_key{kKey, KeyKind::path, false, 0, 0, "", "", "", "", nullptr, nullptr};
  const ConfigValue path = check_value(path_key, entry);
  return read_deepspeed(std::get<std::string>(path.held), context_of(entries));
}

/// Lists every key to which train.toml gives another value than the JSON.
void need_agreement(const std::vector<Entry>& file, const DeepSpeedFile& json) {
  std::string message;
  int count = 0;
  for (const Entry& theirs : json.given) {
    const Entry* ours = last_of(file, theirs.key);
    if (ours == nullptr) continue;
    const std::optional<ConfigValue> a = stored(*ours), b = stored(theirs);
    if (!a || !b || *a == *b) continue;
    message += fmt::format("\n  {}: {} = {}, but {}: {} is {}", at(ours->place), theirs.key,
                           to_toml(ours->value), at(theirs.place),
                           json.conversion.find(theirs.key)->from, to_toml(theirs.value));
    ++count;
  }
  if (count == 0) return;
  throw Error(
      ErrorKind::config,
      fmt::format("{}: {} of {}'s keys {}:{}", file.front().place.source, count, json.path,
                  count == 1 ? "has another value here" : "have other values here", message),
      "delete each of them in one of the two files");
}

}  // namespace

DeepSpeedFile read_deepspeed(const std::string& path, const DsContext& context) {
  DeepSpeedFile read{
      .path = path, .text = read_text(path), .conversion = {}, .defaults = {}, .given = {}};
  const JsonFile file{read.text, read.path};
  const std::string folder = std::filesystem::path(path).parent_path();
  read.conversion = convert_deepspeed(file, context);
  for (const DsSetting& setting : read.conversion.settings) {
    Entry entry = to_entry(setting, file, folder);
    const Key* key = find_key(setting.key);
    DS_ASSERT(key != nullptr, "the table names keys that exist");
    try {
      static_cast<void>(check_value(*key, entry));
    } catch (const Error& error) {
      read.conversion.findings.push_back(error);
    }
    (setting.is_default ? read.defaults : read.given).push_back(std::move(entry));
  }
  if (!read.conversion.findings.empty()) throw joined_findings(file, read.conversion.findings);
  return read;
}

std::vector<Entry> with_deepspeed(std::vector<Entry> entries) {
  const std::optional<DeepSpeedFile> json = take_deepspeed(entries);
  if (!json) return entries;
  const auto first_override = std::ranges::find_if(entries, is_override);
  const std::vector<Entry> file(entries.begin(), first_override);
  need_agreement(file, *json);
  std::vector<Entry> all = json->defaults;
  all.insert(all.end(), file.begin(), file.end());
  all.insert(all.end(), json->given.begin(), json->given.end());
  all.insert(all.end(), first_override, entries.end());
  return all;
}

std::string deepspeed_note(const std::vector<Entry>& entries) {
  std::vector<Entry> own = entries;
  const std::optional<DeepSpeedFile> json = take_deepspeed(own);
  const std::size_t count = json ? json->conversion.passed.size() : 0;
  if (count == 0) return "";
  const std::string name = std::filesystem::path(json->path).filename();
  return fmt::format("{}: {} key{} passed over; dslaunch convert {} says why", name, count,
                     count == 1 ? "" : "s", name);
}

}  // namespace ds
