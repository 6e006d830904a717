// Tests of limits, the cheapest choice, and the error when nothing fits, with ranks of chosen size.
#include <doctest/doctest.h>

#include <algorithm>

#include "engine/plan/auto.h"
#include "engine/plan/report.h"
#include "unit/program/tiny.h"

using namespace ds;  // NOLINT: the tests of one file

namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

RankPlan rank_of(std::int64_t device, std::int64_t host = 0, std::int64_t nvme = 0) {
  RankPlan plan;
  for (std::size_t tier = 0; tier < kTiers; ++tier) plan.tiers[tier].tier = static_cast<Tier>(tier);
  plan.tiers[static_cast<std::size_t>(Tier::device)].total = device;
  plan.tiers[static_cast<std::size_t>(Tier::host)].total = host;
  plan.tiers[static_cast<std::size_t>(Tier::nvme)].total = nvme;
  return plan;
}

/// A GiB of activations per sequence of the micro-batch, and 8 GiB besides.
BuiltRank build_by_micro(const TrainConfig& config, int rank, int world) {
  BuiltRank built;
  built.spec = {.rank = rank, .world_size = world};
  built.placement.of(Tier::device).total_bytes = (8 + config.batch.micro) * kGiB;
  built.placement.of(Tier::device).classes = {
      {"weights", 8 * kGiB}, {"activations", config.batch.micro * kGiB}, {"holes", 0}};
  return built;
}

/// A small model.
TrainConfig config_of(std::int64_t micro = 1) {
  TrainConfig config;
  config.model = test::tiny_config();
  config.data.seq_len = 4;
  config.batch.micro = micro;
  return config;
}

}  // namespace

TEST_CASE("a plan fits when every limit holds") {
  const RankPlan rank = rank_of(10 * kGiB, 20 * kGiB, 30 * kGiB);
  CHECK(excess(rank, {}, 4).empty());
  CHECK(excess(rank, {.device = 10 * kGiB, .host = 80 * kGiB, .nvme = 120 * kGiB}, 4).empty());
  CHECK(excess(rank, {.device = 10 * kGiB - 1}, 4) ==
        "10.0 GiB of device memory per rank, the limit is 10.0 GiB");
  CHECK(excess(rank, {.host = 79 * kGiB}, 4) ==
        "80.0 GiB of memory per node, the limit is 79.0 GiB");
  CHECK(excess(rank, {.nvme = 119 * kGiB}, 4) ==
        "120.0 GiB of NVMe per node, the limit is 119.0 GiB");
}

TEST_CASE("device memory that is the host's counts against the node") {
  const RankPlan rank = rank_of(10 * kGiB, 20 * kGiB);
  CHECK(excess(rank, {.host = 60 * kGiB, .device_is_host = true}, 2).empty());
  CHECK_FALSE(excess(rank, {.host = 59 * kGiB, .device_is_host = true}, 2).empty());
}

TEST_CASE("the cheapest: least time, then least traffic on the slowest link, then least memory") {
  std::vector<Candidate> all(3);
  for (Candidate& candidate : all) candidate.plan = rank_of(5);
  all[0].plan.work.traffic.nvme_read = 1;
  all[1].plan.work.traffic.sent_in_node = 1000;
  all[2].plan.work.traffic.sent_in_node = 1000;
  all[2].plan.tiers[0].total = 4;
  CHECK(cheapest(all) == &all[2]);
  all[2].fits = false;
  CHECK(cheapest(all) == &all[1]);
  all[0].bound.in_turn = 1;
  all[1].bound.in_turn = 2;
  CHECK(cheapest(all) == &all[0]);
  all[0].fits = all[1].fits = false;
  CHECK(cheapest(all) == nullptr);
}

TEST_CASE("a small job is planned for all ranks, a large one for some") {
  std::vector<int> seen;
  const BuildRank build = [&](const TrainConfig& config, int rank, int world) {
    seen.push_back(rank);
    BuiltRank built = build_by_micro(config, rank, world);
    built.placement.of(Tier::device).total_bytes += rank == world / 2 ? 1 : 0;
    return built;
  };
  CHECK(heaviest(plan_ranks(config_of(1), {.nodes = 2, .slots = 2}, build)).rank == 2);
  CHECK(seen == std::vector<int>{0, 1, 2, 3});
  seen.clear();
  CHECK(heaviest(plan_ranks(config_of(1), {.nodes = 8, .slots = 8}, build)).rank == 32);
  CHECK(seen == std::vector<int>{0, 32, 63});
}

/// 20 GiB without recomputation, 15 with selective, 10 with block.
BuiltRank build_by_policy(const TrainConfig& config, int rank, int world) {
  BuiltRank built = build_by_micro(config, rank, world);
  const auto saved = static_cast<std::int64_t>(config.recompute.policy);
  built.placement.of(Tier::device).total_bytes = (20 - 5 * saved) * kGiB;
  return built;
}

TEST_CASE("recompute.policy = auto: the least that fits, or everything") {
  TrainConfig config = config_of();
  const auto chosen = [&](std::optional<std::int64_t> gib) {
    SolveRequest request{.config = config};
    if (gib) request.limits.device = *gib * kGiB;
    return resolve_auto(request, build_by_policy).config.recompute.policy;
  };
  CHECK(chosen(1) == RecomputePolicy::none);  // nothing to choose
  config.recompute.policy = RecomputePolicy::automatic;
  CHECK(has_auto(config));
  CHECK(chosen({}) == RecomputePolicy::none);
  CHECK(chosen(20) == RecomputePolicy::none);
  CHECK(chosen(19) == RecomputePolicy::selective);
  CHECK(chosen(14) == RecomputePolicy::block);
  CHECK(chosen(1) == RecomputePolicy::block);
}

TEST_CASE("the largest micro-batch that fits, by doubling") {
  const TrainConfig config = config_of(3);  // 8 GiB, and 1 GiB per sequence
  const auto largest = [&](MemoryLimits limits) {
    return largest_micro({.config = config, .limits = limits}, build_by_micro);
  };
  CHECK(largest({.device = 20 * kGiB}) == 12);
  CHECK(largest({.device = 19 * kGiB}) == 6);
  CHECK(largest({.device = 12 * kGiB}) == 3);
  CHECK(largest({.host = 32 * kGiB, .device_is_host = true}) == 24);
  CHECK(largest({}) == 3);
}

TEST_CASE("auto buckets: whole groups, then smaller ones, before more recomputation") {
  TrainConfig config;
  config.zero.gather_bucket = config.zero.prefetch = kAuto;
  config.recompute.policy = RecomputePolicy::automatic;
  const std::vector<TrainConfig> ladder = auto_ladder(config, 64 * kLeaf);
  CHECK(ladder.size() == 9);
  CHECK(ladder[0].zero.gather_bucket == 64 * kLeaf);
  CHECK(ladder[2].zero.gather_bucket == 4 * kLeaf);
  CHECK(ladder[2].recompute.policy == RecomputePolicy::none);
  CHECK(ladder[8].recompute.policy == RecomputePolicy::block);
  for (const TrainConfig& step : ladder) {
    CHECK_FALSE(has_auto(step));
    CHECK(step.zero.prefetch == 1);
    CHECK(step.zero.reduce_bucket == config.zero.reduce_bucket);  // set by the config
  }
  CHECK(auto_ladder({}, kLeaf) == std::vector<TrainConfig>{TrainConfig{}});
}

TEST_CASE("the error names choices that fit, with the fewest changes") {
  const TrainConfig config = config_of();
  const SolveRequest request{.config = config, .limits = {.device = 12 * kGiB}};
  const std::string message =
      does_not_fit(request, plan_rank(config, {}, 0, build_by_policy), build_by_policy).what();
  CHECK(message ==
        "the plan needs 20.0 GiB of device memory per rank, the limit is 12.0 GiB: "
        "recompute.policy=block needs 10.0 GiB");
  CHECK_THROWS_AS(require_fit(request, build_by_policy), Error);
  CHECK_NOTHROW(require_fit({.config = config}, build_by_policy));
}

TEST_CASE("sizes that cannot fit are refused without a plan") {
  const BuildRank never = [](const TrainConfig&, int, int) -> BuiltRank {
    throw Error(ErrorKind::bug, "planned");
  };
  const auto refusal = [&](const TrainConfig& config, MemoryLimits limits) -> std::string {
    try {
      require_possible({.config = config, .cluster = {.nodes = 2, .slots = 8}, .limits = limits},
                       never);
    } catch (const Error& error) {
      return error.what();
    }
    return "possible";
  };
  TrainConfig config = config_of();
  config.model.layers = 12;
  config.model.hidden = 1 << 20;
  config.model.ffn = 4 << 20;
  config.model.heads = config.model.kv_heads = 1 << 10;
  config.model.vocab = 256;
  CHECK(refusal(config, {}) == "possible");
  CHECK(refusal(config, {.device = 80 * kGiB})
            .starts_with("the plan needs at least 1.7 PiB of device memory per rank"));
  CHECK(refusal(config, {.host = 80 * kGiB, .device_is_host = true})
            .starts_with("the plan needs at least 13.9 PiB of memory per node"));
  config.offload.optimizer.device = OffloadDevice::cpu;
  CHECK(refusal(config, {}).find("tiles of 4194304 elements; at most 20000") != std::string::npos);
  config.model.hidden = 1 << 10;
  config.model.ffn = 4 << 10;
  CHECK(refusal(config, {.host = 80 * kGiB}) == "possible");
}

TEST_CASE("choices: their difference, and the stage's default order") {
  const Choice whole{}, sharded{3, OffloadDevice::nvme, OffloadDevice::cpu, RecomputePolicy::block};
  CHECK(difference(whole, whole) == "unchanged");
  CHECK(difference(whole, sharded) ==
        "zero.stage=3 offload.optimizer.device=nvme offload.param.device=cpu "
        "recompute.policy=block");
  CHECK(distance(whole, sharded) == 4);
  CHECK(choice_of(with_choice({}, sharded, false)) == sharded);
  TrainConfig config;
  config.determinism.order = ReduceOrder::boundary;
  CHECK(with_choice(config, sharded, false).determinism.order == ReduceOrder::step);
  CHECK(with_choice(config, sharded, true).determinism.order == ReduceOrder::boundary);
  TrainConfig huge = config_of();
  huge.model.layers = 256;
  huge.model.hidden = 32768;
  huge.model.ffn = 4 * 32768;
  huge.model.heads = huge.model.kv_heads = 256;
  for (const Choice& choice : choices_for(huge, 8)) CHECK(choice.optimizer == OffloadDevice::none);
  CHECK(choices_for(huge, 4096).size() > choices_for(huge, 8).size());
  TrainConfig halves = config_of();
  halves.precision.master = MasterWeights::split16;
  for (const Choice& choice : choices_for(halves, 2)) {
    CHECK(choice.optimizer == OffloadDevice::none);
    CHECK(choice.param == OffloadDevice::none);
  }
  const std::vector<Choice> all = all_choices();
  CHECK(std::ranges::find(all, whole) != all.end());
  for (const Choice& choice : all) {
    CHECK((choice.stage == 3 || choice.param == OffloadDevice::none));
    CHECK((choice.param != OffloadDevice::nvme || choice.optimizer != OffloadDevice::none));
  }
}

TEST_CASE("the hint to keep no states counts all that goes away with them") {
  TrainConfig config = config_of();
  config.elastic.keeps = true;
  const BuildRank build = [](const TrainConfig& of, int rank, int world) {
    BuiltRank built = build_by_micro(of, rank, world);
    if (of.elastic.keeps) {
      built.placement.of(Tier::host).total_bytes = 10 * kGiB;
      built.placement.of(Tier::host).classes = {{"snapshot", 4 * kGiB}, {"kept states", 6 * kGiB}};
    }
    return built;
  };
  const SolveRequest request{.config = config, .limits = {.host_rank = kGiB}, .rates = {}};
  const std::string message =
      does_not_fit(request, plan_rank(config, {}, 0, build), build).what();
  CHECK(message.starts_with(
      "the plan needs 10.0 GiB of host memory per rank, the limit is 1.0 GiB (6.0 GiB of each rank "
      "are kept states; elastic.every=0 needs 0 B)"));
}

TEST_CASE("when no choice fits, the error names a smaller micro-batch that does") {
  const TrainConfig config = config_of(12);
  const auto message = [&](std::int64_t limit) {
    const SolveRequest request{.config = config, .limits = {.device = limit}, .rates = {}};
    return does_not_fit(request, plan_rank(config, {}, 0, build_by_micro), build_by_micro);
  };
  const Error some = message(15 * kGiB);
  CHECK(some.kind() == ErrorKind::config);
  CHECK(
      std::string(some.what())
          .starts_with("the plan needs 20.0 GiB of device memory per rank, the limit is 15.0 GiB"));
  CHECK(some.hint().starts_with("batch.micro=6 fits"));  // 7 would fit too, but does not divide 12
  CHECK(message(8 * kGiB).hint().find("batch.micro") == std::string::npos);
}
