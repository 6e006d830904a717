// add_adapters(): rewrites linear layers one by one.
#include "engine/models/adapters.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "engine/program/tensor_names.h"

namespace ds {
namespace {

using Epilogue = Linear::Epilogue;

std::string leaf_of(const std::string& name) { return name.substr(name.rfind('.') + 1); }

class AdapterPass {
 public:
  AdapterPass(Program model, const AdapterSpec& spec) : program_(std::move(model)), spec_(spec) {}

  Program run(const std::vector<LinearModule>& modules) {
    choose(modules);
    std::vector<Op> ops = std::move(program_.ops);
    program_.ops.clear();
    for (Op& op : ops) {
      const auto found = is<ops::Linear>(op) ? chosen_.find(op.in[1]) : chosen_.end();
      if (found == chosen_.end()) {
        program_.ops.push_back(std::move(op));
      } else {
        adapt(std::move(op), found->second);
      }
    }
    program_.extents.adapter_rank = spec_.rank;
    return std::move(program_);
  }

 private:
  void choose(const std::vector<LinearModule>& modules) {
    std::vector<const LinearModule*> linear;
    for (const LinearModule& module : modules)
      if (weight_of(module) != kNoValue) linear.push_back(&module);
    for (const std::string& target : spec_.targets) {
      if (std::ranges::none_of(linear, [&](const auto* each) { return is_target(target, *each); }))
        refuse_target(target, linear);
    }
    for (const LinearModule* const module : linear) {
      if (std::ranges::none_of(
              spec_.targets, [&](const std::string& target) { return is_target(target, *module); }))
        continue;
      const ValueId weight = weight_of(*module);
      require_rank(*module, program_.value(weight).shape[0]);
      chosen_[weight].push_back(*module);
    }
  }

  /// Returns the weights of the linear layer that holds the module; kNoValue if there is none.
  [[nodiscard]] ValueId weight_of(const LinearModule& module) const {
    for (const Op& op : program_.ops)
      if (is<ops::Linear>(op) && program_.value(op.in[1]).name == module.weight) return op.in[1];
    return kNoValue;
  }

  [[noreturn]] static void refuse_target(const std::string& target,
                                         const std::vector<const LinearModule*>& linear) {
    std::vector<std::string> leaves;
    for (const LinearModule* const module : linear) {
      std::string leaf = leaf_of(module->name);
      if (std::ranges::find(leaves, leaf) == leaves.end()) leaves.push_back(std::move(leaf));
    }
    throw Error(ErrorKind::config,
                fmt::format("lora.targets: no linear layer of this model matches \"{}\"", target),
                fmt::format("its linear layers: {}; \"all-linear\" takes them all; patterns match "
                            "names such as \"{}\"",
                            fmt::join(leaves, ", "), linear.front()->name));
  }

  void require_rank(const LinearModule& module, std::int64_t inputs) const {
    if (spec_.rank <= std::min(inputs, module.columns)) return;
    throw Error(ErrorKind::config,
                fmt::format("lora.rank = {} is more than {} has: {} inputs and {} outputs",
                            spec_.rank, module.name, inputs, module.columns),
                "choose a smaller rank, or other lora.targets");
  }

  /// Adds a tensor to the parameter group of `beside`.
  ValueId parameter(ValueId beside, const std::string& name, const Shape& shape, ParamInit init) {
    const ValueId base = program_.value(beside).base;
    const auto group = std::ranges::find(program_.groups, base, &ParamGroup::weights);
    DS_ASSERT(group != program_.groups.end());
    const ValueId made = program_.add_value({.name = name,
                                             .kind = ValueKind::parameter,
                                             .dtype = program_.value(beside).dtype,
                                             .shape = shape,
                                             .base = base,
                                             .offset = group->elements});
    group->tensors.push_back(
        {.name = name, .shape = shape, .offset = group->elements, .init = init, .weights = made});
    group->elements += (shape.elements() + kLeaf - 1) / kLeaf * kLeaf;
    program_.values[static_cast<std::size_t>(base)].shape = {group->elements};
    return made;
  }

  ValueId activation(const std::string& name, const Shape& shape) {
    return program_.add_value({.name = name, .dtype = dtype_, .shape = shape, .micro = 0});
  }

  /// Emits an op of the layer `like`.
  void emit(const Op& like, OpAttrs attrs, std::string path, std::vector<ValueId> in,
            std::vector<ValueId> out) {
    program_.ops.push_back({.attrs = std::move(attrs),
                            .path = std::move(path),
                            .micro = like.micro,
                            .in = std::move(in),
                            .out = std::move(out),
                            .block = like.block,
                            .phase = like.phase});
  }

  /// Emits the layer without its activation, its adapters, their sum, and the activation.
  void adapt(Op op, const std::vector<LinearModule>& modules) {
    const auto attrs = as<ops::Linear>(op);
    const bool is_activated = attrs.epilogue == Epilogue::activation;
    const ValueId sum = is_activated ? op.out[1] : op.out[0], result = op.out[0];
    const Op like = op;
    dtype_ = program_.value(sum).dtype;
    const ValueId base = activation(op.path + ".base", program_.value(sum).shape);
    if (is_activated) op.attrs = ops::Linear{};
    op.out = {base, kNoValue};
    program_.ops.push_back(std::move(op));
    ops::AddColumns add{.scale = static_cast<float>(spec_.scale),
                        .heads = attrs.epilogue == Epilogue::heads,
                        .kv_heads = attrs.kv_heads};
    std::vector<ValueId> in{base};
    for (const LinearModule& module : modules) {
      in.push_back(product(like, module));
      add.firsts.push_back(module.first_column);
    }
    DS_ASSERT(modules.size() <= AddColumns{}.parts.size());
    in.resize(1 + AddColumns{}.parts.size(), kNoValue);
    emit(like, std::move(add), like.path + ".lora", std::move(in), {sum});
    if (is_activated)
      emit(like, ops::Activate{.activation = attrs.activation}, like.path + ".activation", {sum},
           {result});
  }

  /// Emits dropout(x) A B and returns its result.
  ValueId product(const Op& like, const LinearModule& module) {
    const ValueId weight = like.in[1];
    const std::int64_t inputs = program_.value(weight).shape[0];
    const std::int64_t rows = program_.value(like.in[0]).shape[0];
    const std::string path = fmt::format("{}.lora.{}", like.path, leaf_of(module.name));
    const ParamInit uniform{
        .kind = ParamInit::Kind::uniform,
        .bound = static_cast<float>(1 / std::sqrt(static_cast<double>(inputs)))};
    const ValueId a =
        parameter(weight, module.ours + std::string(kLoraA), {inputs, spec_.rank}, uniform);
    const ValueId b =
        parameter(weight, module.ours + std::string(kLoraB), {spec_.rank, module.columns}, {});
    const ValueId in = dropped(like, path + ".dropout", like.in[0]);
    const ValueId low = activation(path + ".A.out", {rows, spec_.rank});
    const ValueId out = activation(path + ".B.out", {rows, module.columns});
    emit(like, ops::Linear{}, path + ".A", {in, a, kNoValue}, {low, kNoValue});
    emit(like, ops::Linear{}, path + ".B", {low, b, kNoValue}, {out, kNoValue});
    return out;
  }

  ValueId dropped(const Op& like, const std::string& path, ValueId in) {
    if (spec_.dropout == 0) return in;
    const ValueId out = activation(path + ".out", program_.value(in).shape);
    const DropoutAttrs draw{.rate = static_cast<float>(spec_.dropout),
                            .key = XXH3_64bits(path.data(), path.size())};
    emit(like, ops::Dropout{draw}, path, {in, samples()}, {out});
    return out;
  }

  /// Returns the input with the samples' numbers, which a model without dropout lacks.
  ValueId samples() {
    const ValueId known = program_.input(input::kSamples);
    if (known != kNoValue) return known;
    const ValueId made = program_.add_value({.name = input::kSamples,
                                             .kind = ValueKind::input,
                                             .dtype = DType::i64,
                                             .shape = {program_.extents.micro},
                                             .micro = 0});
    program_.micro_batches.at(0).inputs.push_back({input::kSamples, made});
    return made;
  }

  Program program_;
  const AdapterSpec& spec_;
  DType dtype_ = DType::f32;
  std::map<ValueId, std::vector<LinearModule>> chosen_;  // by the weights of linear layers
};

}  // namespace

bool is_target(const std::string& target, const LinearModule& module) {
  if (target == "all-linear" || target == module.name || target == module.ours) return true;
  if (target.find_first_of("*?[") != std::string::npos)
    return matches_name(target, module.name) || matches_name(target, module.ours);
  return module.name.ends_with("." + target);
}

std::vector<std::string> adapter_patterns(const std::vector<std::string>& more) {
  std::vector<std::string> patterns{fmt::format("*{}", kLoraA), fmt::format("*{}", kLoraB)};
  patterns.insert(patterns.end(), more.begin(), more.end());
  return patterns;
}

Program add_adapters(Program model, const std::vector<LinearModule>& modules,
                     const AdapterSpec& spec) {
  return AdapterPass(std::move(model), spec).run(modules);
}

}  // namespace ds
