// CheckpointSource: reads any part of the weights and optimizer states from a checkpoint.
#pragma once

#include <algorithm>
#include <memory>

#include "engine/checkpoint/reader.h"
#include "engine/config/train_config.h"
#include "engine/states/state_source.h"

namespace ds {

class CheckpointSource final : public StateSource {
 public:
  CheckpointSource(std::shared_ptr<const Checkpoint> checkpoint, LoadWhat what)
      : checkpoint_(std::move(checkpoint)), reader_(checkpoint_), what_(what) {}
  /// What another thread has read and found broken counts as read by the source that it was for.
  ~CheckpointSource() override {
    if (origin_ == nullptr) return;
    origin_->bytes_of_others_ += bytes_read();
    origin_->broken_of_others_ = std::max(origin_->broken_of_others_, broken_chunk());
  }
  CheckpointSource(const CheckpointSource&) = delete;

  [[nodiscard]] std::unique_ptr<StateSource> for_another_thread() override {
    auto other = std::make_unique<CheckpointSource>(checkpoint_, what_);
    other->origin_ = this;
    return other;
  }
  [[nodiscard]] bool has(std::string_view state) const override {
    return state == kMaster || what_ == LoadWhat::all;
  }
  [[nodiscard]] bool is_shared() const override { return true; }
  void read(const ParamTensor& tensor, std::string_view state, std::int64_t first,
            std::span<float> into) override {
    reader_.read(tensor.name, state, first, into);
  }
  [[nodiscard]] std::int64_t bytes_read() const { return reader_.bytes_read() + bytes_of_others_; }
  /// As PieceReader::broken_chunk(); one of those that several threads found.
  [[nodiscard]] int broken_chunk() const {
    return std::max(reader_.broken_chunk(), broken_of_others_);
  }

 private:
  std::shared_ptr<const Checkpoint> checkpoint_;
  PieceReader reader_;
  LoadWhat what_;
  CheckpointSource* origin_ = nullptr;  // this one is for another thread
  std::int64_t bytes_of_others_ = 0;
  int broken_of_others_ = -1;
};

/// Checks that the checkpoint fits the model. Errors: Error{config} with the tensors that the
/// checkpoint lacks, has in another shape, or has without a state that the optimizer needs, and
/// those that the model lacks.
void require_tensors(const Checkpoint& checkpoint, LoadWhat what, const Program& program,
                     const UpdateAttrs& update);

}  // namespace ds
