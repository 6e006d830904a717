#include "engine/monitor/run_start.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

namespace ds {

std::string run_start_json(const RunStart& start) {
  const auto time = static_cast<std::time_t>(start.started_s);
  std::tm utc{};
  ::gmtime_r(&time, &utc);
  nlohmann::ordered_json json;
  json["started"] = fmt::format("{:%Y-%m-%d %H:%M:%S}", utc);
  json["build"] = start.build;
  json["host"] = start.host;
  json["device"] = start.device;
  json["world_size"] = start.world_size;
  json["local_ranks"] = start.local_ranks;
  json["parameters"] = start.parameters;
  json["job"] = start.job;
  json["epoch"] = start.epoch;
  constexpr auto kReplaceNonUtf8 = nlohmann::ordered_json::error_handler_t::replace;
  return json.dump(2, ' ', false, kReplaceNonUtf8) + "\n";
}

std::string job_of_run(const std::string& json) {
  const auto run = nlohmann::json::parse(json, nullptr, false);
  if (!run.is_object() || !run.contains("job") || !run["job"].is_string()) return {};
  return run["job"].get<std::string>();
}

}  // namespace ds
