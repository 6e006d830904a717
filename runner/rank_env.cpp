// Reads a rank's environment. Every variable is checked, and every error names its variable.
#include "runner/rank_env.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/slurm_rank.h"

namespace ds {
namespace {

constexpr double kLongest = 1e9;  // seconds

class Environment {
 public:
  explicit Environment(const Lookup& lookup) : lookup_(lookup) {}

  // An empty variable counts as unset, because `RANK= dsrunner` is a common way to unset it.
  [[nodiscard]] std::optional<std::string> text(const char* name) const {
    const char* value = lookup_(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return std::string(value);
  }

  [[nodiscard]] std::optional<std::int64_t> number(const char* name, std::int64_t low,
                                                   std::int64_t high) const {
    const std::optional<std::string> value = text(name);
    if (!value) return std::nullopt;
    std::int64_t number = 0;
    const char* end = value->data() + value->size();
    const auto [stop, error] = std::from_chars(value->data(), end, number);
    if (error != std::errc() || stop != end) {
      throw Error(ErrorKind::config, fmt::format("{}='{}' is not an integer", name, *value));
    }
    if (number < low || number > high) {
      throw Error(ErrorKind::config,
                  fmt::format("{}={} is out of range ({} to {})", name, number, low, high));
    }
    return number;
  }

  [[nodiscard]] std::optional<double> seconds(const char* name) const {
    const std::optional<std::string> value = text(name);
    if (!value) return std::nullopt;
    double number = 0;
    const char* end = value->data() + value->size();
    const auto [stop, error] = std::from_chars(value->data(), end, number);
    if (error != std::errc() || stop != end || !(number >= 0 && number <= kLongest))
      throw Error(ErrorKind::config,
                  fmt::format("{}='{}' is not a number of seconds", name, *value));
    return number;
  }

  [[nodiscard]] int required(const char* name, std::int64_t low, std::int64_t high) const {
    const std::optional<std::int64_t> value = number(name, low, high);
    if (!value) missing(name);
    return static_cast<int>(*value);
  }

  [[noreturn]] void missing(const char* name) const {
    std::string set;
    for (const char* other : kPlace) {
      if (text(other)) set += fmt::format("{}{}", set.empty() ? "" : ", ", other);
    }
    throw Error(ErrorKind::config, fmt::format("{} is not set, but {} is", name, set),
                "set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT, or none of them "
                "for a job of one rank");
  }

  [[nodiscard]] bool has_place() const {
    return std::any_of(std::begin(kPlace), std::end(kPlace),
                       [&](const char* name) { return text(name).has_value(); });
  }

  /// Returns whether a rank variable is set. MASTER_ADDR and MASTER_PORT alone do not name a rank.
  [[nodiscard]] bool has_rank() const {
    return std::any_of(std::begin(kPlace), std::begin(kPlace) + kRankNames,
                       [&](const char* name) { return text(name).has_value(); });
  }

 private:
  static constexpr const char* kPlace[] = {contract::kRank,       contract::kWorldSize,
                                           contract::kLocalRank,  contract::kLocalWorldSize,
                                           contract::kMasterAddr, contract::kMasterPort};
  static constexpr std::ptrdiff_t kRankNames = 4;
  const Lookup& lookup_;
};

constexpr std::int64_t kMostRanks = 1'000'000;

/// Reads "MIN:MAX".
void read_range(const Environment& environment, RankEnv& env) {
  const auto range = environment.text(contract::kElasticRanks);
  if (!range) return;
  std::int64_t least = 0, most = 0;
  const char* const end = range->data() + range->size();
  const auto [colon, error] = std::from_chars(range->data(), end, least);
  const bool has_colon = error == std::errc() && colon != end && *colon == ':';
  const auto [stop, problem] = std::from_chars(has_colon ? colon + 1 : end, end, most);
  if (!has_colon || problem != std::errc() || stop != end || least < 1 || most < least ||
      most > kMostRanks) {
    throw Error(ErrorKind::config, fmt::format("{}='{}' is not MIN:MAX with 1 <= MIN <= MAX",
                                               contract::kElasticRanks, *range));
  }
  env.least_ranks = least;
  env.most_ranks = most;
}

constexpr const char* kTorchrunHasStore = "TORCHELASTIC_USE_AGENT_STORE";

std::string job_key(const Environment& environment) {
  std::string key = environment.text(contract::kJobKey).value_or("");
  // A secret that was made from a file ends with a newline.
  key.erase(key.find_last_not_of(" \t\r\n") + 1);
  const bool is_hex = key.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
  if (!key.empty() && (key.size() != 64 || !is_hex)) {
    throw Error(ErrorKind::config,
                fmt::format("{} is not 64 hexadecimal digits", contract::kJobKey),
                "unset it, or generate a key with: openssl rand -hex 32");
  }
  return key;
}

void read_place(const Environment& environment, RankEnv& env) {
  env.world_size = environment.required(contract::kWorldSize, 1, kMostRanks);
  env.rank = environment.required(contract::kRank, 0, env.world_size - 1);
  env.local_rank = environment.required(contract::kLocalRank, 0, env.world_size - 1);
  const auto local =
      environment.number(contract::kLocalWorldSize, env.local_rank + 1, env.world_size);
  env.local_world_size = static_cast<int>(local.value_or(env.local_rank + 1));
  if (env.world_size == 1) return;
  const std::optional<std::string> address = environment.text(contract::kMasterAddr);
  if (!address) environment.missing(contract::kMasterAddr);
  env.master_addr = *address;
  env.master_port = environment.required(contract::kMasterPort, 1, 65535);
  // torchrun's agent then listens at MASTER_PORT itself, for its own store, so the next port is
  // used.
  if (environment.text(kTorchrunHasStore) == "True")
    env.master_port += env.master_port < 65535 ? 1 : -1;
}

/// Takes the place of a task of `srun`. MASTER_ADDR and MASTER_PORT may also be set.
void take_place(const Environment& environment, const SlurmRank& place, RankEnv& env) {
  env.world_size = place.world_size;
  env.rank = place.rank;
  env.local_rank = place.local_rank;
  env.local_world_size = place.local_world_size;
  env.master_addr = environment.text(contract::kMasterAddr).value_or(place.master_addr);
  env.master_port = static_cast<int>(
      environment.number(contract::kMasterPort, 1, 65535).value_or(place.master_port));
}

}  // namespace

RankEnv parse_rank_env(const Lookup& lookup) {
  const Environment environment(lookup);
  RankEnv env;
  const auto slurm = environment.has_rank() ? std::nullopt : find_slurm_rank(lookup);
  if (slurm)
    take_place(environment, *slurm, env);
  else if (environment.has_place())
    read_place(environment, env);
  env.job_id = environment.text(contract::kJobId).value_or(slurm ? "slurm-" + slurm->job : "");
  env.job_key = job_key(environment);
  env.epoch = static_cast<std::uint64_t>(
      environment.number(contract::kEpoch, 0, std::numeric_limits<std::int64_t>::max())
          .value_or(slurm ? static_cast<std::int64_t>(slurm_epoch(slurm->restarts)) : 0));
  env.node = environment.text(contract::kNodeRank)
                 .value_or(environment.text(contract::kGroupRank).value_or(""));
  read_range(environment, env);
  env.grace_s = environment.seconds(contract::kGrace);
  if (const auto wire = environment.text(contract::kTestWire)) {
    env.test_wire = parse_wire_speed(*wire);
    if (!env.test_wire)
      throw Error(ErrorKind::config,
                  fmt::format("{}='{}' is not a wire speed", contract::kTestWire, *wire),
                  "write for example: rate=200M,latency=1ms");
  }
  return env;
}

Rendezvous RankEnv::rendezvous(Clock::duration timeout) const {
  return {.rank = rank,
          .world_size = world_size,
          .master_addr = master_addr,
          .master_port = master_port,
          .job_id = job_id,
          .job_key = job_key,
          .epoch = epoch,
          .timeout = timeout,
          .test_wire = test_wire};
}

}  // namespace ds
