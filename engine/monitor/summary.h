// summary.json: how a run ended, in one small file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ds {

struct Summary {
  std::int64_t steps = 0;
  std::int64_t parameters = 0;
  std::int64_t tokens = 0;
  std::int64_t world_size = 1;
  double train_loss = 0.0;                // Of the last step.
  std::int64_t redone_updates = 0;        // Made again: a guess beside the backward pass was wrong.
  std::int64_t skipped_steps = 0;         // Left out: gradients that were not finite.
  double loss_scale = 1.0;                // Of the last step.
  std::optional<double> validation_loss;  // The last one; nats per token (bytes: per byte).
  double median_tokens_per_s = 0.0;
  std::int64_t peak_memory_bytes = 0;  // VmHWM of the largest rank.
  std::string weights_hash;            // Of the fp32 master weights in logical order.
  double elapsed_s = 0.0;
  std::string device;                   // "CPU, 2 threads, AVX-512 + bf16"
  std::optional<double> peak_fraction;  // Median share of the measured matrix peak.
  std::string sample_path;              // Empty: no sample.
  // Rank 0's memory: what was planned, and anonymous resident bytes just before it was taken and
  // after step 2.
  std::int64_t planned_bytes = 0;       // Of memory, the host's tiers counted.
  std::int64_t planned_file_bytes = 0;  // Of offload to files.
  std::int64_t rss_anon_before_arena = 0;
  std::int64_t rss_anon_step2 = 0;
};

/// Readable JSON with a line end; absent values are null.
std::string summary_json(const Summary& summary);

/// Collects one figure per step without allocating after `reserve`d, and gives the median.
class MedianMeter {
 public:
  explicit MedianMeter(std::size_t capacity) { values_.reserve(capacity); }
  /// Above the capacity, values replace older ones in turn.
  void add(double value);
  /// 0 without values.
  [[nodiscard]] double median() const;

 private:
  std::vector<double> values_;
  std::size_t next_ = 0;
};

}  // namespace ds
