// Compares the tensors of a checkpoint with those of the model.
#include "engine/states/checkpoint_source.h"

#include <set>

#include "engine/base/error.h"
#include "engine/states/save_states.h"

namespace ds {
namespace {

constexpr std::size_t kListed = 12;

std::string text_of(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Returns what is wrong with one tensor, or an empty text.
std::string mismatch(const Checkpoint& checkpoint, LoadWhat what, const ParamGroup& group,
                     const ParamTensor& tensor, const UpdateAttrs& update) {
  const TensorEntry* const saved = checkpoint.tensor(tensor.name);
  if (saved == nullptr) return "is not in the checkpoint";
  const std::vector<std::int64_t> wanted = extents_of(tensor.shape);
  if (saved->shape != wanted)
    return fmt::format("is {} in the checkpoint and {} in the model", text_of(saved->shape),
                       text_of(wanted));
  std::vector<std::string_view> states{kMaster};
  const bool has_moments = what == LoadWhat::all && group.trains;
  if (has_moments) states.push_back(kMoment1);
  if (has_moments && update.has_two_moments()) states.push_back(kMoment2);
  for (const std::string_view state : states) {
    if (checkpoint.state(tensor.name, state) == nullptr)
      return fmt::format("has no {} in the checkpoint", state);
  }
  return {};
}

}  // namespace

void require_tensors(const Checkpoint& checkpoint, LoadWhat what, const Program& program,
                     const UpdateAttrs& update) {
  std::vector<std::string> wrong;
  std::set<std::string> known;
  for (const ParamGroup& group : program.groups) {
    for (const ParamTensor& tensor : group.tensors) {
      known.insert(tensor.name);
      const std::string why = mismatch(checkpoint, what, group, tensor, update);
      if (!why.empty()) wrong.push_back(fmt::format("{} {}", tensor.name, why));
    }
  }
  for (const TensorEntry& tensor : checkpoint.manifest().tensors) {
    if (!known.contains(tensor.name)) wrong.push_back(tensor.name + " is not in the model");
  }
  if (wrong.empty()) return;
  const std::size_t count = wrong.size();
  if (count > kListed) {
    wrong.resize(kListed);
    wrong.push_back(fmt::format("... and {} more", count - kListed));
  }
  throw Error(
      ErrorKind::config,
      fmt::format("{} belongs to another model: {} tensor{} differ{}:\n  {}", checkpoint.folder(),
                  count, count == 1 ? "" : "s", count == 1 ? "s" : "", fmt::join(wrong, "\n  ")),
      what == LoadWhat::all
          ? "train the model that was saved (dslaunch inspect shows its config), load only "
            "its weights (--load weights) if only the optimizer differs, or start "
            "from step 0: checkpoint.resume=never"
          : "weights of another shape cannot be loaded");
}

}  // namespace ds
