// Five limits by name.
#include "launcher/agent/limits.h"

#include <algorithm>
#include <cstdint>

namespace ds::launcher {
namespace {

struct KnownLimit {
  const char* name;
  int resource;
  bool exact;  // `ulimit -c 0` is meant to keep cores away
};

constexpr KnownLimit kLimits[] = {{"nofile", RLIMIT_NOFILE, false},
                                  {"nproc", RLIMIT_NPROC, false},
                                  {"memlock", RLIMIT_MEMLOCK, false},
                                  {"stack", RLIMIT_STACK, false},
                                  {"core", RLIMIT_CORE, true}};

}  // namespace

std::vector<ResourceLimit> limits_of_this_process() {
  std::vector<ResourceLimit> limits;
  for (const KnownLimit& known : kLimits) {
    rlimit now{};
    if (::getrlimit(static_cast<__rlimit_resource>(known.resource), &now) != 0) continue;
    limits.push_back({known.name, now.rlim_cur == RLIM_INFINITY ? UINT64_MAX : now.rlim_cur});
  }
  return limits;
}

rlim_t soft_limit(const rlimit& now, std::uint64_t wanted, bool exact) {
  // "Unlimited" is the largest number in both forms.
  const rlim_t allowed = std::min<rlim_t>(wanted, now.rlim_max);
  return exact ? allowed : std::max(now.rlim_cur, allowed);
}

std::vector<LimitToSet> limits_to_set(const std::vector<ResourceLimit>& wanted) {
  std::vector<LimitToSet> changes;
  for (const ResourceLimit& limit : wanted) {
    const auto* const known =
        std::ranges::find_if(kLimits, [&](const auto& k) { return limit.name == k.name; });
    rlimit now{};
    if (known == std::end(kLimits) ||
        ::getrlimit(static_cast<__rlimit_resource>(known->resource), &now) != 0)
      continue;
    const rlim_t soft = soft_limit(now, limit.soft, known->exact);
    if (soft != now.rlim_cur) changes.push_back({known->resource, {soft, now.rlim_max}});
  }
  return changes;
}

}  // namespace ds::launcher
