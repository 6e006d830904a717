// Adds row by row: each row of a product needs one row of A and all of B.
#include "engine/exchange/merge_adapters.h"

#include <algorithm>

#include "engine/base/error.h"

namespace ds {

std::vector<LinearModule> adapted_modules(const Checkpoint& checkpoint, const ModelFacts& facts) {
  std::vector<LinearModule> adapted;
  if (facts.lora.rank == 0) return adapted;
  for (const LinearModule& module : linear_modules(facts.model, facts.seq_len)) {
    const TensorEntry* const a = checkpoint.tensor(module.ours + std::string(kLoraA));
    const TensorEntry* const b = checkpoint.tensor(module.ours + std::string(kLoraB));
    if (a == nullptr && b == nullptr) continue;
    const TensorEntry* const weight = checkpoint.tensor(module.weight);
    const bool is_whole = a != nullptr && b != nullptr && weight != nullptr &&
                          a->shape == std::vector{weight->shape.at(0), facts.lora.rank} &&
                          b->shape == std::vector{facts.lora.rank, module.columns};
    if (!is_whole)
      throw Error(ErrorKind::config,
                  fmt::format("{}: the adapter of {} does not have the shapes of its config",
                              checkpoint.folder(), module.name),
                  "compare both with dslaunch inspect");
    adapted.push_back(module);
  }
  return adapted;
}

AdapterMerge::AdapterMerge(std::shared_ptr<const Checkpoint> checkpoint, const ModelFacts& facts)
    : checkpoint_(checkpoint),
      reader_(std::move(checkpoint)),
      rank_(facts.lora.rank),
      scale_(static_cast<float>(facts.lora.scale())) {
  for (LinearModule& module : adapted_modules(*checkpoint_, facts))
    modules_[module.weight].push_back(std::move(module));
}

void AdapterMerge::load(const std::string& weight) {
  adapters_.clear();
  const std::int64_t inputs = checkpoint_->tensor(weight)->shape.at(0);
  for (const LinearModule& module : modules_.find(weight)->second) {
    Adapter& adapter = adapters_.emplace_back();
    adapter.first_column = module.first_column;
    adapter.columns = module.columns;
    adapter.a.resize(static_cast<std::size_t>(inputs * rank_));
    adapter.b.resize(static_cast<std::size_t>(rank_ * module.columns));
    reader_.read(module.ours + std::string(kLoraA), kMaster, 0, adapter.a);
    reader_.read(module.ours + std::string(kLoraB), kMaster, 0, adapter.b);
  }
  loaded_ = weight;
}

void AdapterMerge::add(std::string_view ours, std::int64_t columns, std::int64_t first,
                       std::span<float> values) {
  const auto found = modules_.find(ours);
  if (found == modules_.end()) return;
  if (loaded_ != ours) load(found->first);
  const std::int64_t end = first + std::ssize(values);
  for (std::int64_t row = first / columns; row * columns < end; ++row) {
    for (const Adapter& adapter : adapters_) {
      const std::int64_t from = std::max(first, row * columns + adapter.first_column);
      const std::int64_t to = std::min(end, row * columns + adapter.first_column + adapter.columns);
      if (from >= to) continue;
      const auto count = static_cast<std::size_t>(to - from);
      const std::int64_t column = from - row * columns - adapter.first_column;
      sums_.assign(count, 0.0F);
      for (std::int64_t r = 0; r < rank_; ++r) {
        const float a = adapter.a[static_cast<std::size_t>(row * rank_ + r)];
        const float* const b = adapter.b.data() + r * adapter.columns + column;
        for (std::size_t i = 0; i < count; ++i) sums_[i] += a * b[i];
      }
      float* const to_values = values.data() + (from - first);
      for (std::size_t i = 0; i < count; ++i) to_values[i] += scale_ * sums_[i];
    }
  }
}

}  // namespace ds
