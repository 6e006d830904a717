#include "launcher/mpi/published_names.h"

#include <algorithm>
#include <utility>

namespace ds::launcher {
namespace {

/// Memory of a name besides its bytes.
constexpr std::size_t kEntryOverhead = 200;
/// Bytes of one answer, which must fit into a frame.
constexpr std::size_t kMostAnswer = kMaxFrameBytes / 2;

std::size_t bytes_of(const std::string& name, const std::string& value) {
  return name.size() + value.size() + kEntryOverhead;
}

PublishedNames::Out status(int node, const NameAsk& ask, NameAnswer::Status status) {
  return {node, {.rank = ask.rank, .id = ask.id, .status = status}};
}

}  // namespace

std::vector<PublishedNames::Out> PublishedNames::take(int node, NameAsk&& ask) {
  switch (ask.kind) {
    case NameAsk::Kind::publish:
      return publish(node, std::move(ask));
    case NameAsk::Kind::withdraw:
      return {status(node, ask, withdraw(ask))};
    case NameAsk::Kind::cancel:
      std::erase_if(waiting_, [&](const Lookup& each) {
        return each.node == node && each.ask.rank == ask.rank && each.ask.id == ask.id;
      });
      return {};
    case NameAsk::Kind::look_up:
      break;
  }
  waiting_.push_back({node, std::move(ask)});
  if (!is_due(waiting_.back())) return {};
  Out out = answer(waiting_.back());
  waiting_.pop_back();
  return {std::move(out)};
}

std::vector<PublishedNames::Out> PublishedNames::publish(int node, NameAsk&& ask) {
  std::size_t bytes = bytes_;
  for (auto each = ask.names.begin(); each != ask.names.end(); ++each) {
    const auto same = [&](const auto& other) { return other.first == each->first; };
    if (names_.contains(each->first) || std::any_of(ask.names.begin(), each, same))
      return {status(node, ask, NameAnswer::Status::exists)};
    bytes += bytes_of(each->first, each->second);
  }
  if (bytes > kMostBytes) return {status(node, ask, NameAnswer::Status::full)};
  bytes_ = bytes;
  std::vector<Out> out{status(node, ask, NameAnswer::Status::done)};
  for (auto& [name, value] : ask.names) names_[name] = {std::move(value), ask.rank, ask.once};
  std::erase_if(waiting_, [&](const Lookup& lookup) {
    if (!is_due(lookup)) return false;
    out.push_back(answer(lookup));
    return true;
  });
  return out;
}

NameAnswer::Status PublishedNames::withdraw(const NameAsk& ask) {
  bool removed = false;
  for (auto entry = names_.begin(); entry != names_.end();) {
    const auto next = std::next(entry);
    const auto is_named = [&](const auto& name) { return name.first == entry->first; };
    if (ask.names.empty() ? entry->second.rank == ask.rank
                          : std::ranges::any_of(ask.names, is_named)) {
      remove(entry);
      removed = true;
    }
    entry = next;
  }
  return removed || ask.names.empty() ? NameAnswer::Status::done : NameAnswer::Status::unknown;
}

bool PublishedNames::is_due(const Lookup& lookup) const {
  const auto there = std::ranges::count_if(
      lookup.ask.names, [&](const auto& name) { return names_.contains(name.first); });
  return there >= std::min<std::ptrdiff_t>(lookup.ask.wanted, std::ssize(lookup.ask.names));
}

PublishedNames::Out PublishedNames::answer(const Lookup& lookup) {
  Out out = status(lookup.node, lookup.ask, NameAnswer::Status::done);
  std::size_t bytes = 0;
  for (const auto& [name, unused] : lookup.ask.names)
    if (const auto entry = names_.find(name); entry != names_.end())
      bytes += bytes_of(name, entry->second.value);
  if (bytes > kMostAnswer) return status(lookup.node, lookup.ask, NameAnswer::Status::full);
  for (const auto& [name, unused] : lookup.ask.names) {
    const auto entry = names_.find(name);
    if (entry == names_.end()) continue;
    out.message.found.push_back(
        {.name = name, .value = entry->second.value, .rank = entry->second.rank});
    if (entry->second.once) remove(entry);
  }
  return out;
}

void PublishedNames::remove(std::map<std::string, Entry>::iterator entry) {
  bytes_ -= bytes_of(entry->first, entry->second.value);
  names_.erase(entry);
}

void PublishedNames::ended(int node) {
  std::erase_if(waiting_, [node](const Lookup& lookup) { return lookup.node == node; });
}

}  // namespace ds::launcher
