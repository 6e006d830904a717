// Whole lines are left out until it fits.
#include "launcher/pods/termination_report.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace ds::launcher {

namespace {

using Json = nlohmann::ordered_json;

Json json_of(const TerminationReport& report) {
  Json json;
  json["reason"] = printable(report.reason);
  json["exit_code"] = report.exit_code;
  if (!report.job.empty()) json["job"] = printable(report.job);
  json["rank"] = report.rank ? Json(*report.rank) : Json();
  json["node"] = report.node.empty() ? Json() : Json(printable(report.node));
  json["step"] = report.step ? Json(*report.step) : Json();
  json["checkpoint"] = Json();
  json["last_lines"] = Json::array();
  for (const std::string& line : report.last_lines) json["last_lines"].push_back(printable(line));
  return json;
}

std::string text_of(const TerminationReport& report) {
  return json_of(report).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// "step  12/100  loss ..." -> 12.
std::optional<std::int64_t> step_of(std::string_view line) {
  constexpr std::string_view kWord = "step ";
  if (!line.starts_with(kWord)) return std::nullopt;
  line.remove_prefix(kWord.size());
  while (line.starts_with(' ')) line.remove_prefix(1);
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
  const bool counted = error == std::errc() && end != line.data() + line.size() && *end == '/';
  return counted ? std::optional(step) : std::nullopt;
}

std::string node_name(const Placement& placement, int node) {
  return placement.nodes[static_cast<std::size_t>(node)].host.name;
}

}  // namespace

std::optional<std::int64_t> last_step(const std::vector<std::string>& lines) {
  for (auto line = lines.rbegin(); line != lines.rend(); ++line)
    if (const auto step = step_of(*line)) return step;
  return std::nullopt;
}

TerminationReport termination_report(const JobVerdict& verdict, const RankWords& words,
                                     const std::vector<std::string>& shown) {
  const Cause& cause = verdict.cause;
  TerminationReport report;
  report.exit_code = exit_code(cause);
  report.reason = cause.kind == Cause::Kind::none ? "all ranks ended with 0" : headline(verdict);
  if (cause.kind == Cause::Kind::unreachable) report.reason = cause.reason;
  if (cause.kind == Cause::Kind::rank) {
    report.rank = cause.rank;
    const RankPlace& place = verdict.placement.ranks[static_cast<std::size_t>(cause.rank)];
    report.node = node_name(verdict.placement, place.node_rank);
    report.last_lines = words.last_lines;
  }
  if (cause.kind == Cause::Kind::node) report.node = node_name(verdict.placement, cause.node);
  report.step = last_step(shown);
  return report;
}

std::string termination_json(const TerminationReport& report) {
  std::string text = text_of(report);
  TerminationReport shorter = report;
  while (text.size() > kMaxTerminationReport) {
    if (!shorter.last_lines.empty()) {
      shorter.last_lines.erase(shorter.last_lines.begin());
    } else {  // names and reasons come from elsewhere
      std::string& longest =
          shorter.reason.size() >= shorter.node.size() ? shorter.reason : shorter.node;
      longest.resize(longest.size() * 3 / 4);
    }
    text = text_of(shorter);
  }
  return text;
}

}  // namespace ds::launcher
