#include "engine/sample/decoder.h"

#include <algorithm>

#include "engine/models/build_model.h"

namespace ds {
namespace {

constexpr std::int64_t kMostPiece = 256, kPieceMultiple = 16;

std::int32_t* numbers(const Executor& executor, const Program& program, const char* name) {
  const ValueId id = program.input(name);
  DS_ASSERT(id != kNoValue && executor.host_reaches(id), "a decode program has this input");
  return static_cast<std::int32_t*>(executor.tensor(id).data);
}

}  // namespace

std::int64_t piece_of(std::int64_t longest_prompt, std::int64_t room) {
  const std::int64_t whole =
      (longest_prompt + kPieceMultiple - 1) / kPieceMultiple * kPieceMultiple;
  return std::min({whole, kMostPiece, room});
}

DecodePrograms build_decode(const BuildModel& build, const DecodeShape& shape) {
  ModelShape piece{.micro = shape.sequences,
                   .seq_len = shape.piece,
                   .valid_vocab = shape.valid_vocab,
                   .act = shape.act,
                   .logits = shape.sequences,
                   .cache = shape.room,
                   .positions = shape.positions};
  ModelShape token = piece;
  token.seq_len = 1;
  return {.prefill = build(piece), .step = build(token)};
}

DecodePrograms build_decode(const ModelConfig& config, const DecodeShape& shape) {
  return build_decode([&](const ModelShape& of) { return build_model(config, of); }, shape);
}

Decoder::Side::Side(Bound bound)
    : executor(&bound.executor),
      tokens(numbers(bound.executor, bound.program, input::kTokens)),
      positions(numbers(bound.executor, bound.program, input::kPositions)),
      slots(numbers(bound.executor, bound.program, input::kSlots)),
      ranges(numbers(bound.executor, bound.program, input::kRanges)) {
  const Tensor out = bound.executor.tensor(bound.program.logits);
  const Shape& rows = bound.program.value(bound.program.input(input::kRanges)).shape;
  piece = rows[1];
  for (const BatchInput& in : bound.executor.inputs(0)) {
    if (in.name != input::kWindowRanges) continue;
    window_ranges = static_cast<std::int32_t*>(in.memory.data);
    window = in.limit;
  }
  if (piece > 1) last = numbers(bound.executor, bound.program, input::kLast);
  logits = static_cast<const float*>(out.data);
  vocab = out.shape[1];
}

// A token sees itself and what is before it.
void Decoder::Side::place(std::int64_t row, std::int32_t token, std::int64_t position) const {
  tokens[row] = token;
  positions[row] = slots[row] = static_cast<std::int32_t>(position);
  ranges[2 * row] = 0;
  ranges[2 * row + 1] = static_cast<std::int32_t>(position) + 1;
  if (window_ranges == nullptr) return;
  window_ranges[2 * row] =
      static_cast<std::int32_t>(std::max(position + 1 - window, std::int64_t{0}));
  window_ranges[2 * row + 1] = ranges[2 * row + 1];
}

void Decoder::Side::skip(std::int64_t row) const {
  tokens[row] = positions[row] = 0;
  slots[row] = -1;
  ranges[2 * row] = ranges[2 * row + 1] = 0;
  if (window_ranges != nullptr) window_ranges[2 * row] = window_ranges[2 * row + 1] = 0;
}

Decoder::Decoder(Bound prefill, Bound step) : prefill_(prefill), step_(step) {
  const Program& program = step.program;
  const Shape& rows = program.value(program.input(input::kRanges)).shape;
  lengths_.assign(static_cast<std::size_t>(rows[0]), 0);
  room_ = program.extents.key_len;
  DS_ASSERT(step_.piece == 1);
  clear_cache(step);
}

// Attention multiplies what nobody sees by 0, so it must be numbers. Other programs leave anything
// in this memory.
void Decoder::clear_cache(Bound bound) {
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

void Decoder::run(const Side& side) {
  for (std::size_t b = 0; side.last != nullptr && b < lengths_.size(); ++b)
    side.last[b] = static_cast<std::int32_t>((static_cast<std::int64_t>(b) + 1) * side.piece - 1);
  side.executor->run(context_);
  last_ = &side;
}

// The last token of every sequence is the last row of the last piece, whose logits the program
// returns. So padding comes first.
void Decoder::read(std::span<const Tokens> sequences) {
  DS_ASSERT(sequences.size() == lengths_.size());
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
