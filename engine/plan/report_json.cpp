// plan_json(): the figures of the plan for programs.
#include <nlohmann/json.hpp>

#include "engine/plan/report.h"

namespace ds {
namespace {

using nlohmann::ordered_json;

ordered_json json_of(const Traffic& t) {
  return {{"sent_in_node", t.sent_in_node},
          {"sent_to_nodes", t.sent_to_nodes},
          {"received_in_node", t.received_in_node},
          {"received_from_nodes", t.received_from_nodes},
          {"to_host", t.to_host},
          {"to_device", t.to_device},
          {"nvme_read", t.nvme_read},
          {"nvme_written", t.nvme_written},
          {"optimizer_device", t.optimizer_device},
          {"optimizer_host", t.optimizer_host}};
}

ordered_json json_of(const RankPlan& rank) {
  ordered_json tiers;
  for (const TierBytes& tier : rank.tiers) {
    ordered_json classes = ordered_json::object();
    for (const auto& [name, bytes] : tier.classes) classes[name] = bytes;
    tiers[std::string(name_of(tier.tier))] = {{"bytes", tier.total}, {"classes", classes}};
  }
  return {{"rank", rank.rank},
          {"tiers", tiers},
          {"flops", rank.work.flops},
          {"traffic", json_of(rank.work.traffic)}};
}

ordered_json json_of(const LowerBound& bound) {
  if (bound.parts.empty()) return nullptr;
  ordered_json parts;
  for (const auto& [name, value] : bound.parts) parts[name] = value;
  return {{"parts", parts}, {"overlapped", bound.overlapped}, {"in_turn", bound.in_turn}};
}

ordered_json json_of(const Candidate& candidate) {
  const Choice& choice = candidate.choice;
  return {{"stage", choice.stage},
          {"order", name_of(candidate.order)},
          {"optimizer", name_of(choice.optimizer)},
          {"param", name_of(choice.param)},
          {"recompute", name_of(choice.recompute)},
          {"fits", candidate.fits},
          {"plan", json_of(candidate.plan)},
          {"seconds", json_of(candidate.bound)}};
}

ordered_json json_of(const PlanSize& size) {
  ordered_json json = {{"nodes", size.nodes},
                       {"ranks", size.ranks},
                       {"efficiency", size.efficiency},
                       {"device_bytes", size.most.device_bytes()},
                       {"host_bytes", size.most.host_bytes()},
                       {"nvme_bytes", size.most.nvme_bytes()},
                       {"kept_bytes", size.most.of_class("kept states")},
                       {"fits", size.excess.empty()}};
  if (!size.excess.empty()) json["why"] = size.excess;
  return json;
}

ordered_json json_of(const Estimate& e) {
  return {{"stage", e.stage},
          {"offload_optimizer", e.offload_optimizer},
          {"offload_param", e.offload_param},
          {"zero_init", e.zero_init},
          {"gpu_bytes", e.gpu_bytes},
          {"cpu_bytes", e.cpu_bytes}};
}

ordered_json json_of(const std::optional<std::int64_t>& limit) {
  return limit ? ordered_json(*limit) : ordered_json(nullptr);
}

template <class Item>
ordered_json list_of(const std::vector<Item>& items) {
  ordered_json list = ordered_json::array();
  for (const Item& item : items) list.push_back(json_of(item));
  return list;
}

}  // namespace

std::string plan_json(const PlanReport& report) {
  const SolveRequest& request = report.request;
  const RankPlan& most = heaviest(report.ranks);
  ordered_json orders = ordered_json::object();
  for (const auto& [name, plan] : report.orders) orders[name] = json_of(plan);
  const Candidate* best = cheapest(report.candidates);
  ordered_json json = {
      {"name", report.name},
      {"parameters", report.parameters},
      {"trained", report.ranks.front().parameters.trained},
      {"frozen", report.ranks.front().parameters.frozen},
      {"nodes", request.cluster.nodes},
      {"slots", request.cluster.slots},
      {"device", report.device},
      {"limits",
       {{"device", json_of(request.limits.device)},
        {"host", json_of(request.limits.host)},
        {"nvme", json_of(request.limits.nvme)},
        {"from", report.limits_from}}},
      {"fits", excess(most, request.limits, request.cluster.slots).empty()},
      {"heaviest_rank", most.rank},
      {"ranks", list_of(report.ranks)},
      {"orders", orders},
      {"seconds", json_of(lower_bound(most.work, request.rates, request.cluster.slots))},
      {"choices", list_of(report.candidates)},
      {"largest_micro", report.largest_micro},
      {"cheapest", best == nullptr ? ordered_json(nullptr) : json_of(*best)},
  };
  if (!report.sizes.empty()) json["sizes"] = list_of(report.sizes);
  if (!report.estimates.empty()) json["deepspeed"] = list_of(report.estimates);
  return json.dump(2) + "\n";
}

}  // namespace ds
