// Which hosts, and which of their slots, a job may use: --host, --include, --exclude, --num-nodes,
// --num-gpus, --ppn, --spares. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// One entry of `--host a:4,b,c:*`.
struct HostPick {
  std::string text;                // as typed, for messages
  std::vector<std::string> names;  // empty: the host `number` of the hostfile (+nN)
  int number = 0;
  std::string user{};
  std::optional<int> slots{};  // kAutoSlots: all
};
/// One entry of `--include w0@w1:0,2`; without slots: the whole host.
struct SlotPick {
  std::string text;
  std::vector<std::string> names;
  std::vector<int> slots{};
};

/// Read `--host` and `--include`. Errors: Error{usage}: what, the value, a caret, the form.
std::vector<HostPick> parse_host_picks(std::string_view option, std::string_view value);
std::vector<SlotPick> parse_slot_picks(std::string_view option, std::string_view value);

struct HostSelection {
  std::vector<HostPick> picks{};
  std::vector<SlotPick> include{}, exclude{};
  std::optional<int> num_nodes{}, num_gpus{};
  int spares = 0;  // --num-nodes leaves so many more
};

/// The hosts that `picks` name, by their place in `hosts`, and how many slots of each: kAutoSlots
/// is all of them. Errors: Error{config} for a host that is not there.
std::map<std::size_t, int> find_picked(const std::vector<Host>& hosts,
                                       const std::vector<HostPick>& picks);

/// The hosts that --host names when there is no hostfile; a host named twice adds up.
/// Errors:  Error{config}.
std::vector<Host> hosts_of_picks(const std::vector<HostPick>& picks);

/// Which hosts stay, before anybody asks them how many slots they have.
/// Order:   that of `hosts`.   Errors: Error{config}, as for a host that is not there.
std::vector<Host> select_hosts(std::vector<Host> hosts, const HostSelection& selection);

/// Which slots of them stay, now that none is kAutoSlots. A host that loses all its slots is gone.
/// Order:   that of `hosts`; slots ascend unless the hostfile says otherwise.
/// Errors:  Error{config}, as for a slot that is not there, or when nothing is left.
std::vector<Host> select_slots(std::vector<Host> hosts, const HostSelection& selection);

}  // namespace ds::launcher
