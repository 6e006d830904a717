// ZeRO and offload: "auto" that depends on the model's width, and keys whose form differs.
#include <cmath>

#include "engine/deepspeed/converter.h"

namespace ds {
namespace {

using Kind = JsonValue::Kind;

constexpr std::string_view kReduce = "zero_optimization.reduce_bucket_size";
constexpr std::string_view kPrefetch = "zero_optimization.stage3_prefetch_bucket_size";
constexpr std::string_view kPersist = "zero_optimization.stage3_param_persistence_threshold";

}  // namespace

void DsConverter::convert_zero() {
  zero_automatics();
  zero_folders();
  zero_old_forms();
  zero_ratio();
}

void DsConverter::zero_automatics() {
  const DsSetting* stage_set = out.find("zero.stage");
  const bool stage3 = stage_set != nullptr && stage_set->value == DsValue(std::int64_t{3});
  const std::int64_t h = context.hidden;
  struct Automatic {
    std::string_view path, key;
    bool applies;
    std::int64_t value;
    bool plan_chooses;  // the key has the word "auto"
  };
  // As transformers' trainer_config_finalize().
  const Automatic automatics[] = {
      {kReduce, "zero.reduce_bucket", true, h * h, true},
      {kPrefetch, "zero.prefetch", stage3,
       static_cast<std::int64_t>(0.9 * static_cast<double>(h) * static_cast<double>(h)), true},
      {kPersist, "zero.persist_below", stage3, 10 * h, false}};
  for (const Automatic& each : automatics) {
    if (!is_auto(each.path)) {
      copy(each.path, each.key);
    } else if (!each.applies) {
      pass(each.path, "\"auto\" counts at stage 3");
    } else if (h > 0) {
      set_default(each.key, each.value,
                  fmt::format("{} = \"auto\" with hidden = {}", each.path, h));
    } else if (each.plan_chooses) {
      set_default(each.key, std::string("auto"), fmt::format("{} = \"auto\"", each.path));
    } else {
      pass(each.path, "\"auto\" is 10 * hidden, and hidden is unknown here");
    }
  }
}

void DsConverter::zero_folders() {
  for (const auto& [section, ours] : {std::pair{"offload_optimizer", "offload.optimizer"},
                                      std::pair{"offload_param", "offload.param"}}) {
    const std::string path = fmt::format("zero_optimization.{}.nvme_path", section);
    const JsonMember* folder = find(path);
    if (folder == nullptr) continue;
    if (text_of(find(fmt::format("zero_optimization.{}.device", section))) != "nvme") {
      pass(path, "the device is not nvme");
    } else if (folder->value.is(Kind::text)) {
      set(fmt::format("{}.paths", ours), std::vector<std::string>{folder->value.text}, path);
    } else {
      refuse(path, fmt::format("{} must be a string", path), "");
    }
  }
}

void DsConverter::zero_old_forms() {
  for (const auto& [old, key] : {std::pair{"cpu_offload", "offload.optimizer.device"},
                                 std::pair{"cpu_offload_param", "offload.param.device"}}) {
    const std::string path = fmt::format("zero_optimization.{}", old);
    const JsonMember* found = find(path);
    if (found == nullptr) continue;
    if (is_true(path)) {
      set(key, std::string("cpu"), path);
    } else if (found->value.is(Kind::flag)) {
      pass(path, "off");
    } else {
      refuse(path, fmt::format("{} must be true or false", path), "");
    }
  }
}

void DsConverter::zero_ratio() {
  constexpr std::string_view kRatio = "zero_optimization.offload_optimizer.ratio";
  const JsonMember* ratio = find(kRatio);
  if (ratio == nullptr) return;
  const bool number = ratio->value.is(Kind::number) || ratio->value.is(Kind::integer);
  if (!number || ratio->value.number < 0 || ratio->value.number > 1)
    return refuse(kRatio, fmt::format("{} must be a number from 0 to 1", kRatio), "");
  if (ratio->value.number == 1)
    return pass(kRatio, "all tiles are updated where they are offloaded to");
  set("offload.optimizer.device_share", std::llround(100 * (1 - ratio->value.number)), kRatio);
}

}  // namespace ds
