// without_decay() and decay_cuts().
#include "engine/program/decay.h"

#include <array>

#include "engine/program/tensor_names.h"

namespace ds {
namespace {

constexpr std::array<std::string_view, 2> kWords{"norms", "biases"};

bool is_word(const std::string& entry) { return entry == kWords[0] || entry == kWords[1]; }

bool covers(const std::string& entry, const ParamTensor& tensor) {
  if (entry == "norms") return tensor.is_norm;
  if (entry == "biases") return tensor.name.ends_with(".bias");
  return matches_name(entry, tensor.name);
}

}  // namespace

Program without_decay(Program model, const std::vector<std::string>& no_decay) {
  for (const std::string& entry : no_decay) {
    bool is_used = is_word(entry);  // a model may have no biases
    for (ParamGroup& group : model.groups) {
      for (ParamTensor& tensor : group.tensors) {
        if (!covers(entry, tensor)) continue;
        tensor.decays = false;
        is_used = true;
      }
    }
    if (!is_used) throw no_such_tensor("optimizer.no_decay", entry, model, kWords);
  }
  return model;
}

std::vector<std::int64_t> decay_cuts(const ParamGroup& group, std::int64_t first,
                                     std::int64_t elements) {
  std::vector<std::int64_t> cuts;
  bool decays = true;
  for (std::size_t i = 0; i < group.tensors.size(); ++i) {
    const bool is_last = i + 1 == group.tensors.size();
    const std::int64_t end = is_last ? group.elements : group.tensors[i + 1].offset;
    const std::int64_t from = std::max(group.tensors[i].offset, first);
    if (from >= std::min(end, first + elements) || group.tensors[i].decays == decays) continue;
    decays = !decays;
    cuts.push_back(from - first);
  }
  return cuts;
}

}  // namespace ds
