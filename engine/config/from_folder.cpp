// apply_folder(): fills [model] from the config.json of model.from, and [lora] from the
// adapter_config.json of lora.from.
#include "engine/config/from_folder.h"

#include <fstream>

#include "engine/config/folder_head.h"
#include "engine/config/hf_config.h"
#include "engine/config/keys.h"
#include "engine/config/peft_config.h"

namespace ds {
namespace {

/// Returns the text of a config file. Errors: Error{config}.
std::string text_of(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{1} << 20;  // a config.json is about a page long
  std::ifstream file(path, std::ios::binary);
  std::string text(kMost + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  const bool is_read = file.is_open() && !file.bad();
  if (is_read && text.size() <= kMost) return text;
  throw Error(
      ErrorKind::config, path + (is_read ? ": is longer than 1 MiB" : ": cannot be read"),
      "name a Hugging Face folder, which every node sees; `dslaunch export` writes one from a "
      "checkpoint");
}

/// Returns what `read` makes of a config file. Errors: Error{config}, with the path.
template <class Read>
auto read_file(const std::string& path, const Read& read) {
  const std::string text = text_of(path);
  try {
    return read(text);
  } catch (const Error& error) {
    throw error.with_context(path);
  }
}

HfConfig config_in(const std::string& folder, const std::string& arch, std::int64_t positions) {
  HfConfig config = read_file(folder + "/config.json", [&](const std::string& text) {
    return read_hf_config(text, arch, positions);
  });
  if (config.arch != "t5") return config;
  const bool is_tied = !has_own_head(folder);
  config.fields.push_back(
      {is_tied ? "no lm_head.weight other than shared.weight" : "lm_head.weight in the files",
       "model.tied",
       {is_tied}});
  return config;
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

/// Lists values out of range, and keys that are given with other values.
std::vector<std::string> problems_of(const std::vector<HfConfig::Field>& fields,
                                     const TrainConfig& config, const GivenKeys& given) {
  std::vector<std::string> problems;
  for (const HfConfig::Field& field : fields) {
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

/// Throws an error that lists the problems of the folder that `key` names, if there are any.
void require_none(const std::vector<std::string>& problems, std::string_view key,
                  const std::string& path, const GivenKeys& given) {
  if (problems.empty()) return;
  const Error error =
      given.error({key}, path + " does not fit:",
                  fmt::format("leave the keys of [{}] out that it sets, or name another folder",
                              key.substr(0, key.find('.'))));
  throw Error(error.kind(), fmt::format("{}\n  {}", error.what(), fmt::join(problems, "\n  ")),
              error.hint());
}

/// Sets keys that are not given. They count as given at `from`.
class Filler {
 public:
  Filler(TrainConfig& config, GivenKeys& given, Place from)
      : config_(config), given_(given), from_(std::move(from)) {}

  void fill(std::string_view key, const ConfigValue& value) {
    const Key& known = *find_key(key);
    if (!given_.places.try_emplace(std::string(key), from_).second) return;
    known.set(config_, check_value(known, Entry{std::string(key), value, from_, ""}));
  }
  void fill(const std::vector<HfConfig::Field>& fields) {
    for (const HfConfig::Field& field : fields) fill(field.key, field.value);
  }

 private:
  TrainConfig& config_;
  GivenKeys& given_;
  Place from_;
};

/// Sets keys of [lora] to what lora.from says.
void apply_adapter(TrainConfig& config, GivenKeys& given) {
  if (config.lora.from.empty()) return;
  const std::string path = config.lora.from + "/adapter_config.json";
  PeftConfig theirs;
  try {
    theirs = read_file(path, [](const std::string& text) { return read_peft_config(text); });
  } catch (const Error& error) {
    throw given.error({"lora.from"}, error.what(), error.hint());
  }
  std::vector<std::string> problems = std::move(theirs.refused);
  for (std::string& problem : problems_of(theirs.fields, config, given))
    problems.push_back(std::move(problem));
  require_none(problems, "lora.from", path, given);
  Filler(config, given, given.places.at("lora.from")).fill(theirs.fields);
}

}  // namespace

void apply_folder(TrainConfig& config, GivenKeys& given) {
  apply_adapter(config, given);
  if (config.model.from.empty()) return;
  const Place from = given.places.at("model.from");
  if (!config.model.preset.empty())
    throw given.error({"model.preset"}, "model.preset and model.from both name a model",
                      "leave one of them out");
  const std::string path = config.model.from + "/config.json";
  const std::string arch = given.places.contains("model.arch") ? config.model.arch : "";
  HfConfig theirs;
  try {
    theirs = config_in(config.model.from, arch, config.data.seq_len);
  } catch (const Error& error) {
    throw given.error({"model.from"}, error.what(), error.hint());
  }
  std::vector<std::string> problems = std::move(theirs.refused);
  if (given.places.contains("model.arch") && config.model.arch != theirs.arch)
    problems.push_back(fmt::format("model_type: {}, model.arch = \"{}\"",
                                   to_toml(ConfigValue{theirs.arch}), config.model.arch));
  for (std::string& problem : problems_of(theirs.fields, config, given))
    problems.push_back(std::move(problem));
  require_none(problems, "model.from", path, given);
  Filler filler(config, given, from);
  filler.fill("model.arch", {theirs.arch});
  filler.fill("model.vocab", {theirs.vocab});
  filler.fill("model.init", {config.model.from});
  filler.fill(theirs.fields);
}

ModelConfig model_of_folder(const std::string& folder) {
  const std::string path = folder + "/config.json";
  const HfConfig theirs = config_in(folder, "", /*positions=*/0);
  std::vector<std::string> problems = theirs.refused;
  for (std::string& problem : problems_of(theirs.fields, TrainConfig(), GivenKeys()))
    problems.push_back(std::move(problem));
  if (!problems.empty())
    throw Error(ErrorKind::config,
                fmt::format("{}: is not built:\n  {}", path, fmt::join(problems, "\n  ")),
                "docs/models.md lists what is");
  TrainConfig config;
  config.model.arch = theirs.arch;
  config.model.vocab = theirs.vocab;
  for (const HfConfig::Field& field : theirs.fields) {
    const Key& key = *find_key(field.key);
    key.set(config, check_value(key, Entry{std::string(field.key), field.value, {}, ""}));
  }
  ModelConfig& model = config.model;
  if (model.heads > 0 && model.head_size * model.heads == model.hidden) model.head_size = 0;
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  return model;
}

}  // namespace ds
