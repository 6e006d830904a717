// Sums against limits.
#include "engine/plan/solve.h"

#include <algorithm>
#include <tuple>

#include "engine/base/units.h"

namespace ds {
namespace {

constexpr std::size_t kListed = 4;

/// What a node's ranks take of its host memory.
std::int64_t node_host_bytes(const RankPlan& rank, const MemoryLimits& limits, int slots) {
  return slots * (rank.host_bytes() + (limits.device_is_host ? rank.device_bytes() : 0));
}

std::string too_much(std::int64_t bytes, const std::optional<std::int64_t>& limit,
                     std::string_view of) {
  if (!limit || bytes <= *limit) return {};
  return fmt::format("{} of {}, the limit is {}", format_bytes(bytes), of, format_bytes(*limit));
}

/// What of a plan counts first: that which breaks a limit in the config's own plan.
std::string need(const RankPlan& rank, const SolveRequest& request, const RankPlan& of) {
  const MemoryLimits& limits = request.limits;
  if (limits.device && of.device_bytes() > *limits.device) return format_bytes(rank.device_bytes());
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

/// Choices that fit, those with the fewest changes first; of equally many the cheaper.
std::vector<const Candidate*> ways_out(const Choice& own, const std::vector<Candidate>& all) {
  std::vector<const Candidate*> fitting;
  for (const Candidate& candidate : all)
    if (candidate.fits && candidate.choice != own) fitting.push_back(&candidate);
  std::stable_sort(fitting.begin(), fitting.end(), [&](const Candidate* a, const Candidate* b) {
    return std::pair(distance(own, a->choice), cost_of(*a)) <
           std::pair(distance(own, b->choice), cost_of(*b));
  });
  if (!fitting.empty()) {  // Of more changes than needed only when nothing less is enough.
    const int least = distance(own, fitting.front()->choice);
    std::erase_if(fitting, [&](const Candidate* c) { return distance(own, c->choice) > least; });
  }
  if (fitting.size() > kListed) fitting.resize(kListed);
  return fitting;
}

/// The largest micro-batch that divides the config's and fits; 0: none.
std::int64_t smaller_micro(const SolveRequest& request, const BuildRank& build) {
  TrainConfig config = request.config;
  for (std::int64_t micro = config.batch.micro - 1; micro > 0; --micro) {
    if (request.config.batch.micro % micro != 0) continue;
    config.batch.micro = micro;
    const RankPlan plan = plan_rank(config, request.cluster, request.rank, build);
    if (excess(plan, request.limits, request.cluster.slots).empty()) return micro;
  }
  return 0;
}

}  // namespace

std::string excess(const RankPlan& rank, const MemoryLimits& limits, int slots) {
  std::string text = too_much(rank.device_bytes(), limits.device, "device memory a rank");
  if (!text.empty()) return text;
  text = too_much(node_host_bytes(rank, limits, slots), limits.host, "memory a node");
  if (!text.empty()) return text;
  return too_much(slots * rank.nvme_bytes(), limits.nvme, "NVMe a node");
}

std::vector<Candidate> plan_choices(const SolveRequest& request, const BuildRank& build) {
  std::vector<Candidate> candidates;
  for (const Choice& choice : all_choices()) {
    const TrainConfig config = with_choice(request.config, choice);
    RankPlan plan = plan_rank(config, request.cluster, request.rank, build);
    LowerBound bound = lower_bound(plan.work, request.rates, request.cluster.slots);
    const bool fits = excess(plan, request.limits, request.cluster.slots).empty();
    candidates.push_back({choice, std::move(plan), std::move(bound), fits});
  }
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

Error does_not_fit(const SolveRequest& request, const RankPlan& heaviest,
                   const std::vector<Candidate>& candidates, const BuildRank& build) {
  const Choice own = choice_of(request.config);
  std::string message =
      fmt::format("the plan needs {}", excess(heaviest, request.limits, request.cluster.slots));
  std::string separator = ": ";
  for (const Candidate* way : ways_out(own, candidates)) {
    message += fmt::format("{}{} needs {}", separator, difference(own, way->choice),
                           need(way->plan, request, heaviest));
    separator = ", ";
  }
  if (separator == ", ") return {ErrorKind::config, message, "dslaunch plan shows all choices"};
  const std::int64_t micro = smaller_micro(request, build);
  if (micro > 0)
    return {
        ErrorKind::config, message + "; no choice of stage, offload and recomputation fits",
        fmt::format("batch.micro={} fits (it changes the arithmetic; raise batch.accum with it)",
                    micro)};
  return {ErrorKind::config, message + "; no choice of stage, offload and recomputation fits",
          "lower data.seq_len or the model's size, or start fewer ranks on a node"};
}

}  // namespace ds
