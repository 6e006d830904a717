// Tests of frozen tensors: they have no gradient, update or states, nothing is computed for them
// alone, and what trains has the same bits however the job is split.
#include "engine/program/freeze.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "engine/models/build_model.h"
#include "engine/program/check_edges.h"
#include "engine/program/liveness.h"
#include "engine/program/offload.h"
#include "engine/program/slices.h"
#include "unit/program/machine.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

using Patterns = std::vector<std::string>;

Program model_of(const char* arch, DType act = DType::f32, double dropout = 0) {
  ModelConfig config = tiny_config();
  config.arch = arch;
  config.layers = 3;
  config.tied = false;
  return build_model(config,
                     {.micro = 2, .seq_len = 4, .valid_vocab = 60, .act = act, .dropout = dropout});
}

std::string refusal(const char* arch, const Patterns& patterns) {
  try {
    freeze(model_of(arch), patterns);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return std::string(error.what()) + "; " + error.hint();
  }
  return "no error";
}

std::map<std::string, bool> trained_names(const Program& program) {
  std::map<std::string, bool> names;
  for (const ParamGroup& group : program.groups) {
    for (const ParamTensor& tensor : group.tensors) names[tensor.name] = group.trains;
  }
  return names;
}

/// Returns the paths of the ops of the backward pass.
std::set<std::string> backward_of(const Program& program) {
  std::set<std::string> paths;
  for (const Op& op : program.ops)
    if (op.phase == Phase::backward) paths.insert(op.path);
  return paths;
}

bool has(const std::set<std::string>& paths, const char* path) { return paths.contains(path); }

/// Checks that nothing but weights belongs to frozen groups, and that each trained element of this
/// rank is updated once.
void check_step(const Program& step) {
  std::map<int, std::int64_t> updated;
  for (const Op& op : step.ops) {
    if (is<ops::Update>(op)) updated[op.group] += step.value(op.in[0]).shape.elements();
    if (op.group < 0 || step.groups[static_cast<std::size_t>(op.group)].trains) continue;
    CAPTURE(op.path);
    CHECK((is<ops::AllGather>(op) || is<ops::Copy>(op)));
    for (const ValueId id : op.out) CHECK(step.value(id).kind == ValueKind::parameter);
  }
  for (std::size_t g = 0; g < step.groups.size(); ++g) {
    const ParamGroup& group = step.groups[g];
    CHECK(updated[static_cast<int>(g)] == (group.trains ? slice_elements(group.own) : 0));
    if (group.trains) continue;
    CHECK(group.gradient == kNoValue);
    for (const StateTile& tile : group.states) {
      CHECK(step.value(tile.master).kind == ValueKind::parameter);
      CHECK(tile.moment1 == kNoValue);
      CHECK(tile.moment2 == kNoValue);
    }
  }
  for (const Value& value : step.values) {
    const bool is_frozen = value.name.find(".frozen") != std::string::npos;
    CHECK((!is_frozen || value.kind == ValueKind::parameter));
  }
}

}  // namespace

TEST_CASE("frozen: a group is cut into what trains and what does not; names and shapes stay") {
  for (const char* arch : {"gpt2", "llama"}) {
    const Program all = model_of(arch), some = freeze(model_of(arch), {"*.1.*", "*.0.mlp*"});
    verify(some);
    std::map<std::string, bool> names = trained_names(some);
    CHECK(names.size() == trained_names(all).size());
    for (const auto& [name, trains] : names) {
      const bool is_frozen =
          name.find(".1.") != std::string::npos || name.find(".0.mlp") != std::string::npos;
      CAPTURE(name);
      CHECK(trains != is_frozen);
    }
    std::vector<std::string> groups;
    for (const ParamGroup& group : some.groups) groups.push_back(group.name);
    Patterns expected{"embed", "block0.frozen", "block0", "block1.frozen", "block2", "final"};
    if (std::string(arch) == "llama") expected.push_back("head");
    CHECK(groups == expected);
    const TrainedCount count = trained_count(some), whole = trained_count(all);
    CHECK(count.trained + count.frozen == whole.trained);
    CHECK(whole.frozen == 0);
    CHECK(print(freeze(model_of(arch), {})) == print(all));
  }
}

TEST_CASE("frozen: patterns that match nothing, and freezing everything, are refused") {
  CHECK(refusal("llama", {"q_proj*"})
            .find("train.freeze: no tensor of this model matches "
                  "\"q_proj*\"") != std::string::npos);
  CHECK(refusal("llama", {"q_proj*"}).find("layers.*.self_attn.qkv_proj.weight") !=
        std::string::npos);
  CHECK(refusal("gpt2", {"wte.weigth"}).find("did you mean \"wte.weight\"?") != std::string::npos);
  CHECK(refusal("gpt2", {"h.*", "w*", "ln_f*"}).find("nothing would train") != std::string::npos);
}

TEST_CASE("frozen: no op makes a gradient that nothing needs") {
  // Llama without the embedding, the first block and the MLP of the second.
  const Program reverse =
      differentiate(freeze(model_of("llama"), {"embed*", "layers.0.*", "layers.1.mlp*"}));
  verify(reverse);
  const std::set<std::string> paths = backward_of(reverse);
  CHECK(!has(paths, "embed.grad"));
  for (const std::string& path : paths) CHECK(!path.starts_with("block0"));
  CHECK(has(paths, "block1.attn.qkv.grad.weight"));
  CHECK(!has(paths, "block1.mlp.down.grad.weight"));
  CHECK(has(paths, "block1.mlp.down.grad.in"));  // the attention below trains
  CHECK(has(paths, "block1.ln1.grad"));
  CHECK(has(paths, "block2.mlp.down.grad.weight"));
  // The head alone: its input's gradient is not needed.
  const Program head = differentiate(freeze(model_of("llama"), {"embed*", "layers*", "norm*"}));
  verify(head);
  CHECK(backward_of(head) == std::set<std::string>{"head.grad"});
  CHECK(head.ops.back().out[2] == kNoValue);
  // A frozen head has no product for its weights.
  const Program body = differentiate(freeze(model_of("llama"), {"lm_head*"}));
  verify(body);
  for (const Op& op : body.ops)
    if (op.path == "head.grad") CHECK(op.out[3] == kNoValue);
  // Biases alone (Ben Zaken et al., arXiv:2106.10199): no weight has a gradient.
  const Program biases = differentiate(freeze(model_of("gpt2"), {"*.weight"}));
  verify(biases);
  for (const Op& op : biases.ops) {
    if (is<ops::LinearBackwardWeight>(op)) CHECK(op.out[0] == kNoValue);
    if (is<ops::LayerNormBackward>(op)) CHECK(op.out[1] == kNoValue);
    CHECK(!is<ops::EmbedBackward>(op));
  }
}

TEST_CASE("frozen: steps have no gradient, master or moments of frozen tensors") {
  const Patterns patterns{"*.0.*", "*.1.mlp*"};
  for (const char* arch : {"gpt2", "llama"}) {
    for (const DType act : {DType::f32, DType::bf16}) {
      for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::block}) {
        const Program whole =
            recompute(differentiate(freeze(model_of(arch, act, 0.1), patterns)), policy);
        for (const int stage : {0, 1, 2, 3}) {
          for (const Tier states : {Tier::device, Tier::host, Tier::nvme}) {
            for (const int world : {1, 2, 3}) {
              ShardSpec spec = spec_of(world - 1, world, 4, 1, ShardSpec::Order::step);
              spec.stage = stage;
              spec.overlap = true;
              const OffloadSpec offload{.states = states,
                                        .weights = stage == 3 ? states : Tier::device,
                                        .tile = 2 * kLeaf};
              spec.separate_master = offload.weights != Tier::device;
              Program step = offload_weights(shard(whole, spec), spec, offload);
              step = offload_states(std::move(step), offload);
              CAPTURE(arch);
              CAPTURE(stage);
              CAPTURE(world);
              verify(step);
              check_step(step);
              const PlacementPlan plan = place({&step}, 1000);
              CHECK(!missing_edge(step, plan.offsets[0], edges_of(step, plan.offsets[0])));
            }
          }
        }
      }
    }
  }
}

TEST_CASE("frozen: what trains has the same gradient in every world, stage and bucket") {
  std::mt19937 random(5);
  for (int round = 0; round < 12; ++round) {
    const char* const arch = round % 2 == 0 ? "gpt2" : "llama";
    Patterns patterns;
    for (const auto& [name, unused] : trained_names(model_of(arch)))
      if (random() % 2 == 0 && name != "norm.weight" && name != "ln_f.bias")
        patterns.push_back(name);
    const Program program = differentiate(freeze(model_of(arch), patterns));
    const auto order = round % 3 == 0 ? ShardSpec::Order::boundary : ShardSpec::Order::step;
    for (int world = 1; world <= 4; ++world) {
      ShardSpec spec = spec_of(0, world, 4, 2, order);
      spec.stage = static_cast<int>(random() % 4);
      spec.bucket = random() % 2 == 0 ? kLeaf : INT64_MAX;
      spec.overlap = random() % 2 == 0;
      CAPTURE(round);
      CAPTURE(world);
      CAPTURE(spec.stage);
      World job(program, spec);
      CHECK(job.broken_reads() == 0);
      if (spec.stage > 0 && world > 1) continue;  // a rank has a slice of each gradient
      for (int g = 0; g < static_cast<int>(program.groups.size()); ++g) {
        if (!program.groups[static_cast<std::size_t>(g)].trains) continue;
        const std::vector<float> expected = expected_gradient(program, g, spec);
        for (const std::vector<float>& gradient : job.gradients(g)) {
          REQUIRE(gradient.size() >= expected.size());
          CHECK(std::memcmp(gradient.data(), expected.data(), expected.size() * sizeof(float)) ==
                0);
        }
      }
    }
  }
}

TEST_CASE("frozen: an early update waits until the backward pass has used the weights") {
  // Without the norms, the last gradient of a block comes before the last use of its weights.
  for (const char* arch : {"gpt2", "llama"}) {
    const bool is_gpt2 = std::string(arch) == "gpt2";
    const Patterns norms = is_gpt2 ? Patterns{"*ln_*", "w*"} : Patterns{"*norm*", "embed*"};
    const Program whole = differentiate(freeze(model_of(arch), norms));
    for (const bool overlap : {false, true}) {
      for (const int world : {1, 2}) {
        for (const int stage : {0, 1, 3}) {
          ShardSpec spec = spec_of(0, world, 2, 1, ShardSpec::Order::step);
          spec.stage = stage;
          const OffloadSpec offload{.states = Tier::host,
                                    .tile = 2 * kLeaf,
                                    .overlap = overlap,
                                    .time = UpdateMoment::backward};
          const Program step =
              update_early(offload_states(shard(whole, spec), offload), overlap).step;
          CAPTURE(arch);
          CAPTURE(overlap);
          CAPTURE(world);
          CAPTURE(stage);
          std::map<ValueId, std::size_t> written;  // weights -> the first op that writes them
          for (std::size_t i = 0; i < step.ops.size(); ++i) {
            for (const ValueId id : step.ops[i].out) {
              if (id != kNoValue && step.value(home_of(step, id).base).persistent)
                written.try_emplace(home_of(step, id).base, i);
            }
          }
          for (std::size_t i = 0; i < step.ops.size(); ++i) {
            if (step.ops[i].phase == Phase::step && !is<ops::AllGather>(step.ops[i])) continue;
            for (const ValueId id : step.ops[i].in) {
              if (id == kNoValue || step.value(id).kind != ValueKind::parameter) continue;
              const auto found = written.find(home_of(step, id).base);
              CHECK((found == written.end() || found->second > i));
            }
          }
        }
      }
    }
  }
}
