// freeze() and trained_count().
#include "engine/program/freeze.h"

#include <algorithm>

#include "engine/program/tensor_names.h"

namespace ds {
namespace {

class FreezePass {
 public:
  /// `trains`: the patterns say what trains, not what is frozen.
  FreezePass(Program model, const std::vector<std::string>& patterns, bool trains)
      : program_(std::move(model)), patterns_(patterns), trains_(trains) {}

  Program run() {
    for (const std::string& pattern : patterns_) require_match(pattern);
    std::vector<ParamGroup> groups;
    for (ParamGroup& group : program_.groups) split(std::move(group), groups);
    if (std::ranges::none_of(groups, &ParamGroup::trains))
      throw Error(ErrorKind::config, "train.freeze: every tensor is frozen, so nothing would train",
                  "leave out the pattern of the tensors that are to train");
    program_.groups = std::move(groups);
    return std::move(program_);
  }

 private:
  void require_match(const std::string& pattern) const {
    for (const ParamGroup& group : program_.groups) {
      for (const ParamTensor& tensor : group.tensors)
        if (matches_name(pattern, tensor.name)) return;
    }
    throw no_such_tensor(trains_ ? "lora.train" : "train.freeze", pattern, program_);
  }

  [[nodiscard]] bool is_frozen(const ParamTensor& tensor) const {
    const bool matches = std::ranges::any_of(
        patterns_, [&](const std::string& pattern) { return matches_name(pattern, tensor.name); });
    return matches != trains_;
  }

  /// Appends the group, or its two halves.
  void split(ParamGroup group, std::vector<ParamGroup>& groups) {
    ParamGroup frozen{.name = group.name + ".frozen", .trains = false};
    std::vector<ParamTensor> trained;
    for (ParamTensor& tensor : group.tensors)
      (is_frozen(tensor) ? frozen.tensors : trained).push_back(std::move(tensor));
    group.tensors = std::move(trained);
    if (!frozen.tensors.empty()) {
      Value whole = program_.value(group.weights);
      if (group.tensors.empty()) {
        frozen.weights = group.weights;
        program_.values[static_cast<std::size_t>(group.weights)].name = frozen.name + ".weights";
      } else {
        whole.name = frozen.name + ".weights";
        frozen.weights = program_.add_value(std::move(whole));
      }
      groups.push_back(lay_out(std::move(frozen)));
    }
    if (!group.tensors.empty()) groups.push_back(lay_out(std::move(group)));
  }

  /// Places the group's tensors one after the other in its flat memory.
  ParamGroup lay_out(ParamGroup group) {
    group.elements = 0;
    for (ParamTensor& tensor : group.tensors) {
      Value& view = program_.values[static_cast<std::size_t>(tensor.weights)];
      view.base = group.weights;
      view.offset = tensor.offset = group.elements;
      group.elements += (tensor.shape.elements() + kLeaf - 1) / kLeaf * kLeaf;
    }
    program_.values[static_cast<std::size_t>(group.weights)].shape = {group.elements};
    return group;
  }

  Program program_;
  const std::vector<std::string>& patterns_;
  const bool trains_;
};

}  // namespace

Program freeze(Program model, const std::vector<std::string>& patterns) {
  if (patterns.empty()) return model;
  return FreezePass(std::move(model), patterns, false).run();
}

Program freeze_all_but(Program model, const std::vector<std::string>& patterns) {
  return FreezePass(std::move(model), patterns, true).run();
}

TrainedCount trained_count(const Program& program) {
  TrainedCount count;
  for (const ParamGroup& group : program.groups) {
    for (const ParamTensor& tensor : group.tensors)
      (group.trains ? count.trained : count.frozen) += tensor.shape.elements();
  }
  return count;
}

}  // namespace ds
