#include "launcher/hosts/host_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/nearest_word.h"
#include "engine/base/units.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {
namespace {

[[noreturn]] void fail(const std::string& message, std::string hint = {}) {
  throw Error(ErrorKind::config, message, std::move(hint));
}

using Indices = std::vector<std::size_t>;

/// Index of hosts by name; one name can have several ports.
class NameIndex {
 public:
  explicit NameIndex(const std::vector<Host>& hosts) : hosts_(hosts) {
    for (std::size_t i = 0; i < hosts.size(); ++i) by_name_[hosts[i].name].push_back(i);
  }

  [[nodiscard]] const Indices& find(std::string_view option, const std::string& name) const {
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return found->second;
    std::vector<std::string_view> known;
    for (const Host& host : hosts_) known.emplace_back(host.name);
    const std::string near = known.size() <= kMostCompared ? nearest_word(name, known) : "";
    fail(fmt::format("{} names host '{}', which is not one of the {} of the job", option, name,
                     counted(std::ssize(hosts_), "host")),
         near.empty() ? "use the names of the hostfile" : fmt::format("did you mean '{}'?", near));
  }

 private:
  static constexpr std::size_t kMostCompared = 10'000;
  const std::vector<Host>& hosts_;
  std::map<std::string_view, Indices> by_name_;
};

/// Returns the numbers of a host's slots.
std::vector<int> slot_numbers(const Host& host) {
  std::vector<int> numbers = host.devices;
  if (!numbers.empty()) return numbers;
  numbers.resize(static_cast<std::size_t>(host.slots));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

void set_slot_numbers(Host& host, std::vector<int> numbers) {
  host.slots = static_cast<int>(numbers.size());
  host.devices = std::move(numbers);
  host.bare = false;
}

/// Reduces a host to `count` slots.
void take_slots(std::string_view option, Host& host, int count) {
  if (host.bare || host.slots == kAutoSlots) host.slots = count;
  if (host.slots < count)
    fail(fmt::format("{} requests {} slots of {}, which has {}", option, count, host.name,
                     host.slots),
         "raise slots= in the hostfile, or request fewer");
  host.slots = count;
  host.bare = false;
}

void keep(std::vector<Host>& hosts, const std::vector<bool>& kept) {
  std::erase_if(hosts, [&](const Host& host) {
    return !kept[static_cast<std::size_t>(&host - hosts.data())];
  });
}

/// Applies --host to the hosts of a hostfile: keeps the named hosts, with a number only so many
/// slots.
void apply_picks(std::vector<Host>& hosts, const std::vector<HostPick>& picks) {
  if (picks.empty()) return;
  std::vector<bool> kept(hosts.size(), false);
  for (const auto& [at, slots] : find_picked(hosts, picks)) {
    kept[at] = true;
    if (slots != kAutoSlots) take_slots("--host", hosts[at], slots);
  }
  keep(hosts, kept);
}

/// Removes hosts that --include does not name, and those that --exclude names as a whole.
void apply_whole_hosts(std::vector<Host>& hosts, const HostSelection& selection) {
  if (selection.include.empty() && selection.exclude.empty()) return;
  const NameIndex index(hosts);
  std::vector<bool> kept(hosts.size(), selection.include.empty());
  for (const SlotPick& pick : selection.include)
    for (const std::string& name : pick.names)
      for (const std::size_t at : index.find("--include", name)) kept[at] = true;
  for (const SlotPick& pick : selection.exclude)
    for (const std::string& name : pick.names)
      for (const std::size_t at : index.find("--exclude", name))
        if (pick.slots.empty()) kept[at] = false;
  keep(hosts, kept);
  if (hosts.empty()) fail("--exclude removes every host");
}

/// Returns the slots that all entries for one host name together, without hosts that an entry names
/// as a whole.
std::map<std::string, std::set<int>> slots_by_name(const std::vector<SlotPick>& picks) {
  std::map<std::string, std::set<int>> named;
  for (const SlotPick& pick : picks)
    for (const std::string& name : pick.names)
      named[name].insert(pick.slots.begin(), pick.slots.end());
  for (const SlotPick& pick : picks)
    for (const std::string& name : pick.names)
      if (pick.slots.empty()) named.erase(name);
  return named;
}

void check_slots(std::string_view option, const Host& host, const std::set<int>& named) {
  const std::vector<int> numbers = slot_numbers(host);
  for (const int slot : named) {
    if (std::ranges::count(numbers, slot) > 0) continue;
    fail(fmt::format(
             "{} names slot {} of {}, which has {}: {}", option, slot, host.name,
             counted(std::ssize(numbers), "slot"),
             fmt::join(numbers.begin(),
                       numbers.begin() + std::min<std::ptrdiff_t>(16, std::ssize(numbers)), ",")),
         "slots count from 0, or are the numbers of gpus= in the hostfile");
  }
}

void apply_slots(std::vector<Host>& hosts, const HostSelection& selection) {
  const auto included = slots_by_name(selection.include);
  const auto excluded = slots_by_name(selection.exclude);
  for (Host& host : hosts) {
    if (const auto named = included.find(host.name); named != included.end()) {
      check_slots("--include", host, named->second);
      set_slot_numbers(host, {named->second.begin(), named->second.end()});
    }
    if (const auto named = excluded.find(host.name); named != excluded.end()) {
      check_slots("--exclude", host, named->second);
      std::vector<int> numbers = slot_numbers(host);
      std::erase_if(numbers, [&](int slot) { return named->second.contains(slot); });
      const int slots = std::min(host.slots, static_cast<int>(numbers.size()));
      set_slot_numbers(host, std::move(numbers));
      host.slots = slots;
    }
  }
  std::erase_if(hosts, [](const Host& host) { return host.slots == 0; });
  if (hosts.empty()) fail("--exclude removes every slot");
}

/// Applies --num-gpus: keeps the first `count` slots of every host, as devices.
void apply_gpus(std::vector<Host>& hosts, int count) {
  for (Host& host : hosts) {
    if (host.bare) host.slots = count;
    std::vector<int> numbers = slot_numbers(host);
    if (static_cast<int>(numbers.size()) < count)
      fail(fmt::format("--num-gpus {}: {} has {}", count, host.name,
                       counted(std::ssize(numbers), "slot")),
           "raise slots= in the hostfile, or request fewer");
    numbers.resize(static_cast<std::size_t>(count));
    set_slot_numbers(host, std::move(numbers));
  }
}

}  // namespace

std::map<std::size_t, int> find_picked(const std::vector<Host>& hosts,
                                       const std::vector<HostPick>& picks) {
  const NameIndex index(hosts);
  std::map<std::size_t, int> found;
  const auto add = [&](std::size_t at, const HostPick& pick) {
    if (!pick.user.empty() && pick.user != hosts[at].user)
      fail(
          fmt::format("--host {}: the hostfile has another user for {}", pick.text, hosts[at].name),
          "remove the user");
    found[at] += pick.slots.value_or(kAutoSlots);
  };
  for (const HostPick& pick : picks) {
    const auto number = static_cast<std::size_t>(pick.number);
    if (pick.names.empty() && number >= hosts.size())
      fail(fmt::format("--host {}: there {} only {}, counted from +n0", pick.text,
                       hosts.size() == 1 ? "is" : "are", counted(std::ssize(hosts), "host")));
    if (pick.names.empty()) add(number, pick);
    for (const std::string& name : pick.names)
      for (const std::size_t at : index.find("--host", name)) add(at, pick);
  }
  return found;
}

std::vector<Host> hosts_of_picks(const std::vector<HostPick>& picks) {
  std::vector<Host> hosts;
  int turns = 0;
  std::map<std::string, std::size_t> index;
  for (const HostPick& pick : picks) {
    if (pick.names.empty())
      fail(fmt::format("--host {} refers to a hostfile, but none is given", pick.text),
           "add --hostfile FILE");
    for (const std::string& name : pick.names) {
      const int slots = pick.slots.value_or(1);
      const auto [entry, is_new] = index.try_emplace(name, hosts.size());
      if (is_new) {
        hosts.push_back({.name = name,
                         .user = pick.user,
                         .slots = slots,
                         .place = {.file = "--host"},
                         .bare = !pick.slots,
                         .turns = {turns++}});
        continue;
      }
      Host& host = hosts[entry->second];
      host.turns.push_back(turns++);
      const bool known = host.slots != kAutoSlots && slots != kAutoSlots;
      host.slots = known ? host.slots + slots : kAutoSlots;
      host.bare = host.bare && !pick.slots;
      if (host.slots > kMaxSlots)
        fail(fmt::format("--host: {} has more than {} slots", name, kMaxSlots));
    }
  }
  return hosts;
}

std::vector<Host> select_hosts(std::vector<Host> hosts, const HostSelection& selection) {
  apply_picks(hosts, selection.picks);
  apply_whole_hosts(hosts, selection);
  if (selection.num_nodes) {
    const auto wanted = static_cast<std::size_t>(*selection.num_nodes);
    if (wanted > hosts.size())
      fail(fmt::format("--num-nodes {}: there {} only {}", wanted, hosts.size() == 1 ? "is" : "are",
                       counted(std::ssize(hosts), "host")),
           "name more hosts in the hostfile, or request fewer");
    const std::size_t with_spares = wanted + static_cast<std::size_t>(selection.spares);
    if (with_spares < hosts.size()) hosts.resize(with_spares);
  }
  return hosts;
}

std::vector<Host> select_slots(std::vector<Host> hosts, const HostSelection& selection) {
  apply_slots(hosts, selection);
  if (selection.num_gpus) apply_gpus(hosts, *selection.num_gpus);
  return hosts;
}

}  // namespace ds::launcher
