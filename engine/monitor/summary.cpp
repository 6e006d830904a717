// summary_json() (nlohmann-json, keys in the order below) and MedianMeter.
#include "engine/monitor/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace ds {
namespace {

constexpr double kWorthALine = 0.005;  // share of the time spent waiting for data

nlohmann::ordered_json or_null(const std::optional<PhaseSeconds>& phases) {
  if (!phases) return nullptr;
  nlohmann::ordered_json json;
  for (std::size_t i = 0; i < kStepPhases; ++i) json[kStepPhaseNames[i]] = (*phases)[i];
  return json;
}

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
  for (const auto& [name, loss] : summary.validation_losses)
    json["validation_losses"][name] = or_null(loss);
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
  json["phases"] = or_null(summary.phases);
  constexpr auto kReplaceBadUtf8 = nlohmann::ordered_json::error_handler_t::replace;
  return json.dump(2, ' ', false, kReplaceBadUtf8) + "\n";
}

std::string data_wait_line(const PhaseSeconds& phases) {
  const double waited = of_phase(phases, StepPhase::data), all = sum_of(phases);
  if (waited <= kWorthALine * all) return {};
  return fmt::format("waited for data {:.1f} % of the time ({:.1f} of {:.1f} s)",
                     100 * waited / all, waited, all);
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
