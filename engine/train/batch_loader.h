// BatchLoader: reads the batch of the next step on a thread of its own while a step is computed.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "engine/data/data_part.h"
#include "engine/data/sampler.h"
#include "engine/monitor/sample_ledger.h"
#include "engine/program/program.h"

namespace ds {

class BatchLoader {
 public:
  struct Source {
    const DataPart& data;  // nothing else reads it while the loader lives
    BatchPlan batch;
    std::uint64_t seed = 0;
    std::chrono::milliseconds delay{};  // added to each step, for tests
  };

  /// `inputs`: those of each micro-batch of this rank, whose memory is copied in size only.
  BatchLoader(const Source& source, std::span<const MicroBatch> micro_batches,
              std::span<const std::span<const BatchInput>> inputs);
  /// Waits for the read that is under way.
  ~BatchLoader();
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;

  /// Begins to read the step whose samples, of all ranks, begin with `first`. What was read before
  /// is lost.
  void begin(std::int64_t first);
  /// Waits until the step that begins with `first` has been read, and reads it if begin() was not
  /// called for it. Allocates nothing. Errors: those of DataPart::fill().
  void wait(std::int64_t first);
  /// Copies the inputs of a micro-batch from the last step that was waited for.
  void copy(std::size_t micro, std::span<const BatchInput> inputs) const;
  /// Returns the samples of that step, in the order of the micro-batches.
  [[nodiscard]] std::span<const TakenSample> taken() const { return taken_; }

 private:
  struct Micro {
    std::int64_t virtual_rank = 0, micro_step = 0;
    std::vector<std::vector<std::int32_t>> numbers{};  // of each input
    std::vector<BatchInput> inputs;                    // whose memory is `numbers`
    std::vector<std::int64_t> samples;
  };
  void run();
  void read(std::int64_t first);

  static constexpr std::int64_t kNone = -1;

  Source source_;
  std::vector<Micro> micros_;
  std::vector<std::int64_t> offsets_;   // of all samples from the step's first one
  std::vector<std::size_t> ascending_;  // all samples, in the order of offsets_
  std::vector<SamplePlace> places_;     // of all samples
  std::vector<TakenSample> taken_;
  std::exception_ptr error_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // The step to read, and the last one that was read, by their first samples. While they differ,
  // the thread owns micros_, taken_ and error_.
  std::int64_t asked_ = kNone, read_ = kNone;
  bool stops_ = false;
  std::thread thread_;
};

}  // namespace ds
