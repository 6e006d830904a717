// Summary: summary.json, which says how a run ended.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/step_phases.h"

namespace ds {

struct Summary {
  std::int64_t steps = 0;
  std::int64_t parameters = 0;
  std::int64_t tokens = 0;
  std::int64_t world_size = 1;
  std::optional<double> train_loss;  // of the last step of this run
  // Updates repeated because an update beside the backward pass used wrong numbers.
  std::int64_t redone_updates = 0;
  std::int64_t skipped_steps = 0;         // skipped because gradients were not finite
  double loss_scale = 1.0;                // of the last step
  std::optional<double> validation_loss;  // the last one; nats per token (of bytes: per byte)
  std::map<std::string, double> validation_losses;  // the same of sets with names; empty: none
  double median_tokens_per_s = 0.0;
  std::int64_t peak_memory_bytes = 0;  // VmHWM of the largest rank
  std::string weights_hash;            // of the fp32 master weights in logical order
  double elapsed_s = 0.0;
  std::string device;                   // "CPU, 2 threads, AVX-512 + bf16"
  std::optional<double> peak_fraction;  // median share of the measured matrix peak
  std::string sample_path;              // empty: no sample
  std::optional<PhaseSeconds> phases;   // sums over all steps
  // Rank 0's memory: the plan, and anonymous resident bytes right before the arena is allocated and
  // after step 2.
  std::int64_t planned_bytes = 0;       // of memory, host tiers included
  std::int64_t planned_file_bytes = 0;  // of offload to files
  std::int64_t rss_anon_before_arena = 0;
  std::int64_t rss_anon_step2 = 0;
};

/// Formats readable JSON with a final newline; absent values are null.
std::string summary_json(const Summary& summary);

/// Returns the line that tells the user that training has waited for data: "waited for data
/// 12.1 % of the time (3.4 of 28.1 s)". Empty where that was 0.5 % of the time or less.
std::string data_wait_line(const PhaseSeconds& phases);

/// Collects one figure per step and returns the median. Does not allocate up to its capacity.
class MedianMeter {
 public:
  explicit MedianMeter(std::size_t capacity) { values_.reserve(capacity); }
  /// Adds a value; above the capacity it replaces the oldest one.
  void add(double value);
  /// Returns the median; 0 without values.
  [[nodiscard]] double median() const;

 private:
  std::vector<double> values_;
  std::size_t next_ = 0;
};

}  // namespace ds
