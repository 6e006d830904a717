// Conversion of a verdict into a termination report, and its JSON within Kubernetes' size limit.
#include "launcher/commands/pods/termination_report.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "launcher/job/verdict.h"

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
  json["checkpoint"] = report.checkpoint.empty() ? Json() : Json(printable(report.checkpoint));
  json["last_lines"] = Json::array();
  for (const std::string& line : report.last_lines) json["last_lines"].push_back(printable(line));
  return json;
}

std::string text_of(const TerminationReport& report) {
  return json_of(report).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

template <class T>
std::optional<T> value_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  const bool fits =
      found != json.end() &&
      (std::is_same_v<T, std::string> ? found->is_string() : found->is_number_integer());
  return fits ? std::optional(found->get<T>()) : std::nullopt;
}

}  // namespace

TerminationReport termination_report(const std::string& verdict, int code) {
  TerminationReport report;
  report.exit_code = code;
  const Json json = Json::parse(verdict, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    report.reason = verdict;
    return report;
  }
  report.reason = value_of<std::string>(json, "text").value_or("");
  if (report.reason.empty() && code == 0) report.reason = "all ranks ended with 0";
  report.job = value_of<std::string>(json, "job").value_or("");
  report.step = value_of<std::int64_t>(json, "step");
  report.checkpoint = value_of<std::string>(json, "checkpoint").value_or("");
  const Json cause = json.value("cause", Json::object());
  report.rank = value_of<int>(cause, "rank");
  report.node = value_of<std::string>(cause, "node").value_or("");
  for (const Json& line : json.value("last_lines", Json::array()))
    if (line.is_string()) report.last_lines.push_back(line.get<std::string>());
  return report;
}

std::string termination_json(const TerminationReport& report) {
  std::string text = text_of(report);
  TerminationReport shorter = report;
  while (text.size() > kMaxTerminationReport) {
    if (!shorter.last_lines.empty()) {
      shorter.last_lines.erase(shorter.last_lines.begin());
    } else {  // names and reasons from other programs can be long
      std::string& longest =
          std::max({std::ref(shorter.reason), std::ref(shorter.node), std::ref(shorter.job),
                    std::ref(shorter.checkpoint)},
                   [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
      longest.resize(longest.size() * 3 / 4);
    }
    text = text_of(shorter);
  }
  return text;
}

}  // namespace ds::launcher
