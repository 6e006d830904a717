// Weights and states out of a checkpoint, for a rank that holds any part of them.
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

 private:
  PieceReader reader_;
  LoadWhat what_;
};

/// Errors: Error{config} listing the tensors that the checkpoint has not, has of another shape, or
/// without a state that the optimizer needs, and those that the model has not.
void require_tensors(const Checkpoint& checkpoint, LoadWhat what, const Program& program,
                     const UpdateAttrs& update);

}  // namespace ds
