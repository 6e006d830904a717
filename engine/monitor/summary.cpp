// summary_json() (nlohmann-json, keys in the order below) and MedianMeter.
#include "engine/monitor/summary.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ds {
namespace {

nlohmann::ordered_json or_null(const std::optional<double>& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

}  // namespace

std::string summary_json(const Summary& summary) {
  nlohmann::ordered_json json;
  json["steps"] = summary.steps;
  json["train_loss"] = or_null(summary.train_loss);
  json["skipped_steps"] = summary.skipped_steps;
  json["redone_updates"] = summary.redone_updates;
  json["loss_scale"] = summary.loss_scale;
  json["validation_loss"] = or_null(summary.validation_loss);
  json["median_tokens_per_s"] = or_null(summary.median_tokens_per_s);
  json["peak_memory_bytes"] = summary.peak_memory_bytes;
  json["weights_hash"] = summary.weights_hash;
  json["parameters"] = summary.parameters;
  json["tokens"] = summary.tokens;
  json["world_size"] = summary.world_size;
  json["elapsed_s"] = or_null(summary.elapsed_s);
  json["device"] = summary.device;
  json["peak_fraction"] = or_null(summary.peak_fraction);
  json["sample"] = summary.sample_path.empty() ? nlohmann::ordered_json(nullptr)
                                               : nlohmann::ordered_json(summary.sample_path);
  json["planned_bytes"] = summary.planned_bytes;
  json["planned_file_bytes"] = summary.planned_file_bytes;
  json["rss_anon_before_arena"] = summary.rss_anon_before_arena;
  json["rss_anon_step2"] = summary.rss_anon_step2;
  constexpr auto kReplaceBadUtf8 = nlohmann::ordered_json::error_handler_t::replace;
  return json.dump(2, ' ', false, kReplaceBadUtf8) + "\n";
}

void MedianMeter::add(double value) {
  if (values_.size() < values_.capacity()) {
    values_.push_back(value);
  } else if (!values_.empty()) {
    values_[next_] = value;
    next_ = (next_ + 1) % values_.size();
  }
}

double MedianMeter::median() const {
  if (values_.empty()) return 0.0;
  std::vector<double> sorted = values_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  if (sorted.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(sorted.begin(), middle)) / 2;
}

}  // namespace ds
