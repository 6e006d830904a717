// ModelBuilder: base of the models' builders, with values, parameters, and the ops that models
// share.
#pragma once

#include <string>
#include <vector>

#include "engine/config/train_config.h"
#include "engine/models/model_shape.h"
#include "engine/program/program.h"

namespace ds {

/// Standard deviation of initial weights in Hugging Face's models of both families.
inline constexpr float kInitDeviation = 0.02F;

inline ParamInit zeros() { return {.kind = ParamInit::Kind::zeros}; }
inline ParamInit ones() { return {.kind = ParamInit::Kind::ones}; }
inline ParamInit normal(float deviation) {
  return {.kind = ParamInit::Kind::normal, .standard_deviation = deviation};
}

/// Builds the forward pass of one micro-batch.
class ModelBuilder {
 public:
  ModelBuilder(const ModelConfig& config, const ModelShape& shape);

 protected:
  /// A linear layer; `bias` is kNoValue without one.
  struct Layer {
    ValueId weight, bias;
    std::int64_t outputs;
  };

  /// The scale and the bias of a layer norm.
  struct Norm {
    ValueId weight, bias;
  };

  /// What a model reads beside tokens and targets, where the data or the model make it necessary.
  struct Reads {
    std::int64_t positions = 0;       // rows of its table of positions; 0: as many as angles allow
    std::int64_t first_position = 0;  // of a document's first token
    bool always_positions = false;    // also where they are the number of the token in its row
    bool no_positions = false;        // attention has the distances of tokens instead
    std::int64_t token_types = 0;     // rows of its table of types; 0: it has none
    bool encoder = false;
  };
  /// Adds the inputs: tokens, targets, what `reads` names, documents where the data have them, and
  /// the numbers of samples where activations are dropped.
  void add_inputs(const Reads& reads);
  ValueId add(std::string name, ValueKind kind, DType dtype, Shape shape);
  ValueId activation(std::string name, Shape shape);
  ValueId statistic(std::string name, Shape shape);  // f32

  // Parameters: open a group and fill it before emitting its ops.
  void open_group(std::string name);
  /// Opens the group of the model's next block; ops belong to it until close_block().
  void open_block(std::string name);
  void close_block() { block_ = -1; }
  ValueId parameter(std::string name, Shape shape, ParamInit init);
  /// Adds the scale or the bias of a norm over `elements`.
  ValueId norm_parameter(std::string name, std::int64_t elements, ParamInit init);
  Norm layer_norm(const std::string& name);

  /// Adds an operand at the end of a list, unless the program does not have it.
  static void add_if_given(std::vector<ValueId>& in, ValueId operand) {
    if (operand != kNoValue) in.push_back(operand);
  }
  void emit(OpAttrs attrs, std::string path, std::vector<ValueId> in, std::vector<ValueId> out);
  ValueId linear(const std::string& path, const Layer& layer, ValueId in);
  /// A linear layer whose result has the layout of heads that attention reads: those of queries,
  /// keys and values of the model; or, for cross-attention, `heads` of queries and `kv_heads` of
  /// keys and of values, either of which may be 0.
  ValueId linear_heads(const std::string& path, const Layer& layer, ValueId in);
  ValueId linear_heads(const std::string& path, const Layer& layer, ValueId in, std::int64_t heads,
                       std::int64_t kv_heads);
  ValueId linear_activated(const std::string& path, const Layer& layer, ValueId in,
                           Activation function);
  /// Adds `delta`, if any, to the residual, which becomes the sum, and returns the norm of it.
  ValueId layernorm(const std::string& path, const Norm& norm, ValueId& residual, ValueId delta);
  /// Returns `in` itself when nothing is dropped.
  ValueId dropout(const std::string& path, ValueId in);
  /// What an attention sees beside its queries: operands and attributes of ops::Attention.
  struct Sight {
    ValueId kv = kNoValue, ranges = kNoValue, bias = kNoValue;
    bool causal = true;
    std::int64_t window = 0;
    float scale = 0;
    bool cached = true;
  };
  /// `qkv` holds the queries alone where `sight.kv` is given. In a program that decodes, keys and
  /// values of `qkv` go into the cache if `sight.cached` is set, and the queries see what the input
  /// "ranges" says.
  ValueId attention(const std::string& path, ValueId qkv, Sight sight);
  /// Attention within the documents of a row, if it has any.
  ValueId attention(const std::string& path, ValueId qkv) {
    return attention(path, qkv, {.ranges = ranges_});
  }
  /// Emits the ranges of keys that the queries of `documents` see among those of `key_documents`,
  /// or among themselves. Returns kNoValue where the program has no such input.
  ValueId key_ranges(const std::string& path, ValueId documents, ValueId key_documents = kNoValue);
  /// Emits the loss of final_activation with the (V, C) weights and, if given, the bias (V).
  /// `attrs`: scale. A program without a loss gets the logits of the rows that the input
  /// "last" names instead.
  void head(ValueId weight, ValueId bias = kNoValue, ops::HeadLoss attrs = {});
  [[nodiscard]] Kernels::Extents extents() const;

  [[nodiscard]] std::int64_t kv_heads() const {
    return config_.kv_heads == 0 ? config_.heads : config_.kv_heads;
  }
  /// Number of key heads and of value heads where there are fewer than query heads; else 0.
  [[nodiscard]] std::int64_t fewer_kv_heads() const {
    return kv_heads() == config_.heads ? 0 : config_.kv_heads;
  }
  [[nodiscard]] std::int64_t head_size() const { return config_.elements_of_head(); }

  [[nodiscard]] bool decodes() const { return shape_.cache > 0; }
  /// The longest text that attention sees: T, or the positions of the cache.
  [[nodiscard]] std::int64_t longest_text() const { return decodes() ? shape_.cache : positions_; }
  /// Rows of a table of learned positions.
  [[nodiscard]] std::int64_t table_positions() const {
    return shape_.positions == 0 ? positions_ : shape_.positions;
  }

  const ModelConfig& config_;
  const ModelShape& shape_;
  std::int64_t batch_, positions_, rows_, width_;
  Program program_;
  ValueId ranges_ = kNoValue;  // of keys that each query sees among the documents of its row

 private:
  void add_decode_inputs(const Reads& reads);
  ValueId ranges_of(std::int64_t window);
  ValueId cached(const std::string& path, ValueId qkv, Sight& sight);
  void logits(ValueId weight, ValueId bias, float scale);
  [[nodiscard]] std::int64_t chunk_rows() const;
  [[nodiscard]] DropoutAttrs draw(const std::string& path) const;
  int blocks_ = 0, block_ = -1;
};

}  // namespace ds
