#include "engine/sample/decode_programs.h"

#include <algorithm>
#include <ranges>

#include "engine/models/build_model.h"

namespace ds {
namespace {

constexpr std::int64_t kMostPiece = 256, kPieceMultiple = 16;

/// Returns whether the op overwrites a kept value as a whole: the encoder's keys, which a later
/// program finds there.
bool fills_kept(const Program& program, const Op& op) {
  return std::ranges::any_of(op.out, [&](ValueId id) {
    return id != kNoValue && program.value(id).kept && std::ranges::find(op.in, id) == op.in.end();
  });
}

/// Returns the program without the ops that only fill kept values, and without their inputs: a run
/// reads what an earlier program has left there. Weights stay, so that groups are alike.
Program without_encoder(Program program) {
  std::vector<bool> is_read(program.values.size(), false);
  is_read[static_cast<std::size_t>(program.logits)] = true;
  std::vector<Op> ops;
  for (const Op& op : program.ops | std::views::reverse) {
    const bool matters = std::ranges::any_of(op.out, [&](ValueId id) {
      return id != kNoValue && is_read[static_cast<std::size_t>(id)];
    });
    if (!matters || fills_kept(program, op)) continue;
    for (const ValueId id : op.in)
      if (id != kNoValue) is_read[static_cast<std::size_t>(id)] = true;
    ops.push_back(op);
  }
  std::ranges::reverse(ops);
  program.ops = std::move(ops);
  std::erase_if(program.micro_batches[0].inputs, [&](const Input& input) {
    return !is_read[static_cast<std::size_t>(input.value)];
  });
  return program;
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
  if (shape.encoder_len == 0) return {.prefill = build(piece), .step = build(token)};
  token.fields.encoder_len = shape.encoder_len;
  Program whole = build(token);
  Program step = without_encoder(whole);
  return {.prefill = std::move(whole), .step = std::move(step)};
}

DecodePrograms build_decode(const ModelConfig& config, const DecodeShape& shape) {
  return build_decode([&](const ModelShape& of) { return build_model(config, of); }, shape);
}

}  // namespace ds
