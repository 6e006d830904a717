// AdapterMerge: adds a checkpoint's adapters to its weights: W + scale * A B.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/checkpoint/reader.h"
#include "engine/exchange/adapter_tensors.h"
#include "engine/exchange/model_facts.h"

namespace ds {

/// Returns the modules of the checkpoint that have adapters. Errors: Error{config}: half an
/// adapter.
std::vector<LinearModule> adapted_modules(const Checkpoint& checkpoint, const ModelFacts& facts);

class AdapterMerge {
 public:
  AdapterMerge(std::shared_ptr<const Checkpoint> checkpoint, const ModelFacts& facts);

  /// Adds the adapters' product, in f32, to elements [first, first + values.size()) of one of our
  /// weights with `columns` columns. Keeps the adapters of one weight in memory.
  void add(std::string_view ours, std::int64_t columns, std::int64_t first,
           std::span<float> values);

 private:
  struct Adapter {
    std::int64_t first_column = 0, columns = 0;
    std::vector<float> a, b;  // (inputs, rank), (rank, columns)
  };
  void load(const std::string& weight);

  std::shared_ptr<const Checkpoint> checkpoint_;
  PieceReader reader_;
  std::int64_t rank_ = 0;
  float scale_ = 1;
  std::map<std::string, std::vector<LinearModule>, std::less<>> modules_;  // by weight
  std::string loaded_;  // the weight whose adapters are in memory
  std::vector<Adapter> adapters_;
  std::vector<float> sums_;
};

}  // namespace ds
