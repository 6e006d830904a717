// read_peft_config(): the keys of PEFT's LoraConfig.
#include "engine/config/peft_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"

namespace ds {
namespace {

using PeftJson = nlohmann::ordered_json;

/// Keys that say nothing about what an adapter computes once it is trained.
constexpr std::array<std::string_view, 14> kIgnored{"auto_mapping",
                                                    "base_model_name_or_path",
                                                    "ensure_weight_tying",
                                                    "fan_in_fan_out",
                                                    "inference_mode",
                                                    "init_lora_weights",
                                                    "layers_pattern",
                                                    "lora_dropout",
                                                    "megatron_core",
                                                    "peft_type",
                                                    "peft_version",
                                                    "qalora_group_size",
                                                    "revision",
                                                    "task_type"};
constexpr std::array<std::string_view, 5> kRead{"bias", "lora_alpha", "r", "target_modules",
                                                "use_rslora"};

std::string text_of(const PeftJson& value) {
  constexpr std::size_t kMost = 100;
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

bool is_off(const PeftJson& value) {
  return value.is_null() || value == false ||
         ((value.is_object() || value.is_array()) && value.empty());
}

template <std::size_t N>
bool is_one_of(const std::string& key, const std::array<std::string_view, N>& keys) {
  return std::ranges::find(keys, key) != keys.end();
}

class PeftReader {
 public:
  explicit PeftReader(const PeftJson& json) : json_(json) {}

  PeftConfig read() {
    if (const PeftJson type = value_or("peft_type", "LORA"); type != "LORA")
      refuse("peft_type", type, "only LORA is supported");
    if (const PeftJson bias = value_or("bias", "none"); bias != "none")
      refuse("bias", bias, "only none is supported");
    // Other starts of A and B also change the base model's weights.
    if (const PeftJson start = value_or("init_lora_weights", true);
        !start.is_boolean() && start != "gaussian" && start != "eva" && start != "orthogonal")
      refuse("init_lora_weights", start, "it may change the weights of the base model");
    number("r", "lora.rank", 8);
    number("lora_alpha", "lora.alpha", 8);
    if (const PeftJson scale = value_or("use_rslora", false); scale.is_boolean()) {
      add("use_rslora", "lora.rslora", {scale.get<bool>()}, scale);
    } else {
      refuse("use_rslora", scale, "expected true or false");
    }
    targets();
    for (const auto& [key, value] : json_.items()) {
      if (!is_one_of(key, kIgnored) && !is_one_of(key, kRead) && !is_off(value))
        refuse(text_of(PeftJson(key)), value, "not supported");
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] PeftJson value_or(const char* name, const PeftJson& absent) const {
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? absent : *found;
  }

  void number(const char* name, std::string_view key, std::int64_t absent) {
    constexpr double kMost = 1 << 20;
    const PeftJson value = value_or(name, absent);
    const bool is_right = key == "lora.rank" ? value.is_number_integer() : value.is_number();
    if (!is_right || value.get<double>() < 1e-6 || value.get<double>() > kMost)
      return refuse(name, value, "expected a number from 1 on");
    if (key == "lora.rank") return add(name, key, {value.get<std::int64_t>()}, value);
    add(name, key, {value.get<double>()}, value);
  }

  void targets() {
    const PeftJson value = value_or("target_modules", PeftJson::array());
    ConfigValue::List list;
    if (value == "all-linear") list.push_back({std::string("all-linear")});
    if (value.is_array()) {
      for (const PeftJson& name : value)
        if (name.is_string() && !name.get<std::string>().empty())
          list.push_back({name.get<std::string>()});
    }
    if (list.empty() || (value.is_array() && list.size() != value.size()))
      return refuse("target_modules", value, "expected a list of names, or all-linear");
    std::ranges::sort(list, {},
                      [](const ConfigValue& name) { return std::get<std::string>(name.held); });
    add("target_modules", "lora.targets", {std::move(list)}, value);
  }

  void add(const char* name, std::string_view key, ConfigValue value, const PeftJson& shown) {
    out_.fields.push_back({fmt::format("{}: {}", name, text_of(shown)), key, std::move(value)});
  }
  void refuse(const std::string& name, const PeftJson& value, std::string_view why) {
    out_.refused.push_back(fmt::format("{}: {}; {}", name, text_of(value), why));
  }

  const PeftJson& json_;
  PeftConfig out_;
};

}  // namespace

PeftConfig read_peft_config(std::string_view text) {
  const PeftJson json = PeftJson::parse(text, nullptr, false);
  if (!json.is_object())
    throw Error(ErrorKind::config, "is not a JSON object", "it must be PEFT's adapter_config.json");
  return PeftReader(json).read();
}

}  // namespace ds
