// Computes the pause before the next lookup of a missing name.
#include "launcher/dns/look_schedule.h"

#include <algorithm>
#include <array>

namespace ds::launcher {

namespace {

using std::chrono::milliseconds;

constexpr std::array kEarly = {milliseconds(500), milliseconds(500), milliseconds(1000)};
constexpr milliseconds kEvery{5000};
constexpr double kJitter = 0.2;  // so that a thousand agents do not ask at the same moment
constexpr milliseconds kLongTtl{60'000};
constexpr milliseconds kBehind{50};  // caches count whole seconds

}  // namespace

milliseconds pause_before_next_look(int looks, std::optional<std::chrono::seconds> negative_ttl,
                                    double random) {
  const auto scaled = [](double by) {
    return milliseconds(static_cast<long>(static_cast<double>(kEvery.count()) * by));
  };
  const milliseconds late = scaled(1 - kJitter + 2 * kJitter * std::clamp(random, 0.0, 1.0));
  const bool early = looks >= 1 && looks <= static_cast<int>(kEarly.size());
  const milliseconds pause = early ? kEarly[static_cast<std::size_t>(looks - 1)] : late;
  if (!negative_ttl) return pause;
  const auto spread = milliseconds(static_cast<long>(200 * random));
  const milliseconds expired = std::min<milliseconds>(*negative_ttl, kLongTtl) + kBehind + spread;
  if (early) return std::clamp(expired, pause, kEvery);
  const bool near = expired >= scaled(1 - kJitter) && expired <= scaled(1 + kJitter);
  return near ? expired : late;
}

}  // namespace ds::launcher
