// Decoder: feeds sequences to a model's decode programs, one step after the other, and returns the
// logits of their last tokens.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/sample/bound_program.h"

namespace ds {

class Decoder {
 public:
  /// Programs and executors outlive the decoder.
  /// `start`: the token that begins every text of a model with an encoder.
  Decoder(BoundProgram prefill, BoundProgram step, std::int32_t start = 0);

  /// Tokens of one sequence; empty: the sequence is not in use.
  using Tokens = std::span<const std::int32_t>;

  /// Forgets all sequences and reads new ones, of at most longest_prompt() tokens. Then logits()
  /// are those of their last tokens; with an encoder, which reads them, of the token that starts
  /// the text. Errors: as Executor::run().
  void read(std::span<const Tokens> sequences);
  /// Adds one token to each sequence in use. A negative token ends its sequence. Errors: as
  /// Executor::run().
  void add(std::span<const std::int32_t> tokens);

  /// Returns the logits of a sequence in use, until the next call.
  [[nodiscard]] std::span<const float> logits(std::size_t sequence) const;
  [[nodiscard]] std::size_t sequences() const { return lengths_.size(); }
  /// Returns the most tokens of a text that the model sees.
  [[nodiscard]] std::int64_t room() const { return room_; }
  /// Returns whether an encoder reads the prompts, so that they are not part of the text.
  [[nodiscard]] bool has_encoder() const { return encoder_len_ > 0; }
  [[nodiscard]] std::int64_t longest_prompt() const { return has_encoder() ? encoder_len_ : room_; }

 private:
  /// The inputs of a program, which host code fills in.
  struct Side {
    explicit Side(BoundProgram bound);
    void place(std::int64_t row, std::int32_t token, std::int64_t position) const;
    void skip(std::int64_t row) const;
    Executor* executor;
    // Those that a program does not read are null.
    std::int32_t *tokens, *positions, *slots, *ranges, *last, *first, *window_ranges, *cross_ranges;
    std::int64_t piece, window = 0;
    const float* logits;
    std::int64_t vocab;
  };
  static void clear_cache(BoundProgram bound);
  void run(const Side& side);
  void read_pieces(std::span<const Tokens> sequences);
  void encode(std::span<const Tokens> sequences);

  Side prefill_, step_;
  std::int32_t *encoder_tokens_, *encoder_documents_;  // of the prefill; null without an encoder
  std::int64_t encoder_len_ = 0;
  std::int32_t start_;
  const Side* last_ = nullptr;                 // the one that ran last
  std::vector<std::int64_t> lengths_;          // of the texts; 0: not in use
  std::vector<std::int32_t> encoder_lengths_;  // of the prompts that the encoder has read
  std::int64_t room_;
  StepContext context_;
};

}  // namespace ds
