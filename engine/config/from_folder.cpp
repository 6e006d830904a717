// apply_folder(): fills [model] from the config.json of model.from.
#include "engine/config/from_folder.h"

#include <fstream>
#include <iterator>

#include "engine/config/hf_config.h"
#include "engine/config/keys.h"

namespace ds {
namespace {

std::string text_of(const std::string& path, const GivenKeys& given) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.good() || (file.eof() && !text.empty())) return text;
  throw given.error({"model.from"}, path + ": cannot be read",
                    "model.from names a Hugging Face folder that every node sees");
}

/// Lists what the file has that is not built, and keys that are given with other values.
std::vector<std::string> problems_of(const HfConfig& theirs, const TrainConfig& config,
                                     const GivenKeys& given) {
  std::vector<std::string> problems = theirs.refused;
  if (given.places.contains("model.arch") && config.model.arch != theirs.arch)
    problems.push_back(fmt::format("model_type: {}, model.arch = \"{}\"",
                                   to_toml(ConfigValue{theirs.arch}), config.model.arch));
  for (const HfConfig::Field& field : theirs.fields) {
    const ConfigValue ours = find_key(field.key)->get(config);
    if (given.places.contains(field.key) && !is_same_value(field.value, ours))
      problems.push_back(fmt::format("{}, {} = {}", field.theirs, field.key, to_toml(ours)));
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
  HfConfig theirs;
  try {
    theirs = read_hf_config(text_of(path, given), config.model.arch, config.data.seq_len);
  } catch (const Error& error) {
    throw given.error({"model.from"}, fmt::format("{}: {}", path, error.what()), error.hint());
  }
  const std::vector<std::string> problems = problems_of(theirs, config, given);
  if (!problems.empty())
    throw given.error({"model.from"},
                      fmt::format("{} does not fit:\n  {}", path, fmt::join(problems, "\n  ")),
                      "leave the keys of [model] out that it sets, or name another folder");
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
