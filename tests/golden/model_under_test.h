// ModelUnderTest: a fixture's model, built and run as the trainer does it (build -> differentiate
// -> shard -> place -> executor) on one rank.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "engine/comm/rendezvous.h"
#include "engine/exchange/adapter_tensors.h"
#include "engine/execute/executor.h"
#include "engine/models/adapters.h"
#include "engine/models/build_model.h"
#include "engine/program/decay.h"
#include "engine/program/freeze.h"
#include "engine/program/ops/row.h"
#include "engine/program/passes.h"
#include "golden/fixture.h"

namespace ds::golden {

using Values = std::vector<double>;

struct Batch {
  std::vector<std::int32_t> tokens, targets;
  // Where the model reads them
  std::vector<std::int32_t> documents{}, positions{}, token_types{}, encoder_tokens{},
      encoder_documents{};

  /// Returns the numbers of an input.
  [[nodiscard]] const std::vector<std::int32_t>& field(std::string_view name) const {
    if (name == input::kTargets) return targets;
    if (name == input::kDocuments) return documents;
    if (name == input::kPositions) return positions;
    if (name == input::kTokenTypes) return token_types;
    if (name == input::kEncoderTokens) return encoder_tokens;
    if (name == input::kEncoderDocuments) return encoder_documents;
    DS_ASSERT(name == input::kTokens, "a new input needs a line here");
    return tokens;
  }
};

/// Returns the fixture's batch of a step.
inline Batch batch_of(const Fixture& fixture, std::size_t step) {
  const std::string suffix = step % 2 == 0 ? ".0" : ".1";
  const auto array = [&](const char* name) -> std::vector<std::int32_t> {
    if (!fixture.has_array(name + suffix)) return {};
    return fixture.array<std::int32_t>(name + suffix);
  };
  return {.tokens = array(input::kTokens),
          .targets = array(input::kTargets),
          .documents = array(input::kDocuments),
          .positions = array(input::kPositions),
          .token_types = array(input::kTokenTypes),
          .encoder_tokens = array(input::kEncoderTokens),
          .encoder_documents = array(input::kEncoderDocuments)};
}

/// Returns the sizes of a fixture's model.
inline ModelConfig model_of(const Fixture& fixture) {
  const auto size = [&](const char* key) { return static_cast<std::int64_t>(fixture.model(key)); };
  ModelConfig config;
  config.layers = size("layers");
  config.hidden = size("hidden");
  config.heads = size("heads");
  config.ffn = 4 * config.hidden;
  config.vocab = size("vocab");
  if (fixture.is_llama()) {
    const auto& model = fixture.header()["model"];
    config.arch = model["arch"].get<std::string>();
    config.head_size = model.value("head_size", std::int64_t{0});
    const RotaryScaling scaling = fixture.rotary_scaling();
    config.rope_scaling = static_cast<RopeScaling>(scaling.kind);
    config.rope_factor = scaling.factor;
    config.rope_low = scaling.low;
    config.rope_high = scaling.high;
    config.rope_trained = scaling.trained;
    config.window = model.value("window", std::int64_t{0});
    config.full_layers = model.value("full_layers", std::int64_t{0});
    config.kv_heads = size("kv_heads");
    config.ffn = size("ffn");
    config.rope_theta = model["rope_theta"].get<double>();
    config.norm_eps = model["norm_eps"].get<double>();
    config.tied = model["tied"].get<bool>();
  }
  if (fixture.is_bert()) {
    const auto& model = fixture.header()["model"];
    config.arch = fixture.arch();
    config.ffn = size("ffn");
    config.type_vocab = size("type_vocab");
    config.first_position = size("first_position");
    config.norm_eps = model["norm_eps"].get<double>();
    const std::string activation = model["activation"].get<std::string>();
    config.activation = activation == "relu"        ? FeedForward::relu
                        : activation == "gelu_tanh" ? FeedForward::gelu_tanh
                                                    : FeedForward::gelu;
  }
  if (fixture.is_t5()) {
    const auto& model = fixture.header()["model"];
    config.arch = "t5";
    config.head_size = size("head_size");
    config.ffn = size("ffn");
    config.decoder_layers = size("decoder_layers");
    config.relative_buckets = size("buckets");
    config.relative_distance = size("distance");
    config.norm_eps = model["norm_eps"].get<double>();
    config.activation = model["activation"].get<std::string>() == "relu" ? FeedForward::relu
                                                                         : FeedForward::gated_gelu;
    config.tied = model["tied"].get<bool>();
    config.scaled = model["scaled"].get<bool>();
  }
  return config;
}

class ModelUnderTest {
 public:
  struct Step {
    double loss = 0;  // mean over the target tokens, nats
    double norm = 0;  // norm of the mean loss's gradient, before clipping
  };

  /// Distributes the fixture's batch over spec.virtual_ranks * spec.accum micro-batches. `fields`:
  /// what the batch has beside tokens and targets.
  ModelUnderTest(const Fixture& fixture, DType act, const ShardSpec& spec = {},
                 const DataFields& fields = {})
      : fixture_(fixture), backend_(make_cpu_backend({.threads = 2})) {
    // fp16 has few small numbers: gradients of single losses would lose their bits.
    if (act == DType::f16) loss_scale_ = 1024;
    const ModelConfig config = model_of(fixture);
    const auto size = [&](const char* key) {
      return static_cast<std::int64_t>(fixture.model(key));
    };
    DataFields all = fields;
    if (fixture.is_t5()) all.encoder_len = size("encoder_len");
    all.documents = all.documents || fixture.has_array("documents.0");
    const ModelShape shape{.micro = size("micro") / (spec.virtual_ranks * spec.accum),
                           .seq_len = size("seq_len"),
                           .valid_vocab = size("valid_vocab"),
                           .act = act,
                           .fields = all};
    forward_ = with_adapters(build_model(config, shape), config);
    step_ = shard(differentiate(without_decay(forward_, OptimizerConfig{}.no_decay)), spec);
    head_ = forward_.ops.back().in[1];
    head_bias_ = operand(forward_.ops.back().in, 3);
    head_scale_ = as<ops::HeadLoss>(forward_.ops.back()).scale;
    std::erase_if(forward_.ops, is<ops::HeadLoss>);
    verify(step_);
    place_and_bind();
    load_weights();
  }

  /// Runs one optimizer step and keeps its gradients.
  Step step(const Batch& batch, double lr) {
    fill(*step_executor_, step_, batch, true);
    StepContext context;
    context.loss_scale = static_cast<float>(loss_scale_);
    Step result;
    context.on_control = [&](StepContext& now) { result = decide(now, lr); };
    step_executor_->run(context);
    return result;
  }

  /// Returns the gradient of the *sum* of losses by parameter name, from the last step().
  [[nodiscard]] const Values& gradient(const std::string& name) const {
    const auto& parameters = fixture_.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].name == name) return gradients_[i];
    }
    throw Error(ErrorKind::config, "no gradient of " + name, "");
  }

  /// Returns the fp32 master of a parameter.
  [[nodiscard]] Values trained(const std::string& name) const {
    for (const ParamGroup& group : step_.groups) {
      for (const ParamTensor& tensor : group.tensors) {
        if (tensor.name != name) continue;
        const Tensor master = step_executor_->tensor(group.states[0].master);
        const auto* data = static_cast<const float*>(master.data) + tensor.offset;
        return {data, data + tensor.shape.elements()};
      }
    }
    throw Error(ErrorKind::config, "no parameter " + name, "");
  }

  /// Returns the logits. Shape: (rows, valid_vocab).
  Values logits(const Batch& batch) {
    fill(*forward_executor_, forward_, batch, false);
    StepContext context;
    forward_executor_->run(context);
    const Tensor in = forward_executor_->tensor(forward_.final_activation);
    const Tensor head = forward_executor_->tensor(head_);
    Tensor bias{};
    if (head_bias_ != kNoValue) bias = forward_executor_->tensor(head_bias_);
    const std::int64_t rows = in.shape[0], vocab = head.shape[0];
    const auto valid = static_cast<std::int64_t>(fixture_.model("valid_vocab"));
    std::vector<float> row(static_cast<std::size_t>(vocab));
    Values all;
    for (std::int64_t r = 0; r < rows; ++r) {
      Tensor one = in;
      one.data = static_cast<std::byte*>(in.data) + r * in.shape[1] * size_of(in.dtype);
      one.shape = {1, in.shape[1]};
      backend_.kernels->run(Logits{.in = one,
                                   .weight = head,
                                   .bias = bias,
                                   .out = {row.data(), DType::f32, {1, vocab}},
                                   .scale = head_scale_},
                            *stream_);
      all.insert(all.end(), row.begin(), row.begin() + valid);
    }
    return all;
  }

 private:
  /// Returns the model with the fixture's adapters, if it has any; then they alone train.
  Program with_adapters(Program model, const ModelConfig& config) const {
    const auto& header = fixture_.header()["model"];
    if (!header.contains("lora")) return model;
    const auto& theirs = header["lora"];
    const LoraConfig lora{.rank = theirs["rank"].get<std::int64_t>(),
                          .alpha = theirs["alpha"].get<double>(),
                          .rslora = theirs["rslora"].get<bool>(),
                          .targets = theirs["targets"].get<std::vector<std::string>>()};
    const auto modules =
        linear_modules(config, static_cast<std::int64_t>(fixture_.model("seq_len")));
    return freeze_all_but(
        add_adapters(std::move(model), modules,
                     {.rank = lora.rank, .scale = lora.scale(), .targets = lora.targets}),
        adapter_patterns({}));
  }

  static const ParamTensor& tensor_of(const Program& program, const std::string& name) {
    for (const ParamGroup& group : program.groups) {
      for (const ParamTensor& tensor : group.tensors) {
        if (tensor.name == name) return tensor;
      }
    }
    throw Error(ErrorKind::config, "the program has no parameter " + name, "");
  }

  void place_and_bind() {
    const auto workspace =
        static_cast<std::int64_t>(backend_.kernels->workspace_bytes(step_.extents));
    const PlacementPlan plan = place({&step_, &forward_}, workspace);
    arena_ = backend_.device->allocate(Tier::device,
                                       static_cast<std::size_t>(plan.device().total_bytes));
    // NaN everywhere, so that a value used before it is written spoils the result.
    std::memset(arena_->data(), 0xFF, arena_->bytes());
    backend_.kernels->set_workspace(arena_->data() + plan.device().workspace_offset,
                                    static_cast<std::size_t>(plan.device().workspace_bytes));
    stream_ = backend_.device->make_stream();
    const auto bind = [&](const Program& program, std::size_t index) {
      return std::make_unique<Executor>(program, plan.offsets[index],
                                        edges_of(program, plan.offsets[index]), backend_,
                                        make_workplace(arena_->data(), world_.get(), *stream_));
    };
    step_executor_ = bind(step_, 0);
    forward_executor_ = bind(forward_, 1);
  }

  // As in the trainer, gaps between tensors and moments start at zero.
  void load_weights() {
    for (const ParamGroup& group : step_.groups) {
      std::vector<float> frozen(static_cast<std::size_t>(group.elements));
      const Tensor master = group.trains ? step_executor_->tensor(group.states[0].master)
                                         : Tensor{frozen.data(), DType::f32, {group.elements}};
      std::memset(master.data, 0, static_cast<std::size_t>(master.bytes()));
      for (const ValueId id : {group.states[0].moment1, group.states[0].moment2}) {
        if (id == kNoValue) continue;
        const Tensor flat = step_executor_->tensor(id);
        std::memset(flat.data, 0, static_cast<std::size_t>(flat.bytes()));
      }
      for (const ParamTensor& tensor : group.tensors) {
        const auto same = [&](const Fixture::Parameter& p) { return p.name == tensor.name; };
        const auto& all = fixture_.parameters();
        const auto found = std::find_if(all.begin(), all.end(), same);
        DS_ASSERT(found != all.end(), "the fixture has every parameter");
        DS_ASSERT(static_cast<std::int64_t>(found->values.size()) == tensor.shape.elements());
        std::ranges::transform(found->values, static_cast<float*>(master.data) + tensor.offset,
                               [](double x) { return static_cast<float>(x); });
      }
      if (!group.trains || group.weights != group.states[0].master) {
        backend_.kernels->run(Cast{.in = master, .out = step_executor_->tensor(group.weights)},
                              *stream_);
      }
    }
  }

  // Micro-batch i of the program gets sequences i * micro and on. A program without a head does not
  // use targets and has no memory for them.
  static void fill(Executor& executor, const Program& program, const Batch& batch,
                   bool with_targets) {
    std::size_t done = 0;
    const auto size = [](const Tensor& memory) {
      return static_cast<std::size_t>(memory.elements());
    };
    const std::size_t all = batch.tokens.size();
    for (std::size_t micro = 0; micro < program.micro_batches.size(); ++micro) {
      for (const BatchInput& in : executor.inputs(micro)) {
        if (!in.memory || (in.name == input::kTargets && !with_targets)) continue;
        const std::vector<std::int32_t>& values = batch.field(in.name);
        // `done` counts tokens of the decoder; the encoder may have others.
        const std::size_t first = done * values.size() / all;
        DS_ASSERT(first + size(in.memory) <= values.size());
        std::memcpy(in.memory.data, values.data() + first,
                    static_cast<std::size_t>(in.memory.bytes()));
      }
      done += size(memory_of(executor.inputs(micro), input::kTokens));
    }
    DS_ASSERT(done == all, "the micro-batches are the batch");
  }

  // The trainer's decision for one rank, from the definitions instead of its code.
  Step decide(StepContext& context, double lr) {
    const auto& optimizer = fixture_.header()["optimizer"];
    double loss = 0, tokens = 0;
    for (const MicroBatch& place : step_.micro_batches) {
      loss += *static_cast<const double*>(step_executor_->tensor(place.loss).data);
      tokens += static_cast<double>(
          *static_cast<const std::int64_t*>(step_executor_->tensor(place.count).data));
    }
    gradients_.clear();
    double squares = 0;
    for (const Fixture::Parameter& parameter : fixture_.parameters()) {
      const ValueId gradient = tensor_of(step_, parameter.name).gradient;
      gradients_.emplace_back();
      if (gradient == kNoValue) continue;  // frozen
      const Tensor g = step_executor_->tensor(gradient);
      const auto* data = static_cast<const float*>(g.data);
      gradients_.back().assign(data, data + g.elements());
      for (double& x : gradients_.back()) {
        x /= loss_scale_;
        squares += x * x;
      }
    }
    const double norm = std::sqrt(squares) / tokens;
    const double clip = fixture_.header()["model"]["clip"].get<double>();
    const double beta1 = optimizer["beta1"].get<double>(), beta2 = optimizer["beta2"].get<double>();
    ++steps_;
    context.update.numbers = {
        .grad_scale =
            static_cast<float>(std::min(1.0, clip / (norm + 1e-6)) / tokens / loss_scale_),
        .lr = static_cast<float>(lr),
        .beta1 = static_cast<float>(beta1),
        .beta2 = static_cast<float>(beta2),
        .eps = static_cast<float>(optimizer["eps"].get<double>()),
        .weight_decay = static_cast<float>(optimizer["weight_decay"].get<double>()),
        .bias_correction1 = static_cast<float>(1 - std::pow(beta1, steps_)),
        .bias_correction2 = static_cast<float>(1 - std::pow(beta2, steps_))};
    return {.loss = loss / tokens, .norm = norm};
  }

  const Fixture& fixture_;
  Backend backend_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<Arena> arena_;
  const std::unique_ptr<Group> world_ = make_collectives({})->make_group(
      {.name = "world", .epoch = 0, .ranks = {0}}, Deadline::after(std::chrono::seconds(1)));
  Program forward_, step_;
  ValueId head_ = kNoValue, head_bias_ = kNoValue;  // of forward_: for the logits
  float head_scale_ = 1;
  std::unique_ptr<Executor> step_executor_, forward_executor_;
  std::vector<Values> gradients_;  // in the fixture's order
  double loss_scale_ = 1;
  int steps_ = 0;
};

}  // namespace ds::golden
