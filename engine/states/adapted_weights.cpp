// Chooses the source of each tensor by its name.
#include "engine/states/adapted_weights.h"

#include "engine/models/adapters.h"

namespace ds {

void AdaptedWeights::read(const ParamTensor& tensor, std::string_view state, std::int64_t first,
                          std::span<float> into) {
  if (!is_adapter(tensor.name)) return base_.read(tensor, state, first, into);
  if (adapters_ == nullptr) return fresh_.read(tensor, state, first, into);
  adapters_->read(tensor.name, first, into);
}

std::vector<AdapterShape> adapter_shapes(const Program& program) {
  std::vector<AdapterShape> shapes;
  for (const ParamGroup& group : program.groups) {
    for (const ParamTensor& tensor : group.tensors)
      if (is_adapter(tensor.name))
        shapes.push_back({tensor.name, tensor.shape[0], tensor.shape[1]});
  }
  return shapes;
}

}  // namespace ds
