#include "launcher/dns/wait_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "engine/base/units.h"
#include "launcher/hosts/fold_names.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kMaxRows = 64;  // of the table; with more it is folded

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

WaitState::WaitState(std::vector<std::string> names, WaitLimits limits,
                     std::function<double()> random, Clock::time_point now)
    : limits_(limits), random_(std::move(random)), began_(now), next_news_(now + limits.news) {
  hosts_.reserve(names.size());
  for (std::string& name : names) {
    hosts_.emplace_back();
    hosts_.back().name = std::move(name);
    queue_.emplace(now + limits.first_look, hosts_.size() - 1);
  }
}

std::vector<std::size_t> WaitState::take_due(Clock::time_point now) {
  std::vector<std::size_t> due;
  while (under_way_ < limits_.at_once && !queue_.empty() && queue_.begin()->first <= now) {
    due.push_back(queue_.begin()->second);
    queue_.erase(queue_.begin());
    ++under_way_;
  }
  return due;
}

void WaitState::on_missing(std::size_t host, HostLook look, Clock::time_point now) {
  Entry& entry = hosts_.at(host);
  --under_way_;
  ++entry.looks;
  queue_.emplace(now + pause_before_next_look(entry.looks, look.negative_ttl, random_()), host);
  entry.last = std::move(look);
}

void WaitState::on_ready(std::size_t host) {
  --under_way_;
  hosts_.at(host).ready = true;
  ++ready_;
}

Clock::time_point WaitState::wake_at() const {
  const Clock::time_point wake = std::min(began_ + limits_.limit, next_news_);
  // With at_once checks under way, the end of one of them comes first.
  if (queue_.empty() || under_way_ >= limits_.at_once) return wake;
  return std::min(wake, queue_.begin()->first);
}

std::vector<WaitState::Group> WaitState::groups() const {
  std::map<std::pair<WaitStage, std::string>, std::vector<std::string>> grouped;
  for (const Entry& entry : hosts_)
    if (!entry.ready) grouped[{entry.last.stage, entry.last.reason}].push_back(entry.name);
  std::vector<Group> groups;
  for (auto& [key, names] : grouped) groups.push_back({key.first, key.second, std::move(names)});
  return groups;
}

std::optional<std::string> WaitState::take_news(Clock::time_point now) {
  if (now < next_news_ || all_ready()) return std::nullopt;
  while (next_news_ <= now) next_news_ += limits_.news;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - began_).count();
  std::string line = fmt::format("waiting for {} of {} ({} s):", hosts_.size() - ready_,
                                 counted(std::ssize(hosts_), "host"), seconds);
  for (const char* separator = " "; const Group& group : groups())
    line += fmt::format("{}{}: {}", std::exchange(separator, "; "), fold_names(group.names),
                        group.reason);
  return line;
}

std::string WaitState::table() const {
  const std::size_t missing = hosts_.size() - ready_;
  std::string text = fmt::format("{} of {} did not answer within {:g} s", missing,
                                 counted(std::ssize(hosts_), "host"),
                                 std::chrono::duration<double>(limits_.limit).count());
  if (missing > kMaxRows) {
    for (const Group& group : groups())
      text +=
          fmt::format("\n  {} ({}): {}", fold_names(group.names), group.names.size(), group.reason);
    return text;
  }
  std::size_t width = 0;
  for (const Entry& entry : hosts_)
    if (!entry.ready) width = std::max(width, entry.name.size());
  for (const Entry& entry : hosts_)
    if (!entry.ready)
      text += fmt::format("\n  {:{}}  {} ({})", entry.name, width,
                          entry.last.detail.empty() ? entry.last.reason : entry.last.detail,
                          counted(entry.looks, "lookup"));
  return text;
}

std::string WaitState::hint() const {
  const std::vector<Group> missing = groups();
  switch (missing.empty() ? WaitStage::not_looked : missing[0].stage) {
    case WaitStage::not_looked:
      return {};
    case WaitStage::no_record:
      return "are these pods scheduled and running (k8s manifest --gang places all or none), and "
             "does the headless Service select them with publishNotReadyAddresses: true?";
    case WaitStage::dns_failed:
      return "the name servers of /etc/resolv.conf gave no answer: are they running, and does a "
             "network policy let port 53 through?";
    case WaitStage::no_connection:
      return "does sshd run there on this port, and does a network policy let it through?";
  }
  return {};
}

}  // namespace ds::launcher
