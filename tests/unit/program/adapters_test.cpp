// Tests of add_adapters(): which layers get adapters, the rewritten ops, and what trains.
#include "engine/models/adapters.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "engine/exchange/adapter_tensors.h"
#include "engine/models/build_model.h"
#include "engine/program/check_edges.h"
#include "engine/program/freeze.h"
#include "engine/program/offload.h"
#include "unit/program/machine.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

using Targets = std::vector<std::string>;

struct AdapterCase {
  const char* arch = "llama";
  Targets targets{"all-linear"};
  std::int64_t rank = 2, kv_heads = 1;
  double dropout = 0, model_dropout = 0;
  Targets train{};
};

ModelConfig model_config(const AdapterCase& c) {
  ModelConfig config = tiny_config();
  config.arch = c.arch;
  config.kv_heads = std::string(c.arch) == "gpt2" ? config.heads : c.kv_heads;
  config.ffn = 24;
  config.tied = std::string(c.arch) == "gpt2";
  return config;
}

Program adapted(const AdapterCase& c, DType act = DType::f32) {
  const ModelConfig config = model_config(c);
  Program model = build_model(
      config,
      {.micro = 2, .seq_len = 4, .valid_vocab = 60, .act = act, .dropout = c.model_dropout});
  return freeze_all_but(
      add_adapters(std::move(model), linear_modules(config, 4),
                   {.rank = c.rank, .scale = 2, .dropout = c.dropout, .targets = c.targets}),
      adapter_patterns(c.train));
}

std::set<std::string> trained_tensors(const Program& program) {
  std::set<std::string> names;
  for (const ParamGroup& group : program.groups) {
    for (const ParamTensor& tensor : group.tensors)
      if (group.trains) names.insert(tensor.name);
  }
  return names;
}

std::string refusal_of(const AdapterCase& c) {
  try {
    adapted(c);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return std::string(error.what()) + "; " + error.hint();
  }
  return "no error";
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const Op& op_named(const Program& program, const std::string& path) {
  const auto found = std::ranges::find(program.ops, path, &Op::path);
  REQUIRE(found != program.ops.end());
  return *found;
}

}  // namespace

TEST_CASE("adapters: targets are all layers, ends of names, or patterns; only adapters train") {
  CHECK(trained_tensors(adapted({})).size() == 2 * 2 * 7);  // layers, A and B, modules
  CHECK(trained_tensors(adapted({.arch = "gpt2"})).size() == 2 * 2 * 4);
  CHECK(trained_tensors(adapted({.targets = {"q_proj", "model.layers.1.mlp.up_proj"}})) ==
        std::set<std::string>{
            "layers.0.self_attn.q_proj.lora_A.weight", "layers.0.self_attn.q_proj.lora_B.weight",
            "layers.1.self_attn.q_proj.lora_A.weight", "layers.1.self_attn.q_proj.lora_B.weight",
            "layers.1.mlp.up_proj.lora_A.weight", "layers.1.mlp.up_proj.lora_B.weight"});
  CHECK(trained_tensors(adapted({.targets = {"*.1.mlp.*"}})).size() == 2 * 3);
  CHECK(trained_tensors(adapted({.arch = "gpt2", .targets = {"attn.c_proj"}})) ==
        std::set<std::string>{"h.0.attn.c_proj.lora_A.weight", "h.0.attn.c_proj.lora_B.weight",
                              "h.1.attn.c_proj.lora_A.weight", "h.1.attn.c_proj.lora_B.weight"});
  CHECK(trained_tensors(adapted({.targets = {"v_proj"}, .train = {"*norm.weight", "lm_head*"}}))
            .contains("lm_head.weight"));
}

TEST_CASE("adapters: targets that match nothing and ranks that are too large are refused") {
  const std::string none = refusal_of({.targets = {"v_proj", "qkv"}});
  CHECK(holds(none, "lora.targets: no linear layer of this model matches \"qkv\""));
  CHECK(holds(none, "q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj"));
  CHECK(holds(refusal_of({.targets = {"lm_head"}}), "matches \"lm_head\""));
  CHECK(holds(refusal_of({.rank = 9}),
              "lora.rank = 9 is more than model.layers.0.self_attn.k_proj has: 16 inputs and 8 "
              "outputs"));
  CHECK(holds(refusal_of({.train = {"nothing"}}), "lora.train: no tensor of this model"));
}

TEST_CASE("adapters: a fused layer gets one sum of all its adapters, in their columns") {
  const Program program = adapted({.kv_heads = 1});
  verify(program);
  const Op& sum = op_named(program, "block0.attn.qkv.lora");
  const auto& attrs = as<ops::AddColumns>(sum);
  CHECK(attrs.firsts == std::vector<std::int64_t>{0, 16, 24});  // two heads of 8, then one each
  CHECK(attrs.heads);
  CHECK(attrs.scale == 2);
  CHECK(program.value(sum.out[0]).name == "block0.attn.qkv.out");
  CHECK(as<ops::AddColumns>(op_named(program, "block1.mlp.gate_up.lora")).firsts ==
        std::vector<std::int64_t>{0, 24});
  // A GELU comes after the sum.
  const Program gpt2 = adapted({.arch = "gpt2", .targets = {"c_fc"}});
  verify(gpt2);
  CHECK(as<ops::Linear>(op_named(gpt2, "block0.mlp.fc")).epilogue == Linear::Epilogue::none);
  const Op& gelu = op_named(gpt2, "block0.mlp.fc.activation");
  CHECK(gelu.in == op_named(gpt2, "block0.mlp.fc.lora").out);
}

TEST_CASE("adapters: only they have gradients, and every pass keeps its promises") {
  for (const AdapterCase& c :
       {AdapterCase{.dropout = 0.1}, AdapterCase{.arch = "gpt2", .model_dropout = 0.1},
        AdapterCase{.targets = {"q_proj", "down_proj"}, .rank = 3, .kv_heads = 2},
        AdapterCase{.arch = "gpt2", .targets = {"c_fc"}, .train = {"wte*"}}}) {
    for (const Recompute policy : {Recompute::none, Recompute::selective, Recompute::block}) {
      const Program reverse = differentiate(adapted(c, DType::bf16));
      verify(reverse);
      for (const Op& op : reverse.ops) {
        if (!is<ops::LinearBackwardWeight>(op) || !c.train.empty()) continue;
        CHECK(holds(op.path, ".lora."));
      }
      const Program whole = recompute(reverse, policy);
      for (const int stage : {0, 2, 3}) {
        for (const int world : {1, 3}) {
          ShardSpec spec = spec_of(world - 1, world, 4, 1, ShardSpec::Order::step);
          spec.stage = stage;
          spec.overlap = true;
          const OffloadSpec offload{.states = Tier::host, .tile = 2 * kLeaf};
          const Program step = offload_states(shard(whole, spec), offload);
          verify(step);
          const PlacementPlan plan = place({&step}, 1000);
          CHECK(!missing_edge(step, plan.offsets[0], edges_of(step, plan.offsets[0])));
        }
      }
    }
  }
}

TEST_CASE("adapters: their gradients are the same in every world") {
  const Program program = differentiate(adapted({}));
  for (int world = 1; world <= 4; ++world) {
    for (const int stage : {0, 3}) {
      ShardSpec spec = spec_of(0, world, 4, 2, ShardSpec::Order::step);
      spec.stage = stage;
      World job(program, spec);
      CHECK(job.broken_reads() == 0);
      if (stage > 0 && world > 1) continue;
      for (int g = 0; g < static_cast<int>(program.groups.size()); ++g) {
        if (!program.groups[static_cast<std::size_t>(g)].trains) continue;
        const std::vector<float> expected = expected_gradient(program, g, spec);
        for (const std::vector<float>& gradient : job.gradients(g))
          CHECK(std::memcmp(gradient.data(), expected.data(), expected.size() * sizeof(float)) ==
                0);
      }
    }
  }
}
