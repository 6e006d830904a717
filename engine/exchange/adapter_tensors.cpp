// linear_modules(), peft_name() and peft_config_json().
#include "engine/exchange/adapter_tensors.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/exchange/hf_tensors.h"

namespace ds {
namespace {

constexpr std::string_view kWeight = ".weight";

std::string_view last_word(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

std::vector<LinearModule> linear_modules(const ModelConfig& model, std::int64_t positions) {
  std::vector<LinearModule> modules;
  const std::string_view prefix = hf_prefix(model);
  for (const HfTensor& tensor : hf_tensors(model, model.vocab, positions)) {
    if (tensor.shape.size() != 2 || !tensor.name.ends_with(kWeight)) continue;
    std::string name = tensor.name.substr(0, tensor.name.size() - kWeight.size());
    std::string ours = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    modules.push_back({.name = std::move(name),
                       .ours = std::move(ours),
                       .weight = tensor.ours,
                       .first_column = tensor.first_column,
                       .columns = tensor.columns});
  }
  return modules;
}

std::string peft_name(const ModelConfig& model, std::string_view ours) {
  return fmt::format("base_model.model.{}{}", hf_prefix(model), ours);
}

std::string peft_config_json(const ModelConfig& model, const LoraConfig& lora,
                             const std::vector<LinearModule>& all,
                             const std::vector<LinearModule>& adapted) {
  const auto has_adapter = [&](const LinearModule& module) {
    return std::ranges::find(adapted, module.name, &LinearModule::name) != adapted.end();
  };
  std::vector<std::string> targets;
  for (const LinearModule& module : adapted) {
    const std::string_view word = last_word(module.name);
    const bool stands_for_all = std::ranges::all_of(all, [&](const LinearModule& other) {
      return last_word(other.name) != word || has_adapter(other);
    });
    std::string target(stands_for_all ? word : module.name);
    if (std::ranges::find(targets, target) == targets.end()) targets.push_back(std::move(target));
  }
  nlohmann::ordered_json json;
  json["base_model_name_or_path"] =
      model.from.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(model.from);
  json["bias"] = "none";
  json["fan_in_fan_out"] = model.arch == "gpt2";  // its weights are (inputs, outputs) there
  json["inference_mode"] = true;
  json["init_lora_weights"] = true;
  if (lora.alpha == std::floor(lora.alpha)) {
    json["lora_alpha"] = static_cast<std::int64_t>(lora.alpha);
  } else {
    json["lora_alpha"] = lora.alpha;
  }
  json["lora_dropout"] = lora.dropout;
  json["modules_to_save"] = nullptr;
  json["peft_type"] = "LORA";
  json["r"] = lora.rank;
  json["target_modules"] = targets;
  json["task_type"] = "CAUSAL_LM";
  json["use_dora"] = false;
  json["use_rslora"] = lora.rslora;
  return json.dump(2) + "\n";
}

Program with_lora(Program program, const ModelConfig& model, const LoraConfig& lora,
                  std::int64_t positions, double dropout) {
  if (lora.rank == 0) return program;
  return add_adapters(
      std::move(program), linear_modules(model, positions),
      {.rank = lora.rank, .scale = lora.scale(), .dropout = dropout, .targets = lora.targets});
}

}  // namespace ds
