// CheckpointSource: reads any part of the weights and optimizer states from a checkpoint.
#pragma once

#include <memory>

#include "engine/checkpoint/reader.h"
#include "engine/config/train_config.h"
#include "engine/states/state_source.h"

namespace ds {

class CheckpointSource final : public StateSource {
 public:
  CheckpointSource(std::shared_ptr<const Checkpoint> checkpoint, LoadWhat what)
      : reader_(std::move(checkpoint)), what_(what) {}
  [[nodiscard]] bool has(std::string_view state) const override {
    return state == kMaster || what_ == LoadWhat::all;
  }
  [[nodiscard]] bool is_shared() const override { return true; }
  void read(const ParamTensor& tensor, std::string_view state, std::int64_t first,
            std::span<float> into) override {
    reader_.read(tensor.name, state, first, into);
  }
  [[nodiscard]] std::int64_t bytes_read() const { return reader_.bytes_read(); }
  /// As PieceReader::broken_chunk().
  [[nodiscard]] int broken_chunk() const { return reader_.broken_chunk(); }

 private:
  PieceReader reader_;
  LoadWhat what_;
};

/// Checks that the checkpoint fits the model. Errors: Error{config} with the tensors that the
/// checkpoint lacks, has in another shape, or has without a state that the optimizer needs, and
/// those that the model lacks.
void require_tensors(const Checkpoint& checkpoint, LoadWhat what, const Program& program,
                     const UpdateAttrs& update);

}  // namespace ds
