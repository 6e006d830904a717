// add_adapters(): low-rank adapters beside linear layers (LoRA, Hu et al., arXiv:2106.09685).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/program/program.h"

namespace ds {

/// A linear layer by its Hugging Face name: columns [first_column, first_column + columns) of one
/// of our weights, which may hold several layers side by side.
struct LinearModule {
  std::string name;    // "model.layers.0.self_attn.q_proj"
  std::string ours;    // "layers.0.self_attn.q_proj": the adapter's tensors begin with it
  std::string weight;  // "layers.0.self_attn.qkv_proj.weight"
  std::int64_t first_column = 0, columns = 0;
};

struct AdapterSpec {
  std::int64_t rank = 0;
  double scale = 1;    // of the adapter's product
  double dropout = 0;  // of its input
  /// "all-linear"; the end of a module's name after a dot, such as "q_proj"; or a pattern of names.
  std::vector<std::string> targets{};
};

/// Ends of the names of an adapter's tensors, which are (inputs, rank) and (rank, outputs).
inline constexpr std::string_view kLoraA = ".lora_A.weight", kLoraB = ".lora_B.weight";
inline bool is_adapter(std::string_view tensor) {
  return tensor.ends_with(kLoraA) || tensor.ends_with(kLoraB);
}
/// Returns the patterns of what trains: the tensors of adapters, and `more`.
std::vector<std::string> adapter_patterns(const std::vector<std::string>& more);

/// Returns whether a target names the module.
bool is_target(const std::string& target, const LinearModule& module);

/// Returns the model with an adapter for each target: y + scale * dropout(x) A B, where y is the
/// layer's result before its activation. A starts as in PEFT, uniform within 1 / sqrt(inputs), and
/// B as zeros; both are in the parameter group of the layer's weights. Random numbers are keyed by
/// the modules' names. `modules`: any; those that are not linear layers of the model are left out.
/// Pure. Errors: Error{config}: a target that matches no linear layer, a rank above a layer's
/// inputs or outputs.
Program add_adapters(Program model, const std::vector<LinearModule>& modules,
                     const AdapterSpec& spec);

}  // namespace ds
