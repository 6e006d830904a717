// Going on where a checkpoint is: found before the config is complete, loaded when the rank has its
// memory, by all ranks from the same one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/find_checkpoint.h"
#include "engine/comm/rendezvous.h"
#include "engine/config/load.h"
#include "engine/train/trainer.h"

namespace ds {

/// Finds the checkpoint to go on from, and keeps the others for when it turns out broken.
class Resume {
 public:
  /// Reads the folder. Errors: Error{config}, as ResumeSearch.
  Resume(const CheckpointConfig& config, const Rendezvous& job);

  /// What the job goes on from; null: it begins anew.
  [[nodiscard]] const Checkpoint* checkpoint() const { return found_.checkpoint.get(); }
  [[nodiscard]] const Origin& origin() const { return found_.origin; }
  /// As ResumeSearch.
  [[nodiscard]] std::int64_t newest() const { return search_.newest(); }
  /// Overrides for what a job keeps of its first start unless it is given anew: the number of
  /// virtual ranks and the order of sums.
  [[nodiscard]] std::vector<std::string> kept(const LoadRequest& request) const;

  /// Whether the checkpoint is of this model, before anything else is made. Errors: Error{config}
  /// listing tensors, as require_tensors().
  void require_model(const TrainConfig& config) const;

  using Say = std::function<void(const std::string&)>;
  /// Fills the trainer's states: from the checkpoint, or where its pieces are broken on any rank
  /// from an older one, or anew. `say` gets lines for people. Collective. Errors: Error{config}:
  /// the checkpoint is of another model (by tensor), the ranks found different ones, none can be
  /// read.
  void load(Trainer& trainer, Group& world, const LoadRequest& request, const Say& say);

 private:
  [[nodiscard]] LoadWhat what() const;
  /// Returns the bytes that this rank has read.
  std::int64_t load_found(Trainer& trainer) const;

  ResumeSearch search_;
  Resumed found_;
};

/// "optimizer.lr: 0.001, was 0.002" for every line of the lists that differs. Pure.
std::vector<std::string> arithmetic_differences(const std::string& saved, const std::string& now);

/// The value of `name` in an arithmetic list, as TOML; nothing if it has none. Pure.
std::optional<std::string> arithmetic_value(const std::string& list, std::string_view name);

}  // namespace ds
