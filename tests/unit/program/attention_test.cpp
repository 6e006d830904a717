// Tests of attention's op with keys of another sequence, ranges, a bias and a window: operands,
// reverse, recomputation and counted operations.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/models/model_builder.h"
#include "engine/program/ops/row.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

/// Two blocks with self-attention in documents and cross-attention to 12 positions of another
/// sequence, both with one relative bias.
class EncoderDecoder : public ModelBuilder {
 public:
  using ModelBuilder::ModelBuilder;

  Program build() {
    add_inputs({});
    const ValueId documents = add("documents", ValueKind::input, DType::i32, {rows_});
    const ValueId others = add("key_documents", ValueKind::input, DType::i32, {batch_ * kKeys});
    const ValueId seen = add("seen", ValueKind::activation, DType::i32, {batch_, positions_, 2});
    const ValueId seen_keys =
        add("keys", ValueKind::activation, DType::i32, {batch_, positions_, 2});
    emit(ops::KeyRanges{}, "seen", {documents, kNoValue}, {seen});
    emit(ops::KeyRanges{}, "keys", {documents, others}, {seen_keys});
    open_group("embed");
    const ValueId wte = parameter("wte", {config_.vocab, width_}, normal(1));
    const ValueId table = parameter("table", {8, config_.heads}, normal(1));
    const ValueId source = parameter("source", {batch_ * kKeys, width_}, normal(1));
    const ValueId bias = statistic("bias.out", {config_.heads, 2 * positions_ - 1});
    emit(ops::RelativeBias{.bidirectional = false}, "bias", {table, kNoValue}, {bias});
    ValueId x = activation("embed.out", {rows_, width_});
    emit(ops::Embed{}, "embed", {program_.input(input::kTokens), wte, kNoValue}, {x});
    const ValueId encoded = activation("encoded", {batch_ * kKeys, width_});
    emit(ops::Embed{}, "encode", {others, source, kNoValue}, {encoded});
    for (int i = 0; i < 2; ++i) {
      const std::string path = fmt::format("block{}", i);
      open_block(path);
      const auto layer = [&](const char* name, std::int64_t outputs) {
        return Layer{parameter(path + name, {width_, outputs}, normal(1)), kNoValue, outputs};
      };
      const ValueId qkv = linear_heads(path + ".qkv", layer(".qkv.w", 3 * width_), x);
      x = attention(path + ".self", qkv, {.ranges = seen, .bias = bias, .window = 3, .scale = 1});
      const ValueId q = linear_heads(path + ".q", layer(".q.w", width_), x, config_.heads, 0);
      const ValueId kv =
          linear_heads(path + ".kv", layer(".kv.w", 2 * width_), encoded, 0, config_.heads);
      x = attention(path + ".cross", q, {.kv = kv, .ranges = seen_keys, .causal = false});
    }
    close_block();
    program_.final_activation = x;
    head(wte);
    program_.extents = extents();
    return std::move(program_);
  }

  static constexpr std::int64_t kKeys = 12;
};

Program model(double dropout = 0) {
  const ModelConfig config = tiny_config();
  const ModelShape shape{.micro = 2, .seq_len = 4, .valid_vocab = 60, .dropout = dropout};
  return EncoderDecoder(config, shape).build();
}

const Op& op_at(const Program& program, const std::string& path) {
  const auto found = std::find_if(program.ops.begin(), program.ops.end(),
                                  [&](const Op& op) { return op.path == path; });
  REQUIRE(found != program.ops.end());
  return *found;
}

}  // namespace

TEST_CASE("attention to other keys: operands fit after every pass, with and without dropout") {
  for (const double dropout : {0.0, 0.1}) {
    for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::block}) {
      verify(recompute(differentiate(model(dropout)), policy));
    }
  }
}

TEST_CASE("attention to other keys: gradients of queries, of keys and values, and of the bias") {
  const Program program = differentiate(model());
  const auto shape = [&](ValueId id) { return program.value(id).shape; };
  const Op& cross = op_at(program, "block1.cross.grad");
  CHECK(shape(cross.out[0]) == Shape{8, 16});
  CHECK(shape(cross.out[1]) == Shape{24, 32});
  CHECK(cross.out.size() == 2);
  CHECK(op_at(program, "block1.q.grad.weight").in[1] == cross.out[0]);
  CHECK(op_at(program, "block1.kv.grad.weight").in[1] == cross.out[1]);
  const Op &later = op_at(program, "block1.self.grad"), &first = op_at(program, "block0.self.grad");
  CHECK(shape(later.out[0]) == Shape{8, 48});
  CHECK(later.out[1] == kNoValue);
  CHECK(shape(later.out[2]) == Shape{2, 7});
  // The bias has two readers, so its gradients are added before the table's.
  const Op& table = op_at(program, "bias.grad");
  const auto sum = std::ranges::find_if(
      program.ops, [&](const Op& op) { return is<ops::Add>(op) && op.out[0] == table.in[0]; });
  REQUIRE(sum != program.ops.end());
  CHECK(sum->in == std::vector<ValueId>{later.out[2], first.out[2]});
  CHECK(as<ops::AttentionBackward>(later).forward.window == 3);
}

TEST_CASE("attention: operations that the mask and the window leave") {
  const Program program = model();
  double attention = 0;
  for (const Op& op : program.ops) {
    if (is<ops::Attention>(op)) attention += row_of(op).flops(Operands(program, op));
  }
  // 2 products, 2 operations, B 2, C 16; of 4 x 4 pairs the half less a triangle of 1; 4 x 12 pairs
  CHECK(attention == 2 * 4.0 * 2 * 16 * (8 - 0.5 + 48));
}
