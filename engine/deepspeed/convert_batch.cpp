// Batch sizes, clipping and precision.
#include <array>
#include <optional>

#include "engine/deepspeed/converter.h"

namespace ds {
namespace {

using Kind = JsonValue::Kind;

constexpr std::string_view kGlobal = "train_batch_size";
constexpr std::string_view kMicro = "train_micro_batch_size_per_gpu";
constexpr std::string_view kAccum = "gradient_accumulation_steps";

// Defaults of transformers' TrainingArguments, which replace "auto".
constexpr std::int64_t kTrainerMicro = 8, kTrainerAccum = 1;
constexpr double kTrainerClip = 1.0;
/// DeepSpeed's since June 2026; 0 before.
constexpr double kClip = 1.0;

struct Scale {
  std::string_view name, key;
};
constexpr Scale kScales[] = {
    {"fp16.loss_scale", "precision.loss_scale.static"},
    {"fp16.initial_scale_power", "precision.loss_scale.init_power"},
    {"fp16.loss_scale_window", "precision.loss_scale.window"},
    {"fp16.hysteresis", "precision.loss_scale.hysteresis"},
    {"fp16.consecutive_hysteresis", "precision.loss_scale.consecutive"},
    {"fp16.min_loss_scale", "precision.loss_scale.min"},
};

}  // namespace

void DsConverter::convert_batch() {
  copy_or_default(kMicro, "batch.micro", kTrainerMicro);
  copy_or_default(kAccum, "batch.accum", kTrainerAccum);
  if (is_auto(kGlobal)) {
    pass(kGlobal, "follows from batch.micro, batch.accum and the number of ranks");
  } else {
    copy(kGlobal, "batch.global");
  }
  copy_or_default("gradient_clipping", "optimizer.clip", kTrainerClip);
  set_default("optimizer.clip", kClip, "DeepSpeed's default of gradient_clipping since June 2026");

  std::array<std::int64_t, 3> sizes{};
  std::size_t known = 0;
  for (const std::string_view key : {"batch.global", "batch.micro", "batch.accum"}) {
    const DsSetting* setting = out.find(key);
    if (setting == nullptr || setting->is_default) return;
    const auto* size = std::get_if<std::int64_t>(&setting->value);
    if (size == nullptr || *size < 1 || *size > 1 << 30) return;
    sizes[known++] = *size;
  }
  const auto [global, micro, accum] = sizes;
  if (global % micro == 0 && global / micro % accum == 0) return;
  refuse(
      kGlobal,
      fmt::format("{} = {} is not a multiple of {} = {} * {} = {}, so it fits no number of ranks",
                  kGlobal, global, kMicro, micro, kAccum, accum),
      "delete one of the three: any two give the third");
}

void DsConverter::convert_precision() {
  const auto is_on = [this](std::string_view path, std::string_view dtype) {
    const JsonMember* found = find(path);
    if (found == nullptr) return false;
    if (is_auto(path)) {
      pass(path, "precision.dtype of train.toml, else off");
      return context.dtype == dtype;
    }
    if (!found->value.is(Kind::flag))
      refuse(path, fmt::format("{} must be true, false or \"auto\"", path), "");
    return found->value.is(Kind::flag) && found->value.flag;
  };
  const bool fp16 = is_on("fp16.enabled", "fp16"), bf16 = is_on("bf16.enabled", "bf16");
  for (const auto& [path, on, name] :
       {std::tuple{"fp16.enabled", fp16, "fp16"}, std::tuple{"bf16.enabled", bf16, "bf16"}}) {
    if (find(path) == nullptr || is_auto(path)) continue;
    if (on && fp16 && bf16) {
      refuse(path, "fp16 and bf16 are both enabled",
             "DeepSpeed refuses this too: choose one of them");
    } else if (on) {
      set("precision.dtype", std::string(name), path);
    } else if (fp16 || bf16 || path == std::string_view("bf16.enabled")) {
      pass(path, "off");
    } else {
      set("precision.dtype", std::string("fp32"), path);
    }
  }
  set_default("precision.dtype", std::string("fp32"), "neither fp16 nor bf16 is enabled");

  for (const Scale& scale : kScales) {
    if (is_auto(scale.name)) {
      pass(scale.name, "\"auto\" is the default");
    } else if (fp16) {
      copy(scale.name, scale.key);
    } else {
      pass(scale.name, "fp16 is off");
    }
  }
  constexpr std::string_view kCheck = "bf16.check_grad_overflow";
  if (!bf16) return pass(kCheck, "bf16 is off");
  const JsonMember* check = find(kCheck);
  if (check == nullptr || is_auto(kCheck)) {
    pass(kCheck, "\"auto\" is the default");
    set_default("precision.on_nonfinite", std::string("skip"),
                "DeepSpeed's default of bf16.check_grad_overflow since June 2026");
  } else {
    set("precision.on_nonfinite", std::string(is_true(kCheck) ? "skip" : "abort"), kCheck);
  }
}

}  // namespace ds
