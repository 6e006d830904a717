// Compares plans with limits, and formats what would fit.
#include "engine/plan/solve.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <tuple>

#include "engine/base/units.h"
#include "engine/plan/least.h"

namespace ds {
namespace {

constexpr std::size_t kListed = 4;
constexpr std::int64_t kMostMicro = 1 << 16;
constexpr int kMostChanges = 4;  // keys of a Choice

/// Returns what the ranks of a node use of its host memory.
std::int64_t node_host_bytes(const RankPlan& rank, const MemoryLimits& limits, int slots) {
  return slots * (rank.host_bytes() + (limits.device_is_host ? rank.device_bytes() : 0));
}

std::string too_much(std::int64_t bytes, const std::optional<std::int64_t>& limit,
                     std::string_view of) {
  if (!limit || bytes <= *limit) return {};
  return fmt::format("{} of {}, the limit is {}", format_bytes(bytes), of, format_bytes(*limit));
}

/// Returns the figure of `rank` for the first limit that the config's own plan `of` exceeds.
std::string need(const RankPlan& rank, const SolveRequest& request, const RankPlan& of) {
  const MemoryLimits& limits = request.limits;
  if (limits.device && of.device_bytes() > *limits.device) return format_bytes(rank.device_bytes());
  if (limits.host_rank && of.host_bytes() > *limits.host_rank)
    return format_bytes(rank.host_bytes());
  const int slots = request.cluster.slots;
  if (limits.host && node_host_bytes(of, limits, slots) > *limits.host)
    return format_bytes(node_host_bytes(rank, limits, slots));
  return format_bytes(slots * rank.nvme_bytes());
}

auto cost_of(const Candidate& candidate) {
  const Traffic& t = candidate.plan.work.traffic;
  return std::tuple(candidate.bound.in_turn, t.nvme_read + t.nvme_written, t.to_host + t.to_device,
                    t.sent() + t.received(), candidate.plan.work.flops,
                    candidate.plan.device_bytes());
}

Candidate try_choice(const SolveRequest& request, const Choice& choice, const BuildRank& build) {
  const TrainConfig config = with_choice(request.config, choice, request.order_given);
  const auto planned = choice == choice_of(request.config) ? plan_rank : estimate_rank;
  RankPlan plan = planned(config, request.cluster, request.rank, build);
  LowerBound bound = lower_bound(plan.work, request.rates, request.cluster.slots);
  const bool fits = excess(plan, request.limits, request.cluster.slots).empty();
  return {choice, config.determinism.order, std::move(plan), std::move(bound), fits};
}

/// Returns whether a choice may fit as far as the model's sizes alone tell.
bool may_fit(const SolveRequest& request, const Choice& choice) {
  const TrainConfig config = with_choice(request.config, choice, request.order_given);
  return excess(least_plan(config, request.cluster), request.limits, request.cluster.slots).empty();
}

/// Returns the choices that fit with the fewest changes, the cheapest first.
std::vector<Candidate> ways_out(const SolveRequest& request, const BuildRank& build) {
  const Choice own = choice_of(request.config);
  std::vector<Choice> all = choices_for(request.config, request.cluster.world_size());
  std::erase_if(all, [&](const Choice& choice) { return !may_fit(request, choice); });
  std::vector<Candidate> fitting;
  if (all.empty()) return fitting;
  // The last choice takes the least memory: if it does not fit, none does.
  if (!request.limits.nvme && !try_choice(request, all.back(), build).fits) return fitting;
  for (int changes = 1; changes <= kMostChanges && fitting.empty(); ++changes) {
    for (const Choice& choice : all) {
      if (distance(own, choice) != changes) continue;
      Candidate candidate = try_choice(request, choice, build);
      if (candidate.fits) fitting.push_back(std::move(candidate));
    }
  }
  std::stable_sort(fitting.begin(), fitting.end(),
                   [](const Candidate& a, const Candidate& b) { return cost_of(a) < cost_of(b); });
  if (fitting.size() > kListed) fitting.resize(kListed);
  return fitting;
}

/// Returns the largest micro-batch that divides the config's and fits; 0: none.
std::int64_t smaller_micro(const SolveRequest& request, const BuildRank& build) {
  TrainConfig config = request.config;
  if (!may_fit(request, choice_of(config))) return 0;
  for (std::int64_t micro = config.batch.micro - 1; micro > 0; --micro) {
    if (request.config.batch.micro % micro != 0) continue;
    config.batch.micro = micro;
    const RankPlan plan = estimate_rank(config, request.cluster, request.rank, build);
    if (excess(plan, request.limits, request.cluster.slots).empty()) return micro;
  }
  return 0;
}

}  // namespace

std::string excess(const RankPlan& rank, const MemoryLimits& limits, int slots) {
  std::string text = too_much(rank.device_bytes(), limits.device, "device memory per rank");
  if (!text.empty()) return text;
  text = too_much(rank.host_bytes(), limits.host_rank, "host memory per rank");
  if (!text.empty()) return text;
  text = too_much(node_host_bytes(rank, limits, slots), limits.host, "memory per node");
  if (!text.empty()) return text;
  return too_much(slots * rank.nvme_bytes(), limits.nvme, "NVMe per node");
}

std::int64_t largest_micro(const SolveRequest& request, const BuildRank& build) {
  const MemoryLimits& limits = request.limits;
  std::int64_t micro = request.config.batch.micro;
  if (!limits.device && !limits.host) return micro;
  for (TrainConfig config = request.config; micro <= kMostMicro / 2; micro *= 2) {
    config.batch.micro = 2 * micro;
    const RankPlan plan = estimate_rank(config, request.cluster, request.rank, build);
    if (!excess(plan, limits, request.cluster.slots).empty()) break;
  }
  return micro;
}

SolveRequest with_config(const SolveRequest& request, const TrainConfig& config) {
  return {.config = config,
          .cluster = request.cluster,
          .rank = request.rank,
          .order_given = request.order_given,
          .limits = request.limits,
          .rates = request.rates};
}

// A plan of a large model takes tenths of a second, and the choices do not depend on each other.
std::vector<Candidate> plan_choices(const SolveRequest& request, const BuildRank& build) {
  const std::vector<Choice> choices = choices_for(request.config, request.cluster.world_size());
  std::vector<std::optional<Candidate>> planned(choices.size());
  std::atomic<std::size_t> next{0};
  std::mutex failing;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < choices.size(); i = next++)
        planned[i] = try_choice(request, choices[i], build);
    } catch (...) {
      const std::lock_guard lock(failing);
      failure = std::current_exception();
      next = choices.size();
    }
  };
  {
    std::vector<std::jthread> threads;
    const auto most = std::min<std::size_t>(std::thread::hardware_concurrency(), choices.size());
    try {
      while (threads.size() + 1 < most) threads.emplace_back(work);
    } catch (const std::system_error&) {  // a limit of processes: fewer threads do
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
  std::vector<Candidate> candidates;
  for (std::optional<Candidate>& candidate : planned) candidates.push_back(std::move(*candidate));
  return candidates;
}

const Candidate* cheapest(const std::vector<Candidate>& candidates) {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates) {
    if (candidate.fits && (best == nullptr || cost_of(candidate) < cost_of(*best)))
      best = &candidate;
  }
  return best;
}

/// Returns the share of kept states and what the plan needs without them: not the slots alone go
/// away then, but also the copy beside the step, unless checkpoints need it.
std::string kept_text(const SolveRequest& request, const RankPlan& heaviest,
                      const BuildRank& build) {
  const std::int64_t kept = heaviest.of_class("kept states");
  if (kept == 0) return {};
  TrainConfig config = request.config;
  config.elastic.keeps = config.elastic.has_buddies = false;
  const RankPlan without = plan_rank(config, request.cluster, request.rank, build);
  return fmt::format(" ({} of each rank are kept states; elastic.every=0 needs {})",
                     format_bytes(kept), need(without, request, heaviest));
}

Error does_not_fit(const SolveRequest& request, const RankPlan& heaviest, const BuildRank& build) {
  const Choice own = choice_of(request.config);
  std::string message = fmt::format("the plan needs {}{}", may_fit(request, own) ? "" : "at least ",
                                    excess(heaviest, request.limits, request.cluster.slots));
  message += kept_text(request, heaviest, build);
  const std::vector<Candidate> ways = ways_out(request, build);
  for (const Candidate& way : ways)
    message += fmt::format("{}{} needs {}", &way == &ways.front() ? ": " : ", ",
                           difference(own, way.choice), need(way.plan, request, heaviest));
  if (!ways.empty())
    return {ErrorKind::config, message,
            "make one of these changes; dslaunch plan shows all choices"};
  message += "; no choice of stage, offload and recomputation fits";
  const std::int64_t micro = smaller_micro(request, build);
  if (micro > 0)
    return {ErrorKind::config, message,
            fmt::format("batch.micro={} fits (this changes the arithmetic; raise batch.accum to "
                        "keep the batch size)",
                        micro)};
  return {ErrorKind::config, message,
          "lower data.seq_len or the model's size, or start fewer ranks per node"};
}

void require_possible(const SolveRequest& request, const BuildRank& build) {
  const OptimizerOffload& offload = request.config.offload.optimizer;
  const double tiles = tiles_per_rank(request.config, request.cluster.world_size());
  if (offload.device != OffloadDevice::none && tiles > kMostTiles) {
    throw Error(ErrorKind::config,
                fmt::format("the optimizer states of a rank would be {:.3g} tiles of {} elements; "
                            "at most {} can be planned",
                            tiles, offload.tile, kMostTiles),
                "raise offload.optimizer.tile, start more ranks, or lower the model's size");
  }
  if (!may_fit(request, choice_of(request.config)))
    throw does_not_fit(request, least_plan(request.config, request.cluster), build);
}

void require_fit(const SolveRequest& request, const BuildRank& build) {
  const RankPlan plan = plan_rank(request.config, request.cluster, request.rank, build);
  if (!excess(plan, request.limits, request.cluster.slots).empty())
    throw does_not_fit(request, plan, build);
}

}  // namespace ds
