// ImportedWeights: reads any part of the initial weights from a Hugging Face folder (model.init).
#pragma once

#include "engine/comm/activity.h"
#include "engine/config/train_config.h"
#include "engine/exchange/hf_model.h"
#include "engine/states/state_source.h"

namespace ds {

inline bool is_imported(const ModelConfig& model) { return model.init != "random"; }

/// Opens the folder that model.init names. Errors: Error{config}, as HfModel.
HfModel open_import(const TrainConfig& config);

class ImportedWeights final : public StateSource {
 public:
  /// `activity` shows the other ranks that this one makes progress; may be null.
  ImportedWeights(const TrainConfig& config, Activity* activity)
      : model_(open_import(config)), activity_(activity) {}
  [[nodiscard]] bool has(std::string_view state) const override { return state == kMaster; }
  void read(const ParamTensor& tensor, std::string_view /*state*/, std::int64_t first,
            std::span<float> into) override {
    model_.read(tensor.name, first, into);
    if (activity_ != nullptr) activity_->tick();
  }
  /// Errors: as HfModel::require_finite().
  void require_finite() const { model_.require_finite(); }

 private:
  HfModel model_;
  Activity* activity_;
};

}  // namespace ds
