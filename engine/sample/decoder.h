// Decoder: feeds sequences to a model's decode programs, one step after the other, and returns the
// logits of their last tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/config/train_config.h"
#include "engine/execute/executor.h"
#include "engine/models/model_shape.h"
#include "engine/program/program.h"

namespace ds {

/// The forward pass over a piece of the prompts, and over one token of each sequence. They share
/// weights and the cache of keys and values by name.
struct DecodePrograms {
  Program prefill, step;
};

/// What decode programs are built for.
struct DecodeShape {
  std::int64_t sequences = 1;  // continued together
  std::int64_t room = 0;       // positions of the cache, S
  std::int64_t positions = 0;  // of the model: rows of a table of learned positions
  std::int64_t piece = 0;      // tokens of a prompt that run together, at most `room`
  std::int64_t valid_vocab = 0;
  DType act = DType::f32;
};

/// Returns the programs of a model that `build` makes for a shape. Pure.
using BuildModel = std::function<Program(const ModelShape&)>;
DecodePrograms build_decode(const BuildModel& build, const DecodeShape& shape);
/// The same for a model without adapters.
DecodePrograms build_decode(const ModelConfig& config, const DecodeShape& shape);

/// Returns how many tokens of a prompt run together: all of them, up to 256.
std::int64_t piece_of(std::int64_t longest_prompt, std::int64_t room);

class Decoder {
 public:
  /// A program and its executor, which outlive the decoder.
  struct Bound {
    const Program& program;
    Executor& executor;
  };
  Decoder(Bound prefill, Bound step);

  /// Tokens of one sequence; empty: the sequence is not in use.
  using Tokens = std::span<const std::int32_t>;

  /// Forgets all sequences and reads new ones, of at most room() tokens. Then logits() are those of
  /// their last tokens. Errors: as Executor::run().
  void read(std::span<const Tokens> sequences);
  /// Adds one token to each sequence in use. A negative token ends its sequence. Errors: as
  /// Executor::run().
  void add(std::span<const std::int32_t> tokens);

  /// Returns the logits of a sequence in use, until the next call.
  [[nodiscard]] std::span<const float> logits(std::size_t sequence) const;
  [[nodiscard]] std::size_t sequences() const { return lengths_.size(); }
  [[nodiscard]] std::int64_t room() const { return room_; }

 private:
  /// The inputs of a program, which host code fills in.
  struct Side {
    explicit Side(Bound bound);
    void place(std::int64_t row, std::int32_t token, std::int64_t position) const;
    void skip(std::int64_t row) const;
    Executor* executor;
    std::int32_t *tokens, *positions, *slots, *ranges, *last = nullptr, *window_ranges = nullptr;
    std::int64_t piece, window = 0;
    const float* logits;
    std::int64_t vocab;
  };
  static void clear_cache(Bound bound);
  void run(const Side& side);

  Side prefill_, step_;
  const Side* last_ = nullptr;         // the one that ran last
  std::vector<std::int64_t> lengths_;  // of the sequences; 0: not in use
  std::int64_t room_;
  StepContext context_;
};

}  // namespace ds
