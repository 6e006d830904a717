// plan_text(): the plan as aligned columns for people.
#include "engine/plan/report.h"

#include <algorithm>

#include "engine/base/units.h"

namespace ds {
namespace {

std::string head(const PlanReport& report) {
  const TrainConfig& config = report.request.config;
  const Cluster& cluster = report.request.cluster;
  const double tokens = static_cast<double>(config.batch.global * config.data.seq_len);
  std::string text = fmt::format(
      "plan     {}: {} parameters, {}; {} node{} x {} slot{}; {}\n", report.name,
      format_count(report.parameters), name_of(config.precision.dtype), cluster.nodes,
      cluster.nodes == 1 ? "" : "s", cluster.slots, cluster.slots == 1 ? "" : "s", report.device);
  text += fmt::format("step     {} sequences, {} tokens; {} FLOP per token\n", config.batch.global,
                      format_count(tokens), format_count(heaviest(report.ranks).flops_per_token));
  const TrainedCount& parameters = report.ranks.front().parameters;
  if (parameters.frozen > 0)
    text += fmt::format("trains   {} of {} parameters; {} are frozen\n",
                        format_count(static_cast<double>(parameters.trained)),
                        format_count(static_cast<double>(parameters.trained + parameters.frozen)),
                        format_count(static_cast<double>(parameters.frozen)));
  if (report.auto_chosen)
    text += fmt::format(
        "auto     recompute.policy = {}, zero.gather_bucket = {}, "
        "zero.reduce_bucket = {}, zero.prefetch = {}\n",
        name_of(config.recompute.policy), config.zero.gather_bucket, config.zero.reduce_bucket,
        config.zero.prefetch);
  const MemoryLimits& limits = report.request.limits;
  std::string line;
  const auto add = [&](const std::optional<std::int64_t>& limit, const char* of) {
    if (limit) line += fmt::format("{}{} {}", line.empty() ? "" : ", ", format_bytes(*limit), of);
  };
  add(limits.device, "of device memory per rank");
  add(limits.host_rank, "of host memory per rank");
  add(limits.host, "of memory per node");
  add(limits.nvme, "of NVMe per node");
  if (line.empty()) return text + "limits   none given\n";
  return text + fmt::format("limits   {} ({})\n", line, report.limits_from);
}

std::string memory(const PlanReport& report) {
  const RankPlan& most = heaviest(report.ranks);
  std::string text = fmt::format("\nbytes of rank {}{}\n", most.rank,
                                 report.ranks.size() > 1 ? ", which needs the most" : "");
  for (const TierBytes& tier : most.tiers) {
    if (tier.total == 0 && tier.tier != Tier::device) continue;
    text += fmt::format("  {:<20}{:>14} {:>12}\n", name_of(tier.tier), tier.total,
                        format_bytes(tier.total));
    for (const auto& [name, bytes] : tier.classes)
      text += fmt::format("    {:<18}{:>14} {:>12}\n", name, bytes, format_bytes(bytes));
  }
  if (report.ranks.size() < 2) return text;
  text += fmt::format("\n{:<6}{:>14}{:>14}{:>14}\n", "rank", "device", "host", "nvme");
  for (const RankPlan& rank : report.ranks)
    text += fmt::format("{:<6}{:>14}{:>14}{:>14}\n", rank.rank, rank.device_bytes(),
                        rank.host_bytes(), rank.nvme_bytes());
  return text;
}

std::string traffic(const PlanReport& report) {
  const RankPlan& most = heaviest(report.ranks);
  const Traffic& t = most.work.traffic;
  std::string text = fmt::format("\none step of rank {}\n", most.rank);
  const auto line = [&](const char* name, std::int64_t out, const char* to, std::int64_t in,
                        const char* from) {
    if (out + in == 0) return;
    text += fmt::format("  {:<14}{:>12} {}, {:>12} {}\n", name, format_bytes(out), to,
                        format_bytes(in), from);
  };
  text += fmt::format("  {:<14}{:>12} FLOP in matrix products\n", "compute",
                      format_count(most.work.flops));
  line("in the node", t.sent_in_node, "sent", t.received_in_node, "received");
  line("between nodes", t.sent_to_nodes, "sent", t.received_from_nodes, "received");
  line("device, host", t.to_host, "to the host", t.to_device, "to the device");
  line("host, nvme", t.nvme_written, "written", t.nvme_read, "read");
  line("optimizer", t.optimizer_device, "of device memory", t.optimizer_host, "of host memory");
  if (report.orders.empty()) return text;
  text += fmt::format("\n{:<12}{:>14}{:>14}{:>14}\n", "order", "device", "sent", "received");
  for (const auto& [name, plan] : report.orders)
    text += fmt::format("{:<12}{:>14}{:>14}{:>14}\n", name, format_bytes(plan.device_bytes()),
                        format_bytes(plan.work.traffic.sent()),
                        format_bytes(plan.work.traffic.received()));
  return text;
}

std::string seconds(double value) { return fmt::format("{:.3g} s", value); }

std::string bound_text(const PlanReport& report) {
  const LowerBound bound =
      lower_bound(heaviest(report.ranks).work, report.request.rates, report.request.cluster.slots);
  if (bound.parts.empty()) return "\nleast time of a step: unknown (use --rates or --measure)\n";
  std::string text = "\nleast time of a step\n";
  for (const auto& [name, value] : bound.parts)
    text += fmt::format("  {:<14}{:>12}\n", name, seconds(value));
  return text +
         fmt::format("  {:<14}{:>12} all at the same time\n  {:<14}{:>12} one after the other\n",
                     "", seconds(bound.overlapped), "", seconds(bound.in_turn));
}

std::string row(const Candidate& candidate, bool own, bool timed) {
  const Choice& choice = candidate.choice;
  const RankPlan& plan = candidate.plan;
  return fmt::format("{} {:<6}{:<9}{:<10}{:<8}{:<10}{:>11}{:>11}{:>11}{:>11}{}  {}\n",
                     own ? '*' : ' ', choice.stage, name_of(candidate.order),
                     name_of(choice.optimizer), name_of(choice.param), name_of(choice.recompute),
                     format_bytes(plan.device_bytes()), format_bytes(plan.host_bytes()),
                     format_bytes(plan.nvme_bytes()), format_bytes(plan.work.traffic.sent()),
                     timed ? fmt::format("{:>10}", seconds(candidate.bound.in_turn)) : "",
                     candidate.fits ? "yes" : "no");
}

std::string choices(const PlanReport& report) {
  const bool timed = !report.candidates.front().bound.parts.empty();
  const Choice own = choice_of(report.request.config);
  const Candidate* best = cheapest(report.candidates);
  std::string text =
      fmt::format("\n  {:<6}{:<9}{:<10}{:<8}{:<10}{:>11}{:>11}{:>11}{:>11}{}  fits\n", "stage",
                  "order", "optimizer", "param", "recompute", "device", "host", "nvme", "sent",
                  timed ? fmt::format("{:>10}", "time") : "");
  for (const Candidate& candidate : report.candidates)
    text += row(candidate, candidate.choice == own, timed);
  text += "*: the configuration's choice; bytes of one rank; another order gives other bits\n";
  if (report.request.config.batch.accum > kExactAccum)
    text += fmt::format("other choices: bytes of memory estimated from plans of {} micro-batches\n",
                        kExactAccum);
  if (best == nullptr) return text + "no choice fits\n";
  text += fmt::format("cheapest that fits: {}\n", difference(own, best->choice));
  const std::int64_t micro = report.request.config.batch.micro;
  if (report.largest_micro <= micro) return text;
  return text + fmt::format(
                    "batch.micro = {}: up to {} fits (not chosen for you: it changes the bits of "
                    "the result)\n",
                    micro, report.largest_micro);
}

std::string estimates(const PlanReport& report) {
  if (report.estimates.empty()) return {};
  std::string text = fmt::format(
      "\nDeepSpeed's estimate ({} parameters, largest layer {}; without activations and buffers)\n"
      "  {:>12}{:>12}  stage offload\n",
      format_count(report.parameters), format_count(report.largest_layer), "per node", "per GPU");
  for (const Estimate& e : report.estimates) {
    text += fmt::format("  {:>12}{:>12}  {:<6}{}{}\n",
                        format_bytes(static_cast<std::int64_t>(e.cpu_bytes)),
                        format_bytes(static_cast<std::int64_t>(e.gpu_bytes)), e.stage,
                        e.offload_param       ? "optimizer, parameters"
                        : e.offload_optimizer ? "optimizer"
                                              : "none",
                        e.zero_init ? "" : "; without zero_init");
  }
  return text;
}

}  // namespace

std::string plan_text(const PlanReport& report) {
  return head(report) + memory(report) + traffic(report) + bound_text(report) + choices(report) +
         estimates(report);
}

}  // namespace ds
