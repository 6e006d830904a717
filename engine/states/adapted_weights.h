// AdaptedWeights: initial weights of a model with adapters: the base model's from one source, the
// adapters' from another, or new.
#pragma once

#include <optional>

#include "engine/exchange/peft_folder.h"
#include "engine/states/state_source.h"

namespace ds {

class AdaptedWeights final : public StateSource {
 public:
  /// `adapters`: null: new ones, by their ParamInit, from `fresh`. All must outlive this object.
  AdaptedWeights(StateSource& base, StateSource& fresh, const PeftFolder* adapters)
      : base_(base), fresh_(fresh), adapters_(adapters) {}
  [[nodiscard]] bool has(std::string_view state) const override { return state == kMaster; }
  void read(const ParamTensor& tensor, std::string_view state, std::int64_t first,
            std::span<float> into) override;

 private:
  StateSource& base_;
  StateSource& fresh_;
  const PeftFolder* const adapters_;
};

/// Returns the names and shapes of the program's adapters.
std::vector<AdapterShape> adapter_shapes(const Program& program);

}  // namespace ds
