// Tests of weight decay by tensor: which tensors have it, and that every update's cuts say so.
#include "engine/program/decay.h"

#include <doctest/doctest.h>

#include <map>
#include <random>

#include "engine/models/build_model.h"
#include "engine/program/offload.h"
#include "unit/program/tiny.h"

using namespace ds;        // NOLINT: the tests of one folder
using namespace ds::test;  // NOLINT

namespace {

const std::vector<std::string> kUsual{"norms", "biases"};

Program model(const char* arch) {
  ModelConfig config = tiny_config();
  config.arch = arch;
  return build_model(config, {.micro = 2, .seq_len = 4, .valid_vocab = 60});
}

std::vector<std::string> plain_names(const Program& program) {
  std::vector<std::string> names;
  for (const ParamGroup& group : program.groups) {
    for (const ParamTensor& tensor : group.tensors) {
      if (!tensor.decays) names.push_back(tensor.name);
    }
  }
  return names;
}

std::string refusal(const char* entry) {
  try {
    without_decay(model("gpt2"), {"norms", entry});
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return std::string(error.what()) + "; " + error.hint();
  }
  return "no error";
}

/// Returns, for elements [first, first + elements) / kLeaf of a group, whether the leaf decays; a
/// gap belongs to the tensor before it.
std::vector<bool> leaves_of(const ParamGroup& group, std::int64_t first, std::int64_t elements) {
  std::vector<bool> decays;
  for (std::int64_t at = first; at < first + elements; at += kLeaf) {
    bool one = true;
    for (const ParamTensor& tensor : group.tensors) {
      if (tensor.offset <= at) one = tensor.decays;
    }
    decays.push_back(one);
  }
  return decays;
}

/// Returns the same from cuts.
std::vector<bool> leaves_of(const std::vector<std::int64_t>& cuts, std::int64_t elements) {
  std::vector<bool> decays;
  for (std::int64_t at = 0; at < elements; at += kLeaf) {
    const auto passed = std::ranges::count_if(cuts, [at](std::int64_t cut) { return cut <= at; });
    decays.push_back(passed % 2 == 0);
  }
  return decays;
}

/// Checks the cuts of every update against the tensors, and adds up the elements that it updates.
void check_updates(const Program& step, std::map<std::string, std::int64_t>& updated) {
  std::map<int, std::size_t> tiles;  // by group: tiles so far
  for (const Op& op : step.ops) {
    if (!is<ops::Update>(op)) continue;
    const ParamGroup& group = step.groups[static_cast<std::size_t>(op.group)];
    const StateTile& tile = group.states.at(tiles[op.group]++);
    CAPTURE(op.path);
    CHECK(leaves_of(as<ops::Update>(op).update.decay_cuts, tile.elements) ==
          leaves_of(group, tile.first, tile.elements));
    updated[group.name] += tile.elements;
  }
}

}  // namespace

TEST_CASE("norms and biases are the tensors of one dimension, in every model") {
  for (const char* arch : {"gpt2", "llama"}) {
    CAPTURE(arch);
    const Program plain = without_decay(model(arch), kUsual);
    for (const ParamGroup& group : plain.groups) {
      for (const ParamTensor& tensor : group.tensors) {
        CAPTURE(tensor.name);
        CHECK(tensor.decays == (tensor.shape.axes() > 1));
      }
    }
    CHECK(plain_names(without_decay(model(arch), {})).empty());
  }
}

TEST_CASE("words and patterns choose tensors by name") {
  using Names = std::vector<std::string>;
  const auto chosen = [](const std::vector<std::string>& list) {
    return plain_names(without_decay(model("gpt2"), list));
  };
  CHECK(chosen({"wte.weight"}) == Names{"wte.weight"});
  CHECK(chosen({"h.1.*.c_proj.weight", "w?e.weight"}) ==
        Names{"wte.weight", "wpe.weight", "h.1.attn.c_proj.weight", "h.1.mlp.c_proj.weight"});
  const Names norms = chosen({"norms"});
  CHECK(norms.size() == 10);
  CHECK(std::ranges::find(norms, "ln_f.bias") != norms.end());
  const Names biases = chosen({"biases"});
  CHECK(biases.size() == 2 * 6 + 1);
  CHECK(std::ranges::find(biases, "ln_f.bias") != biases.end());
}

TEST_CASE("a pattern that matches no tensor is refused; a model without biases is not") {
  CHECK(refusal("h.9.*").find("optimizer.no_decay: no tensor of this model matches \"h.9.*\"") !=
        std::string::npos);
  CHECK(refusal("h.9.*").find("wte.weight, wpe.weight, h.*.ln_*.weight") != std::string::npos);
  CHECK(refusal("biase").find("did you mean \"biases\"?") != std::string::npos);
  CHECK(plain_names(without_decay(model("llama"), {"biases"})).empty());
}

TEST_CASE("cuts of any range say the same as the tensors") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    ParamGroup group;
    while (group.tensors.size() < 1 + random() % 9) {
      ParamTensor tensor{.name = "t", .offset = group.elements};
      tensor.decays = random() % 2 == 0;
      group.tensors.push_back(tensor);
      group.elements += kLeaf * static_cast<std::int64_t>(1 + random() % 4);
    }
    const auto leaves = static_cast<unsigned>(group.elements / kLeaf);
    const std::int64_t first = kLeaf * (random() % leaves);
    const std::int64_t elements = kLeaf * (1 + random() % (leaves - first / kLeaf));
    const std::vector<std::int64_t> cuts = decay_cuts(group, first, elements);
    CHECK(leaves_of(cuts, elements) == leaves_of(group, first, elements));
    CHECK(std::ranges::adjacent_find(cuts, std::greater_equal<>()) == cuts.end());
  }
}

TEST_CASE("every element is updated with its tensor's decay, at any world size, stage and tile") {
  for (const char* arch : {"gpt2", "llama"}) {
    const Program forward = without_decay(model(arch), {"norms", "*attn*"});
    const Program whole = differentiate(forward);
    for (const int world : {1, 2, 3}) {
      for (const int stage : {0, 1, 2, 3}) {
        for (const Tier states : {Tier::device, Tier::host}) {
          CAPTURE(arch);
          CAPTURE(world);
          CAPTURE(stage);
          std::map<std::string, std::int64_t> updated, expected;
          for (int rank = 0; rank < world; ++rank) {
            ShardSpec spec = spec_of(rank, world, 4, 1, ShardSpec::Order::boundary);
            spec.stage = stage;
            const OffloadSpec offload{.states = states, .tile = 2 * kLeaf};
            const Program step = shard(whole, spec);
            for (const ParamGroup& group : step.groups)  // with the padding of equal slices
              expected[group.name] = group.elements * (stage == 0 ? world : 1);
            check_updates(offload_states(step, offload), updated);
          }
          CHECK(updated == expected);
        }
      }
    }
  }
}
