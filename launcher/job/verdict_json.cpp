// Builds the JSON object of a verdict; docs/failure.md defines its keys.
#include "launcher/job/verdict_json.h"

#include <map>
#include <nlohmann/json.hpp>

namespace ds::launcher {

namespace {

using Json = nlohmann::ordered_json;

const char* kind_name(Cause::Kind kind) {
  switch (kind) {
    case Cause::Kind::none:
      return "none";
    case Cause::Kind::rank:
      return "rank";
    case Cause::Kind::node:
      return "node";
    case Cause::Kind::unreachable:
      return "unreachable";
    case Cause::Kind::signal:
      return "signal";
    case Cause::Kind::output:
      return "output";
    case Cause::Kind::deadline:
      return "deadline";
    case Cause::Kind::skew:
      return "exit_skew";
  }
  return "";
}

const char* sweep_name(NodeLoss::Sweep sweep) {
  return sweep == NodeLoss::Sweep::done ? "done" : "unreached";
}

double seconds(std::chrono::microseconds span) { return static_cast<double>(span.count()) / 1e6; }

const std::string& host_of(const Placement& placement, int node) {
  return placement.nodes[static_cast<std::size_t>(node)].host.name;
}

Json rank_cause(const JobVerdict& verdict, const std::string& device) {
  const Cause& cause = verdict.cause;
  const RankPlace& place = verdict.placement.ranks[static_cast<std::size_t>(cause.rank)];
  const ExitStatus& status = cause.end.status;
  Json json;
  json["rank"] = verdict.placement.shown_rank(cause.rank);
  json["group"] = verdict.placement.groups[static_cast<std::size_t>(place.group)].name;
  json["node"] = host_of(verdict.placement, place.node_rank);
  json["node_rank"] = verdict.placement.shown_node(place.node_rank);
  json["local_rank"] = place.local_rank;
  json["slot"] = place.slot;
  json["device"] = device.empty() ? Json() : Json(printable(device));
  json["pid"] = verdict.ranks[static_cast<std::size_t>(cause.rank)].pid;
  json["exit_code"] = status.code() ? Json(*status.code()) : Json();
  json["signal"] = status.signal() ? Json(signal_name(*status.signal())) : Json();
  json["core_dumped"] = status.dumped_core();
  json["detail"] = printable(cause.end.cause.empty() ? cause.end.note : cause.end.cause);
  return json;
}

Json bad_nodes_json(const JobVerdict& verdict) {
  Json json = Json::array();
  for (const BadNode& bad : verdict.cause.bad)
    json.push_back({{"node", printable(host_of(verdict.placement, bad.node))},
                    {"node_rank", bad.node},
                    {"stage", printable(bad.stage)},
                    {"reason", printable(bad.reason)}});
  return json;
}

Json cause_json(const JobVerdict& verdict, const std::string& device) {
  const Cause& cause = verdict.cause;
  Json json;
  json["kind"] = kind_name(cause.kind);
  if (cause.kind == Cause::Kind::rank) json.update(rank_cause(verdict, device));
  if (cause.kind == Cause::Kind::node) {
    json["node"] = host_of(verdict.placement, cause.node);
    json["node_rank"] = cause.node;
  }
  if (cause.kind == Cause::Kind::signal) json["signal"] = signal_name(cause.signo);
  if (!cause.reason.empty()) json["reason"] = printable(cause.reason);
  if (cause.kind == Cause::Kind::deadline || cause.kind == Cause::Kind::skew) {
    json["seconds"] = seconds(cause.span);
    json["running"] = cause.running;
  }
  if (cause.kind == Cause::Kind::unreachable) json["nodes"] = bad_nodes_json(verdict);
  if (!cause.note.empty()) json["no_restart"] = printable(cause.note);
  return json;
}

/// Returns the ends of all ranks: equal ends together, in the order of their first rank.
Json ends_json(const JobVerdict& verdict) {
  std::map<std::string, std::vector<int>> by_end;
  std::vector<std::string> order;
  for (std::size_t rank = 0; rank < verdict.ranks.size(); ++rank) {
    const RankRecord& record = verdict.ranks[rank];
    const std::string end = !verdict.began ? "not started"
                            : record.ended ? printable(describe(record.end))
                                           : "not known";
    if (by_end[end].empty()) order.push_back(end);
    by_end[end].push_back(verdict.placement.shown_rank(static_cast<int>(rank)));
  }
  Json json = Json::array();
  for (const std::string& end : order)
    json.push_back(
        {{"ranks", number_ranges(by_end[end])}, {"count", by_end[end].size()}, {"end", end}});
  return json;
}

Json losses_json(const JobVerdict& verdict) {
  Json json = Json::array();
  for (const NodeLoss& loss : verdict.losses)
    json.push_back({{"node", printable(loss.host)},
                    {"node_rank", loss.node},
                    {"reason", printable(loss.reason)},
                    {"sweep", sweep_name(loss.sweep)},
                    {"killed", loss.killed}});
  return json;
}

Json restarts_json(const JobVerdict& verdict) {
  Json json = Json::array();
  for (const RestartRecord& restart : verdict.restarts)
    json.push_back({{"cause", restart.why},
                    {"seconds", restart.took ? Json(seconds(*restart.took)) : Json()}});
  return json;
}

/// Returns the file as JSON if it is valid JSON, which PyTorch writes.
Json error_file_json(const std::string& text) {
  if (text.empty()) return {};
  Json parsed = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  return parsed.is_discarded() ? Json(printable(text)) : parsed;
}

}  // namespace

std::string verdict_json(const JobVerdict& verdict, const RankWords& words,
                         const std::string& job_id) {
  const int code = exit_code(verdict.cause);
  Json json;
  json["format"] = 1;
  json["job"] = job_id;
  json["exit_code"] = code;
  json["text"] = verdict.cause.kind == Cause::Kind::unreachable ? printable(verdict.cause.reason)
                                                                : headline(verdict);
  json["seconds"] = seconds(verdict.ran);
  json["world_size"] = verdict.placement.shown_world();
  json["cause"] = cause_json(verdict, words.device);
  json["last_lines"] = Json::array();
  for (const std::string& line : words.last_lines) json["last_lines"].push_back(printable(line));
  json["step"] = words.step ? Json(*words.step) : Json();
  json["checkpoint"] = words.checkpoint.empty() ? Json() : Json(printable(words.checkpoint));
  json["error_file"] = error_file_json(words.error_file);
  json["ranks"] = ends_json(verdict);
  json["nodes"] = Json::array();
  for (const Node& node : verdict.placement.nodes)
    json["nodes"].push_back(printable(node.host.name));
  json["lost_nodes"] = losses_json(verdict);
  json["unanswered_nodes"] = Json::array();
  for (const int node : verdict.unanswered)
    json["unanswered_nodes"].push_back(host_of(verdict.placement, node));
  json["replaced"] = verdict.replaced;
  json["logs_incomplete"] = Json::array();
  for (const std::string& line : words.incomplete_logs)
    json["logs_incomplete"].push_back(printable(line));
  json["restarts"] = restarts_json(verdict);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ds::launcher
