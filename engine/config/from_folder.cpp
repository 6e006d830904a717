// apply_folder(): fills [model] from the config.json of model.from.
#include "engine/config/from_folder.h"

#include <fstream>

#include "engine/config/folder_head.h"
#include "engine/config/hf_config.h"
#include "engine/config/keys.h"

namespace ds {
namespace {

std::string text_of(const std::string& path, const GivenKeys& given) {
  constexpr std::size_t kMost = std::size_t{1} << 20;  // a config.json is about a page long
  std::ifstream file(path, std::ios::binary);
  std::string text(kMost + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  const bool is_read = file.is_open() && !file.bad();
  if (is_read && text.size() <= kMost) return text;
  throw given.error({"model.from"},
                    path + (is_read ? ": is longer than 1 MiB" : ": cannot be read"),
                    "model.from names a Hugging Face folder that every node sees");
}

/// Returns whether a key can have the value.
bool fits(const Key& key, const ConfigValue& value) {
  try {
    static_cast<void>(check_value(key, Entry{std::string(key.name), value, {}, ""}));
  } catch (const Error&) {
    return false;
  }
  return true;
}

/// Lists what the file has that is not built, values out of range, and keys that are given with
/// other values.
std::vector<std::string> problems_of(const HfConfig& theirs, const TrainConfig& config,
                                     const GivenKeys& given) {
  std::vector<std::string> problems = theirs.refused;
  if (given.places.contains("model.arch") && config.model.arch != theirs.arch)
    problems.push_back(fmt::format("model_type: {}, model.arch = \"{}\"",
                                   to_toml(ConfigValue{theirs.arch}), config.model.arch));
  for (const HfConfig::Field& field : theirs.fields) {
    const Key& key = *find_key(field.key);
    const ConfigValue ours = key.get(config);
    if (given.places.contains(field.key) && !is_same_value(field.value, ours)) {
      problems.push_back(fmt::format("{}, {} = {}", field.theirs, field.key, to_toml(ours)));
    } else if (!fits(key, field.value)) {
      problems.push_back(
          fmt::format("{}, {} must be {}", field.theirs, field.key, describe_range(key)));
    }
  }
  return problems;
}

}  // namespace

void apply_folder(TrainConfig& config, GivenKeys& given) {
  if (config.model.from.empty()) return;
  const Place from = given.places.at("model.from");
  if (!config.model.preset.empty())
    throw given.error({"model.preset"}, "model.preset and model.from both name a model",
                      "leave one of them out");
  const std::string path = config.model.from + "/config.json";
  const std::string text = text_of(path, given);
  const std::string arch = given.places.contains("model.arch") ? config.model.arch : "";
  HfConfig theirs;
  try {
    theirs = read_hf_config(text, arch, config.data.seq_len);
  } catch (const Error& error) {
    throw given.error({"model.from"}, fmt::format("{}: {}", path, error.what()), error.hint());
  }
  if (theirs.arch == "t5") {
    const bool is_tied = !has_own_head(config.model.from);
    theirs.fields.push_back(
        {is_tied ? "no lm_head.weight other than shared.weight" : "lm_head.weight in the files",
         "model.tied",
         {is_tied}});
  }
  const std::vector<std::string> problems = problems_of(theirs, config, given);
  if (!problems.empty()) {
    const Error error =
        given.error({"model.from"}, path + " does not fit:",
                    "leave the keys of [model] out that it sets, or name another folder");
    throw Error(error.kind(), fmt::format("{}\n  {}", error.what(), fmt::join(problems, "\n  ")),
                error.hint());
  }
  const auto fill = [&](std::string_view key, const ConfigValue& value) {
    const Key& known = *find_key(key);
    if (!given.places.try_emplace(std::string(key), from).second) return;
    known.set(config, check_value(known, Entry{std::string(key), value, from, ""}));
  };
  fill("model.arch", {theirs.arch});
  fill("model.vocab", {theirs.vocab});
  fill("model.init", {config.model.from});
  for (const HfConfig::Field& field : theirs.fields) fill(field.key, field.value);
}

}  // namespace ds
