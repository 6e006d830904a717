#include "engine/sample/decoder.h"

#include <algorithm>

namespace ds {
namespace {

/// Returns the positions of the cache, which ops change in place.
std::int64_t cache_positions(const Program& program) {
  for (const Op& op : program.ops)
    if (is<ops::CacheKeys>(op)) return program.value(op.out[1]).shape[3];
  DS_ASSERT(false, "a program that decodes has a cache");
  return 0;
}

}  // namespace

Decoder::Side::Side(BoundProgram bound)
    : executor(&bound.executor),
      tokens(bound.numbers(input::kTokens)),
      positions(bound.numbers(input::kPositions)),
      slots(bound.numbers(input::kSlots)),
      ranges(bound.numbers(input::kRanges)),
      last(bound.numbers(input::kLast)),
      first(bound.numbers(input::kFirst)),
      window_ranges(bound.numbers(input::kWindowRanges)),
      cross_ranges(bound.numbers(input::kCrossRanges)) {
  DS_ASSERT(tokens != nullptr && slots != nullptr && ranges != nullptr,
            "a program that decodes has these inputs");
  const Tensor out = bound.executor.tensor(bound.program.logits);
  const Shape& rows = bound.program.value(bound.program.input(input::kRanges)).shape;
  piece = rows[1];
  for (const BatchInput& in : bound.executor.inputs(0))
    if (in.name == input::kWindowRanges) window = in.limit;
  logits = static_cast<const float*>(out.data);
  vocab = out.shape[1];
}

// A token sees itself and what is before it.
void Decoder::Side::place(std::int64_t row, std::int32_t token, std::int64_t position) const {
  tokens[row] = token;
  slots[row] = static_cast<std::int32_t>(position);
  if (positions != nullptr) positions[row] = slots[row];
  if (first != nullptr) *first = slots[row];
  ranges[2 * row] = 0;
  ranges[2 * row + 1] = static_cast<std::int32_t>(position) + 1;
  if (window_ranges == nullptr) return;
  window_ranges[2 * row] =
      static_cast<std::int32_t>(std::max(position + 1 - window, std::int64_t{0}));
  window_ranges[2 * row + 1] = ranges[2 * row + 1];
}

void Decoder::Side::skip(std::int64_t row) const {
  tokens[row] = 0;
  if (positions != nullptr) positions[row] = 0;
  slots[row] = -1;
  ranges[2 * row] = ranges[2 * row + 1] = 0;
  if (window_ranges != nullptr) window_ranges[2 * row] = window_ranges[2 * row + 1] = 0;
}

Decoder::Decoder(BoundProgram prefill, BoundProgram step, std::int32_t start)
    : prefill_(prefill),
      step_(step),
      encoder_tokens_(prefill.numbers(input::kEncoderTokens)),
      encoder_documents_(prefill.numbers(input::kEncoderDocuments)),
      start_(start) {
  const Program& program = step.program;
  const std::int64_t sequences = program.value(program.input(input::kRanges)).shape[0];
  lengths_.assign(static_cast<std::size_t>(sequences), 0);
  encoder_lengths_.assign(lengths_.size(), 0);
  room_ = cache_positions(program);
  if (encoder_tokens_ != nullptr) {
    const Program& whole = prefill.program;
    encoder_len_ = whole.value(whole.input(input::kEncoderTokens)).shape[0] / sequences;
  }
  DS_ASSERT(step_.piece == 1);
  clear_cache(step);
}

// Attention multiplies what nobody sees by 0, so it must be numbers. Other programs leave anything
// in this memory.
void Decoder::clear_cache(BoundProgram bound) {
  constexpr std::size_t kAtOnce = 1 << 20;
  const std::vector<std::byte> zeros(kAtOnce);
  for (std::size_t i = 0; i < bound.program.values.size(); ++i) {
    if (!bound.program.values[i].kept) continue;
    const Tensor cache = bound.executor.tensor(static_cast<ValueId>(i));
    const auto bytes = static_cast<std::size_t>(cache.bytes());
    for (std::size_t at = 0; at < bytes; at += kAtOnce)
      bound.executor.copy_in(std::span(zeros).first(std::min(kAtOnce, bytes - at)),
                             static_cast<std::byte*>(cache.data) + at);
  }
}

// Inputs lie in memory that every program overwrites, so they are written before each run.
void Decoder::run(const Side& side) {
  for (std::size_t b = 0; b < lengths_.size(); ++b) {
    if (side.last != nullptr)
      side.last[b] = static_cast<std::int32_t>((static_cast<std::int64_t>(b) + 1) * side.piece - 1);
    if (side.cross_ranges == nullptr) continue;
    side.cross_ranges[2 * b] = 0;
    side.cross_ranges[2 * b + 1] = encoder_lengths_[b];
  }
  side.executor->run(context_);
  last_ = &side;
}

void Decoder::read(std::span<const Tokens> sequences) {
  DS_ASSERT(sequences.size() == lengths_.size());
  if (has_encoder()) {
    encode(sequences);
  } else {
    read_pieces(sequences);
  }
}

// Prompts are padded at their ends; nothing sees the padding.
void Decoder::encode(std::span<const Tokens> sequences) {
  for (std::size_t b = 0; b < sequences.size(); ++b) {
    const Tokens& prompt = sequences[b];
    const auto row = static_cast<std::int64_t>(b);
    DS_ASSERT(std::ssize(prompt) <= encoder_len_);
    for (std::int64_t t = 0; t < encoder_len_; ++t) {
      const bool is_padding = t >= std::ssize(prompt);
      const std::int64_t at = row * encoder_len_ + t;
      encoder_tokens_[at] = is_padding ? 0 : prompt[static_cast<std::size_t>(t)];
      encoder_documents_[at] = is_padding ? -1 : 0;
    }
    encoder_lengths_[b] = static_cast<std::int32_t>(prompt.size());
    lengths_[b] = prompt.empty() ? 0 : 1;
    if (prompt.empty()) {
      prefill_.skip(row);
    } else {
      prefill_.place(row, start_, 0);
    }
  }
  run(prefill_);
}

// The last token of every sequence is the last row of the last piece, whose logits the program
// returns. So padding comes first.
void Decoder::read_pieces(std::span<const Tokens> sequences) {
  std::int64_t longest = 0;
  for (const Tokens& tokens : sequences) longest = std::max(longest, std::ssize(tokens));
  DS_ASSERT(longest > 0 && longest <= room_);
  const std::int64_t piece = prefill_.piece, pieces = (longest + piece - 1) / piece;
  for (std::int64_t p = 0; p < pieces; ++p) {
    for (std::size_t b = 0; b < sequences.size(); ++b) {
      const std::int64_t length = std::ssize(sequences[b]);
      lengths_[b] = length;
      for (std::int64_t t = 0; t < piece; ++t) {
        const std::int64_t row = static_cast<std::int64_t>(b) * piece + t;
        const std::int64_t position = p * piece + t - (pieces * piece - length);
        if (position < 0) {
          prefill_.skip(row);
        } else {
          prefill_.place(row, sequences[b][static_cast<std::size_t>(position)], position);
        }
      }
    }
    run(prefill_);
  }
}

void Decoder::add(std::span<const std::int32_t> tokens) {
  DS_ASSERT(tokens.size() == lengths_.size());
  for (std::size_t b = 0; b < tokens.size(); ++b) {
    if (tokens[b] < 0) lengths_[b] = 0;
    if (lengths_[b] == 0) {
      step_.skip(static_cast<std::int64_t>(b));
      continue;
    }
    DS_ASSERT(lengths_[b] < room_);
    step_.place(static_cast<std::int64_t>(b), tokens[b], lengths_[b]++);
  }
  run(step_);
}

std::span<const float> Decoder::logits(std::size_t sequence) const {
  DS_ASSERT(last_ != nullptr && lengths_[sequence] > 0);
  return {last_->logits + static_cast<std::int64_t>(sequence) * last_->vocab,
          static_cast<std::size_t>(last_->vocab)};
}

}  // namespace ds
