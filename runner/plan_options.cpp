#include "runner/plan_options.h"

#include <charconv>
#include <string_view>

#include "engine/base/tool_options.h"

namespace ds {
namespace {

constexpr int kMostNodes = 100'000;

/// Returns the number, or 0 if the text is not one from 1 to kMostNodes.
int nodes_in(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && number >= 1 && number <= kMostNodes ? number : 0;
}

/// Takes "N" or "MIN:MAX".
void take_nodes(const std::string& text, PlanOptions& options) {
  if (text.empty()) return;
  const std::size_t colon = text.find(':');
  const bool is_range = colon != std::string::npos;
  const int most = nodes_in(is_range ? std::string_view(text).substr(colon + 1) : text);
  const int least = is_range ? nodes_in(std::string_view(text).substr(0, colon)) : most;
  if (least == 0 || most == 0 || least > most)
    throw Error(ErrorKind::usage,
                fmt::format("--nodes: expected 1 to {}, or MIN:MAX with MIN at most MAX, found '{}'",
                            kMostNodes, text));
  options.cluster.nodes = most;
  if (is_range) options.least_nodes = least;
}

}  // namespace

PlanOptions parse_plan_options(const std::vector<std::string>& words) {
  const ToolWords read("plan", words);
  if (read.others.empty())
    throw Error(ErrorKind::usage, "no train.toml given",
                "dsrunner plan [options] train.toml [key=value ...]");
  PlanOptions options;
  take_nodes(read.value("--nodes"), options);
  options.cluster.slots = static_cast<int>(read.number("--slots", 1));
  if (read.has("--device-memory")) options.limits.device = read.bytes("--device-memory");
  if (read.has("--host-memory")) options.limits.host = read.bytes("--host-memory");
  if (read.has("--rates")) options.rates = parse_rates(read.value("--rates"));
  options.measure = read.has("--measure");
  options.json = read.has("--json");
  options.deepspeed_estimate = read.has("--deepspeed-estimate");
  options.print = read.value("--print");
  options.rank = static_cast<int>(read.number("--rank"));
  options.config = read.others.front();
  options.overrides.assign(read.others.begin() + 1, read.others.end());
  if (options.rank >= options.cluster.world_size())
    throw Error(ErrorKind::usage, fmt::format("--rank {} is out of range (0 to {})", options.rank,
                                              options.cluster.world_size() - 1));
  return options;
}

}  // namespace ds
