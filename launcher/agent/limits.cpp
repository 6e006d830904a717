#include "launcher/agent/limits.h"

#include <algorithm>
#include <cstdint>

namespace ds::launcher {
namespace {

struct KnownLimit {
  const char* name;
  int resource;
  bool exact;  // `ulimit -c 0` must be kept: it prevents core files
};

constexpr KnownLimit kLimits[] = {{"nofile", RLIMIT_NOFILE, false},
                                  {"nproc", RLIMIT_NPROC, false},
                                  {"memlock", RLIMIT_MEMLOCK, false},
                                  {"stack", RLIMIT_STACK, false},
                                  {"core", RLIMIT_CORE, true}};

/// The limit before raise_open_files(). A forked agent inherits the value.
std::optional<rlimit> files_before;

/// Returns a limit as it was before raise_open_files().
std::optional<rlimit> limit_of(int resource) {
  if (resource == RLIMIT_NOFILE && files_before) return files_before;
  rlimit now{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &now) != 0) return std::nullopt;
  return now;
}

}  // namespace

void raise_open_files() {
  rlimit now{};
  if (files_before || ::getrlimit(RLIMIT_NOFILE, &now) != 0 || now.rlim_cur == now.rlim_max) return;
  const rlimit raised{now.rlim_max, now.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) files_before = now;
}

void give_back_open_files() {
  if (files_before) ::setrlimit(RLIMIT_NOFILE, &*files_before);
}

std::vector<ResourceLimit> limits_of_this_process() {
  std::vector<ResourceLimit> limits;
  for (const KnownLimit& known : kLimits) {
    const std::optional<rlimit> now = limit_of(known.resource);
    if (!now) continue;
    limits.push_back({known.name, now->rlim_cur == RLIM_INFINITY ? UINT64_MAX : now->rlim_cur});
  }
  return limits;
}

rlim_t soft_limit(const rlimit& now, std::uint64_t wanted, bool exact) {
  // UINT64_MAX and RLIM_INFINITY are the same number.
  const rlim_t allowed = std::min<rlim_t>(wanted, now.rlim_max);
  return exact ? allowed : std::max(now.rlim_cur, allowed);
}

std::vector<LimitToSet> limits_to_set(const std::vector<ResourceLimit>& wanted) {
  std::vector<LimitToSet> changes;
  if (files_before) changes.push_back({RLIMIT_NOFILE, *files_before});
  for (const ResourceLimit& limit : wanted) {
    const auto* const known =
        std::ranges::find_if(kLimits, [&](const auto& k) { return limit.name == k.name; });
    if (known == std::end(kLimits)) continue;
    const std::optional<rlimit> now = limit_of(known->resource);
    if (!now) continue;
    const rlim_t soft = soft_limit(*now, limit.soft, known->exact);
    if (soft != now->rlim_cur) changes.push_back({known->resource, {soft, now->rlim_max}});
  }
  return changes;
}

}  // namespace ds::launcher
