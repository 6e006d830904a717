// Resume: continues a job from a checkpoint, the same one on all ranks.
// It is found before the config is complete, and loaded when the rank has its memory.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/checkpoint/find_checkpoint.h"
#include "engine/comm/rendezvous.h"
#include "engine/config/load.h"
#include "engine/train/start_vote.h"
#include "engine/train/trainer.h"

namespace ds {

/// Finds the checkpoint to resume from, and keeps older ones in case it is broken.
class Resume {
 public:
  /// Reads the checkpoint folder. Errors: Error{config}, as ResumeSearch.
  Resume(const CheckpointConfig& config, const Rendezvous& job);

  /// Returns the checkpoint to resume from; null: the job starts at step 0.
  [[nodiscard]] const Checkpoint* checkpoint() const { return found_.checkpoint.get(); }
  [[nodiscard]] const Origin& origin() const { return found_.origin; }
  /// As ResumeSearch::newest().
  [[nodiscard]] std::int64_t newest() const { return search_.newest(); }
  /// Returns overrides for the settings that a job keeps from its first start unless they are
  /// given: the number of virtual ranks and the order of sums.
  [[nodiscard]] std::vector<std::string> kept(const LoadRequest& request) const;

  /// Checks that the checkpoint belongs to this model, before anything is built. Errors:
  /// Error{config} with a list of tensors, as require_tensors().
  void require_model(const TrainConfig& config) const;

  using Say = std::function<void(const std::string&)>;
  /// Fills the trainer's states: from the checkpoint, from an older one if its pieces are broken on
  /// any rank, or with new weights. `say` receives lines for the user. Collective. Errors:
  /// Error{config} if the checkpoint belongs to another model (with tensors), the ranks found
  /// different ones, or none can be read.
  void load(Trainer& trainer, StartVote& vote, const LoadRequest& request, const Say& say);

 private:
  [[nodiscard]] LoadWhat what() const;
  /// Returns the bytes that this rank has read.
  std::int64_t load_found(Trainer& trainer) const;

  ResumeSearch search_;
  Resumed found_;
};

/// Returns "optimizer.lr: 0.001, was 0.002" for every line in which the lists differ. A key that is
/// newer than the saved list has the value that all jobs had before, or "absent". Pure.
std::vector<std::string> arithmetic_differences(const std::string& saved, const std::string& now);

/// Returns the value of `name` in an arithmetic list, as TOML; nothing if it has none. Pure.
std::optional<std::string> arithmetic_value(const std::string& list, std::string_view name);

}  // namespace ds
