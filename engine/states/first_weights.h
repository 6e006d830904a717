// FirstWeights: the weights with which training begins: new, imported, or with adapters.
#pragma once

#include <optional>

#include "engine/comm/activity.h"
#include "engine/config/train_config.h"
#include "engine/states/adapted_weights.h"
#include "engine/states/imported_weights.h"
#include "engine/states/state_source.h"

namespace ds {

class FirstWeights final : public StateSource {
 public:
  /// All references outlive the object. Errors: Error{config} if a folder that the config names
  /// cannot be read.
  FirstWeights(const TrainConfig& config, const Program& step, Kernels& kernels, Stream& stream,
               Activity* activity);
  [[nodiscard]] bool has(std::string_view state) const override { return source_->has(state); }
  void read(const ParamTensor& tensor, std::string_view state, std::int64_t first,
            std::span<float> into) override {
    source_->read(tensor, state, first, into);
  }
  /// New numbers are drawn by the kernels, which serve one thread.
  [[nodiscard]] std::unique_ptr<StateSource> for_another_thread() override {
    return draws_ ? nullptr : std::make_unique<SameSource>(*this);
  }
  void finish() override {
    if (imported_) imported_->require_finite();
  }

 private:
  NewWeights fresh_;
  bool draws_ = false;  // some weights are new
  std::optional<ImportedWeights> imported_;
  std::optional<PeftFolder> adapters_;
  std::optional<AdaptedWeights> source_;
};

}  // namespace ds
