// Tests of estimate_rank() against plan_rank() with the trainer's programs, for every choice.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "engine/config/load.h"
#include "engine/plan/choices.h"
#include "engine/train/plan_build.h"
#include "support/temp_folder.h"

using namespace ds;
using namespace ds::test;

namespace {

constexpr const char* kManyMicroBatches = R"(
[model]
preset = "gpt-tiny"
layers = 2
[data]
train = "text"
seq_len = 32
[batch]
micro = 2
accum = 21
[train]
steps = 1
)";

std::vector<std::int64_t> figures_of(const Traffic& t) {
  return {t.sent_in_node,        t.sent_to_nodes, t.received_in_node,
          t.received_from_nodes, t.to_host,       t.to_device,
          t.nvme_read,           t.nvme_written,  t.optimizer_device,
          t.optimizer_host};
}

}  // namespace

TEST_CASE("an estimate has the work and traffic of the plan, and about its bytes") {
  const TempFolder folder;
  const std::string path = folder.file("train.toml", kManyMicroBatches);
  const TrainConfig config = load_train_config({.path = path, .overrides = {}, .world_size = 2});
  const Cluster cluster{.nodes = 2, .slots = 1};
  int builds = 0;
  const BuildRank real = rank_builder([](const auto&) { return std::size_t{0}; });
  const BuildRank build = [&](const TrainConfig& asked, int rank, int world) {
    builds += asked.batch.accum > kExactAccum ? 1 : 0;
    CHECK(asked.batch.micro * asked.batch.accum * 2 == asked.batch.global);
    return real(asked, rank, world);
  };
  for (const Choice& choice : all_choices()) {
    const TrainConfig tried = with_choice(config, choice, false);
    const RankPlan plan = plan_rank(tried, cluster, 1, build);
    builds = 0;
    const RankPlan estimate = estimate_rank(tried, cluster, 1, build);
    CHECK(builds == 0);
    CAPTURE(difference(choice_of(config), choice));
    CHECK(figures_of(estimate.work.traffic) == figures_of(plan.work.traffic));
    CHECK(estimate.work.flops == doctest::Approx(plan.work.flops));
    CHECK(estimate.of_class("inputs") == plan.of_class("inputs"));
    for (std::size_t tier = 0; tier < kTiers; ++tier)
      CHECK(static_cast<double>(estimate.tiers[tier].total) ==
            doctest::Approx(static_cast<double>(plan.tiers[tier].total)).epsilon(0.02));
  }
}

TEST_CASE("few micro-batches are planned as they are") {
  const TempFolder folder;
  const std::string path = folder.file("train.toml", kManyMicroBatches);
  const TrainConfig config =
      load_train_config({.path = path, .overrides = {"batch.accum=8"}, .world_size = 1});
  const BuildRank build = rank_builder([](const auto&) { return std::size_t{0}; });
  const RankPlan plan = plan_rank(config, {}, 0, build);
  const RankPlan estimate = estimate_rank(config, {}, 0, build);
  CHECK(estimate.device_bytes() == plan.device_bytes());
  CHECK(figures_of(estimate.work.traffic) == figures_of(plan.work.traffic));
}
