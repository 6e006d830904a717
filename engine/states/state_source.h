// Where the first values of weights and optimizer states come from: chance, or something saved.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/checkpoint/manifest.h"
#include "engine/kernels/kernels.h"
#include "engine/program/program.h"

namespace ds {

class StateSource {
 public:
  virtual ~StateSource() = default;
  /// Whether `state` (kMaster, kMoment1, kMoment2) is to be read; if not, it starts as zeros.
  [[nodiscard]] virtual bool has(std::string_view state) const = 0;
  /// Whether of what all ranks have each reads only its part (rank_ranges()) and share_states()
  /// follows; if not, every rank reads all that it has.
  [[nodiscard]] virtual bool is_shared() const { return false; }
  /// Elements [first, first + into.size()) of a tensor, in the row-major order of its shape.
  /// Errors: Error{config} naming what cannot be read.
  virtual void read(const ParamTensor& tensor, std::string_view state, std::int64_t first,
                    std::span<float> into) = 0;
};

/// New weights, by each tensor's ParamInit: random numbers are keyed by seed, tensor and element.
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
