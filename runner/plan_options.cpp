// One row an option.
#include "runner/plan_options.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "engine/base/units.h"

namespace ds {
namespace {

constexpr int kMostNodes = 100'000, kMostSlots = 1024;

struct Given {
  std::string_view name, value;
};

int number(const Given& given, int least, int most) {
  int value = 0;
  const char* const end = given.value.data() + given.value.size();
  const auto [rest, error] = std::from_chars(given.value.data(), end, value);
  if (error == std::errc{} && rest == end && value >= least && value <= most) return value;
  throw Error(ErrorKind::usage, fmt::format("{} takes a whole number from {} to {}, not '{}'",
                                            given.name, least, most, given.value));
}

std::int64_t bytes(const Given& given) {
  const std::optional<std::int64_t> value = parse_bytes(given.value);
  if (value) return *value;
  throw Error(ErrorKind::usage,
              fmt::format("{} takes bytes as 80G or 512GiB, not '{}'", given.name, given.value));
}

struct Row {
  std::string_view name;
  bool flag;
  void (*apply)(PlanOptions& options, const Given& given);
};

const Row kRows[] = {
    {"--nodes", false,
     [](PlanOptions& o, const Given& g) { o.cluster.nodes = number(g, 1, kMostNodes); }},
    {"--slots", false,
     [](PlanOptions& o, const Given& g) { o.cluster.slots = number(g, 1, kMostSlots); }},
    {"--device-memory", false, [](PlanOptions& o, const Given& g) { o.limits.device = bytes(g); }},
    {"--host-memory", false, [](PlanOptions& o, const Given& g) { o.limits.host = bytes(g); }},
    {"--rates", false, [](PlanOptions& o, const Given& g) { o.rates = parse_rates(g.value); }},
    {"--measure", true, [](PlanOptions& o, const Given&) { o.measure = true; }},
    {"--print", false, [](PlanOptions& o, const Given& g) { o.print = g.value; }},
    {"--rank", false,
     [](PlanOptions& o, const Given& g) { o.rank = number(g, 0, kMostNodes * kMostSlots - 1); }},
    {"--deepspeed-estimate", true,
     [](PlanOptions& o, const Given&) { o.deepspeed_estimate = true; }},
    {"--json", true, [](PlanOptions& o, const Given&) { o.json = true; }},
};

/// Applies words[index], and returns the index of the next word.
std::size_t read_option(const std::vector<std::string>& words, std::size_t index,
                        PlanOptions& options) {
  const std::string_view word = words[index];
  const std::size_t equal = word.find('=');
  const std::string_view name = word.substr(0, equal);
  const Row* row = std::ranges::find(kRows, name, &Row::name);
  const bool has_value = equal != std::string_view::npos;
  if (row == std::end(kRows) || (row->flag && has_value))
    throw Error(ErrorKind::usage, fmt::format("unknown option '{}'", word),
                "dslaunch plan --help lists them");
  if (row->flag) {
    row->apply(options, {name, {}});
    return index + 1;
  }
  if (!has_value && index + 1 == words.size())
    throw Error(ErrorKind::usage, fmt::format("{} needs a value", name));
  const std::string_view value = has_value ? word.substr(equal + 1) : words[index + 1];
  row->apply(options, {name, value});
  return index + (has_value ? 1 : 2);
}

}  // namespace

PlanOptions parse_plan_options(const std::vector<std::string>& words) {
  PlanOptions options;
  for (std::size_t index = 0; index < words.size();) {
    const std::string& word = words[index];
    if (word.starts_with("--")) {
      index = read_option(words, index, options);
      continue;
    }
    if (options.config.empty()) {
      options.config = word;
    } else {
      options.overrides.push_back(word);
    }
    ++index;
  }
  if (options.config.empty())
    throw Error(ErrorKind::usage, "no train.toml given",
                "dsrunner plan [options] train.toml [key=value ...]");
  if (options.rank >= options.cluster.world_size())
    throw Error(ErrorKind::usage, fmt::format("--rank {}: the job has ranks 0 to {}", options.rank,
                                              options.cluster.world_size() - 1));
  return options;
}

}  // namespace ds
