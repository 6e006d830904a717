// Optimizer and scheduler, whose parameters depend on their type.
#include <algorithm>

#include "engine/deepspeed/converter.h"

namespace ds {
namespace {

using Kind = JsonValue::Kind;

constexpr std::string_view kOptimizer = "optimizer.type", kScheduler = "scheduler.type";

/// A parameter of these types, separated by '|', and the key that it becomes.
struct Parameter {
  std::string_view name, types, key;
};

constexpr Parameter kOptimizerParameters[] = {
    {"betas", "adamw|adam_l2|lion", "optimizer.betas"},
    {"eps", "adamw|adam_l2", "optimizer.eps"},
    {"momentum", "sgd", "optimizer.momentum"},
    {"nesterov", "sgd", "optimizer.nesterov"},
};

constexpr std::string_view kWarmups = "WarmupLR|WarmupDecayLR",
                           kTotals = "WarmupDecayLR|WarmupCosineLR";
constexpr std::string_view kAllWarmups = "WarmupLR|WarmupDecayLR|WarmupCosineLR";

constexpr Parameter kSchedulerParameters[] = {
    {"warmup_min_lr", kWarmups, "schedule.min_lr"},
    {"warmup_max_lr", kWarmups, "optimizer.lr"},
    {"warmup_num_steps", kAllWarmups, "schedule.warmup"},
    {"warmup_type", kAllWarmups, "schedule.warmup_type"},
    {"total_num_steps", kTotals, "schedule.total"},
    {"warmup_min_ratio", "WarmupCosineLR", "schedule.warmup_min_ratio"},
    {"cos_min_ratio", "WarmupCosineLR", "schedule.cos_min_ratio"},
    {"cycle_min_lr", "OneCycle", "schedule.min_lr"},
    {"cycle_max_lr", "OneCycle", "optimizer.lr"},
    {"decay_lr_rate", "OneCycle", "schedule.decay_lr_rate"},
    {"cycle_first_step_size", "OneCycle", "schedule.first_steps"},
    {"cycle_second_step_size", "OneCycle", "schedule.second_steps"},
    {"cycle_first_stair_count", "OneCycle", "schedule.first_stairs"},
    {"cycle_second_stair_count", "OneCycle", "schedule.second_stairs"},
    {"decay_step_size", "OneCycle", "schedule.decay_steps"},
    {"cycle_momentum", "OneCycle", "schedule.cycle_momentum"},
    {"cycle_min_mom", "OneCycle", "schedule.min_momentum"},
    {"cycle_max_mom", "OneCycle", "schedule.max_momentum"},
    {"decay_mom_rate", "OneCycle", "schedule.decay_momentum_rate"},
    {"lr_range_test_min_lr", "LRRangeTest", "optimizer.lr"},
    {"lr_range_test_step_size", "LRRangeTest", "schedule.range_steps"},
    {"lr_range_test_step_rate", "LRRangeTest", "schedule.range_rate"},
    {"lr_range_test_staircase", "LRRangeTest", "schedule.range_staircase"},
};

struct Schedule {
  std::string_view type, ours;
  std::string_view needs;  // parameters without a default, separated by '|'
};
constexpr Schedule kSchedules[] = {
    {"WarmupLR", "warmup", ""},
    {"WarmupDecayLR", "warmup_decay", "total_num_steps"},
    {"WarmupCosineLR", "warmup_cosine", "total_num_steps"},
    {"OneCycle", "onecycle", "cycle_min_lr|cycle_max_lr"},
    {"LRRangeTest", "range_test", ""},
};

// Defaults of DeepSpeed's optimizers, and of transformers' TrainingArguments for "auto".
constexpr double kLr = 1e-3, kTrainerLr = 5e-5, kEps = 1e-8;

bool contains(std::string_view words, std::string_view word) {
  return fmt::format("|{}|", words).find(fmt::format("|{}|", word)) != std::string::npos;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return result;
}

/// Returns the optimizer of dslaunch, or "" if it has none. DeepSpeed ignores the case of its own
/// names; SGD is PyTorch's.
std::string_view our_optimizer(std::string_view type, bool decoupled) {
  const std::string name = lower(type);
  if (name == "adamw") return "adamw";
  if (name == "adam") return decoupled ? "adamw" : "adam_l2";
  if (name == "lion") return "lion";
  return type == "SGD" ? "sgd" : "";
}

}  // namespace

void DsConverter::convert_optimizer() {
  const JsonMember* type = find(kOptimizer);
  if (type == nullptr) {
    if (find("optimizer.params") != nullptr) {
      refuse("optimizer.params", "optimizer.params without optimizer.type has no effect",
             "write \"type\": \"AdamW\" beside it");
    }
    return;
  }
  const JsonMember* mode = find("optimizer.params.adam_w_mode");
  const bool decoupled = mode == nullptr || !mode->value.is(Kind::flag) || mode->value.flag;
  const std::string ours(our_optimizer(text_of(type), decoupled));
  if (ours.empty()) {
    return refuse(
        kOptimizer,
        type->value.is(Kind::text)
            ? fmt::format("dslaunch has no optimizer \"{}\"", type->value.text)
            : "optimizer.type must be a string",
        "choose Adam, AdamW, Lion or SGD, or delete the section and set optimizer.type in "
        "train.toml");
  }
  set(kOptimizer, ours, kOptimizer);
  pass("optimizer.params.adam_w_mode", fmt::format("it is in optimizer.type = \"{}\"", ours));
  copy_or_default("optimizer.params.lr", "optimizer.lr", kTrainerLr);
  copy_or_default("optimizer.params.weight_decay", "optimizer.weight_decay", 0.0);
  for (const Parameter& parameter : kOptimizerParameters) {
    const std::string path = fmt::format("optimizer.params.{}", parameter.name);
    if (find(path) == nullptr) continue;
    if (!contains(parameter.types, ours)) {
      refuse(path, fmt::format("{} has no parameter \"{}\"", type->value.text, parameter.name),
             "delete it");
    } else if (is_auto(path)) {
      pass(path, fmt::format("{} of train.toml, else the default", parameter.key));
    } else {
      copy(path, parameter.key);
    }
  }
  const std::string from = fmt::format("DeepSpeed's default for {}", type->value.text);
  set_default("optimizer.lr", kLr, from);
  set_default("optimizer.weight_decay", 0.0, from);
  if (ours == "sgd") return set_default("optimizer.momentum", 0.0, from);
  set_default("optimizer.betas", std::vector<double>{0.9, 0.999}, from);
  if (ours != "lion") set_default("optimizer.eps", kEps, from);
}

void DsConverter::convert_scheduler() {
  const JsonMember* type = find(kScheduler);
  if (type == nullptr) {
    if (find("scheduler.params") != nullptr) {
      refuse("scheduler.params", "scheduler.params without scheduler.type has no effect",
             "write \"type\": \"WarmupLR\" beside it");
    }
    if (find(kOptimizer) != nullptr)
      set_default("schedule.type", std::string("constant"), "no scheduler");
    return;
  }
  const auto* schedule = std::ranges::find(kSchedules, text_of(type), &Schedule::type);
  if (schedule == std::end(kSchedules)) {
    return refuse(
        kScheduler,
        type->value.is(Kind::text)
            ? fmt::format("dslaunch has no scheduler \"{}\"", type->value.text)
            : "scheduler.type must be a string",
        "choose WarmupLR, WarmupDecayLR, WarmupCosineLR, OneCycle or LRRangeTest, or delete "
        "the section and set schedule.type in train.toml");
  }
  set("schedule.type", std::string(schedule->ours), kScheduler);
  set_default("schedule.origin", std::string("deepspeed"), "DeepSpeed's count of steps");
  for (const Parameter& parameter : kSchedulerParameters) {
    const std::string path = fmt::format("scheduler.params.{}", parameter.name);
    const bool given = find(path) != nullptr;
    if (!given && contains(schedule->needs, parameter.name)) {
      refuse(kScheduler, fmt::format("{} needs {}", schedule->type, path), "");
    } else if (given && !contains(parameter.types, schedule->type)) {
      refuse(path, fmt::format("{} has no parameter \"{}\"", schedule->type, parameter.name),
             "delete it");
    } else if (given) {
      scheduler_parameter(path, parameter.name, parameter.key);
    }
  }
  scheduler_default_rate(schedule->type);
}

void DsConverter::scheduler_parameter(std::string_view path, std::string_view name,
                                      std::string_view key) {
  if (is_auto(path)) {
    // transformers' default of this one differs from DeepSpeed's.
    if (name == "warmup_num_steps")
      set_default(key, std::int64_t{0}, fmt::format("{} = \"auto\"", path));
    const std::string_view ours = key == "schedule.total" ? "train.steps" : key;
    return pass(path, fmt::format("{} of train.toml, else the default of transformers", ours));
  }
  if (key == "optimizer.lr") replace_rate(fmt::format("{} replaces it", path));
  copy(path, key);
}

void DsConverter::scheduler_default_rate(std::string_view type) {
  const std::string_view name = type == "LRRangeTest"     ? "lr_range_test_min_lr"
                                : type == "WarmupDecayLR" ? "warmup_max_lr"
                                                          : "";
  const std::string path = fmt::format("scheduler.params.{}", name);
  if (name.empty() || find(path) != nullptr) return;
  replace_rate(fmt::format("the default of {} replaces it", path));
  set_default("optimizer.lr", kLr, fmt::format("DeepSpeed's default of {}", path));
}

void DsConverter::replace_rate(std::string_view why) {
  std::erase_if(out.settings, [](const DsSetting& s) { return s.key == "optimizer.lr"; });
  pass("optimizer.params.lr", why);
}

}  // namespace ds
