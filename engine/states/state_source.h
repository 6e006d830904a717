// StateSource: where initial weights and optimizer states come from: random numbers, or a file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "engine/checkpoint/manifest.h"
#include "engine/kernels/kernels.h"
#include "engine/program/program.h"

namespace ds {

class StateSource {
 public:
  virtual ~StateSource() = default;
  /// Returns whether `state` (kMaster, kMoment1, kMoment2) is to be read, not to start as zeros.
  [[nodiscard]] virtual bool has(std::string_view state) const = 0;
  /// Returns whether each rank reads only its share (even_share()) of replicated values
  /// and share_states() follows. Otherwise every rank reads everything that it holds.
  [[nodiscard]] virtual bool is_shared() const { return false; }
  /// Reads elements [first, first + into.size()) of a tensor, in the row-major order of its shape.
  /// Errors: Error{config} that names what cannot be read.
  virtual void read(const ParamTensor& tensor, std::string_view state, std::int64_t first,
                    std::span<float> into) = 0;
  /// Returns a source of the same values for another thread, to be used and ended while this source
  /// lives; null: only one thread reads.
  [[nodiscard]] virtual std::unique_ptr<StateSource> for_another_thread() { return nullptr; }
  /// Called when everything was read. Errors: Error{config} about all that was read.
  virtual void finish() {}
};

/// Reads from a source whose read() several threads may call at the same time.
class SameSource final : public StateSource {
 public:
  explicit SameSource(StateSource& source) : source_(source) {}
  [[nodiscard]] bool has(std::string_view state) const override { return source_.has(state); }
  [[nodiscard]] bool is_shared() const override { return source_.is_shared(); }
  void read(const ParamTensor& tensor, std::string_view state, std::int64_t first,
            std::span<float> into) override {
    source_.read(tensor, state, first, into);
  }

 private:
  StateSource& source_;
};

/// New weights by each tensor's ParamInit. Random numbers depend on seed, tensor and element only.
class NewWeights final : public StateSource {
 public:
  NewWeights(std::uint64_t seed, Kernels& kernels, Stream& stream)
      : seed_(seed), kernels_(kernels), stream_(stream) {}
  [[nodiscard]] bool has(std::string_view state) const override { return state == kMaster; }
  void read(const ParamTensor& tensor, std::string_view state, std::int64_t first,
            std::span<float> into) override;

 private:
  std::uint64_t seed_;
  Kernels& kernels_;
  Stream& stream_;
};

}  // namespace ds
