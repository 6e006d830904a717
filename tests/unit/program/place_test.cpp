// Tests of place(): values alive together never share bytes, and the arena is no larger than
// necessary.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "engine/program/liveness.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

// Both live at some op; written independently of the product's rule, which this must check.
bool live_together(const Life& a, const Life& b) {
  return std::max(a.first, b.first) <= std::min(a.last, b.last);
}

bool share_bytes(const Program& program, const std::vector<std::int64_t>& offsets, std::size_t a,
                 std::size_t b) {
  const std::int64_t end_a = offsets[a] + bytes_of(program.values[a]);
  const std::int64_t end_b = offsets[b] + bytes_of(program.values[b]);
  return offsets[a] < end_b && offsets[b] < end_a;
}

// Computes lives a second way, by searching all ops for each value.
Life life_by_search(const Program& program, ValueId id) {
  Life life;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const auto touches = [&](ValueId other) {
      return other != kNoValue && (other == id || program.value(other).base == id);
    };
    const Op& op = program.ops[i];
    if (!std::any_of(op.in.begin(), op.in.end(), touches) &&
        !std::any_of(op.out.begin(), op.out.end(), touches))
      continue;
    if (life.first < 0) life.first = static_cast<int>(i);
    life.last = static_cast<int>(i);
  }
  if (program.value(id).kind == ValueKind::input) life.first = 0;
  return life;
}

int clashes(const Program& program, const PlacementPlan& plan, std::size_t index) {
  const std::vector<std::int64_t>& offsets = plan.offsets[index];
  std::vector<std::size_t> bases;
  for (std::size_t i = 0; i < program.values.size(); ++i) {
    if (program.values[i].base == kNoValue) bases.push_back(i);
  }
  std::vector<Life> lives;
  for (const std::size_t i : bases)
    lives.push_back(life_by_search(program, static_cast<ValueId>(i)));
  int found = 0;
  for (std::size_t a = 0; a < bases.size(); ++a) {
    for (std::size_t b = a + 1; b < bases.size(); ++b) {
      const bool kept = program.values[bases[a]].persistent || program.values[bases[b]].persistent;
      if (!kept && (lives[a].first < 0 || lives[b].first < 0 || !live_together(lives[a], lives[b])))
        continue;
      if (share_bytes(program, offsets, bases[a], bases[b])) ++found;
    }
  }
  return found;
}

Program random_program(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  Program program;
  for (int i = 0; i < 3 + below(60); ++i) {
    program.add_value({.name = fmt::format("v{}", i),
                       .kind = below(10) == 0 ? ValueKind::input : ValueKind::activation,
                       .shape = {1 + below(100000)},
                       .persistent = below(12) == 0});
  }
  const int values = static_cast<int>(program.values.size());
  for (int i = 0; i < 2 + below(80); ++i) {
    const auto near = [&] { return std::min(values - 1, i * values / 82 + below(6)); };
    program.ops.push_back({.attrs = ops::Add{},
                           .path = fmt::format("op{}", i),
                           .in = {near(), near()},
                           .out = {near()}});
  }
  return program;
}

std::int64_t bytes_of_class(const PlacementPlan& plan, std::string_view name) {
  for (const auto& [known, bytes] : plan.device().classes) {
    if (known == name) return bytes;
  }
  return -1;
}

Program step_of(const ModelConfig& config, const ModelShape& shape, const ShardSpec& spec = {}) {
  return shard(differentiate(build_gpt2(config, shape)), spec);
}

ModelConfig config_of(std::int64_t layers, std::int64_t width, std::int64_t heads,
                      std::int64_t vocab) {
  ModelConfig config;
  config.layers = layers;
  config.hidden = width;
  config.heads = heads;
  config.ffn = 4 * width;
  config.vocab = vocab;
  return config;
}

}  // namespace

TEST_CASE("random programs: values that live together never share bytes") {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    const Program program = random_program(seed);
    const PlacementPlan plan = place({&program}, 12345);
    CAPTURE(seed);
    CHECK(clashes(program, plan, 0) == 0);
  }
}

TEST_CASE("sharded steps: values that live together never share bytes; no value exceeds the end") {
  for (const auto order : {ShardSpec::Order::boundary, ShardSpec::Order::step}) {
    for (int world = 1; world <= 3; ++world) {
      const Program program = shard(differentiate(tiny_forward()), spec_of(0, world, 4, 2, order));
      const PlacementPlan plan = place({&program}, 0);
      CHECK(clashes(program, plan, 0) == 0);
      for (std::size_t i = 0; i < program.values.size(); ++i)
        CHECK(plan.offsets[0][i] + bytes_of(program.values[i]) <= plan.device().total_bytes);
    }
  }
}

TEST_CASE("two programs share persistent values by name, and the rest of the arena") {
  const Program train = shard(differentiate(tiny_forward()), ShardSpec{});
  const Program check = tiny_forward();
  const PlacementPlan plan = place({&train, &check}, 4096);
  CHECK(clashes(check, plan, 1) == 0);
  for (std::size_t g = 0; g < check.groups.size(); ++g) {
    CHECK(plan.offsets[0][static_cast<std::size_t>(train.groups[g].weights)] ==
          plan.offsets[1][static_cast<std::size_t>(check.groups[g].weights)]);
  }
  CHECK(plan.device().total_bytes == place({&train}, 4096).device().total_bytes);
}

TEST_CASE("the total is the sum of the parts, and of the classes") {
  const Program program =
      step_of(config_of(4, 256, 4, 256),
              {.micro = 8, .seq_len = 128, .valid_vocab = 256, .act = DType::bf16});
  const PlacementPlan plan = place({&program}, 100000);
  CHECK(plan.device().total_bytes == plan.device().persistent_bytes +
                                         plan.device().workspace_bytes +
                                         plan.device().transient_bytes);
  std::int64_t sum = 0;
  for (const auto& [name, bytes] : plan.device().classes) sum += bytes;
  CHECK(sum == plan.device().total_bytes);
  CHECK(bytes_of_class(plan, "moments") == 2 * bytes_of_class(plan, "master"));
}

TEST_CASE("a snapshot lies behind all else, in whole pages, and is counted") {
  const Program program =
      step_of(config_of(2, 64, 4, 256), {.micro = 2, .seq_len = 16, .valid_vocab = 256});
  PlacementPlan plan = place({&program}, 0);
  const TierPlan before = plan.device();
  add_snapshot(plan.of(Tier::device), 5000);
  CHECK(plan.device().snapshot_offset == before.total_bytes);
  CHECK(plan.device().snapshot_bytes == 8192);
  CHECK(plan.device().total_bytes == before.total_bytes + 8192);
  CHECK(bytes_of_class(plan, "snapshot") == 8192);
  add_snapshot(plan.of(Tier::host), 4096);
  CHECK(plan.of(Tier::host).total_bytes == 4096);
}

TEST_CASE("GPT-2 124 M, B 4, T 256, bf16: memory is what the formulas say") {
  const std::int64_t width = 768, rows = 4 * 256, layers = 12;
  const Program program =
      step_of(config_of(layers, width, 12, 50304),
              {.micro = 4, .seq_len = 256, .valid_vocab = 256, .act = DType::bf16});
  const PlacementPlan plan = place({&program}, 0);
  for (const auto& [name, bytes] : plan.device().classes) {
    MESSAGE(name << " " << bytes / 1048576 << " MiB");
  }
  MESSAGE("total " << plan.device().total_bytes / 1048576 << " MiB");
  const std::int64_t parameters = 124'475'904 - (1024 - 256) * width;
  const std::int64_t gradients = 4 * parameters;
  const std::int64_t block =
      34 * rows * width;  // 2 (2 LN + 2 sums + 3 qkv + attention + 4 + 4 + 1)
  // At the norm all gradients are alive; at the start of the backward pass all activations and the
  // head's gradient are. The peak is the larger of the two, and little more.
  const std::int64_t head = 4 * 50304 * width;
  const std::int64_t least = std::max(gradients, layers * block + head);
  CHECK(plan.device().transient_bytes >= gradients);
  CHECK(plan.device().transient_bytes < least * 105 / 100 + (32 << 20));
}

TEST_CASE("virtual ranks on one rank cost accumulators by the depth of the tree") {
  const auto transient = [&](int virtual_ranks) {
    const Program program =
        step_of(config_of(2, 256, 4, 256),
                {.micro = 1, .seq_len = 8, .valid_vocab = 256, .act = DType::f32},
                {.virtual_ranks = virtual_ranks});
    return place({&program}, 0).device().transient_bytes;
  };
  const std::int64_t one = transient(1);
  CHECK(transient(8) <= 4 * one);
  CHECK(transient(64) <= 7 * one);
}
