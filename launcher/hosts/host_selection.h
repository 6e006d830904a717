// Selection of hosts and slots of a job: --host, --include, --exclude, --num-nodes, --num-gpus,
// --ppn, --spares. Pure.
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
  std::vector<std::string> names;  // empty: host `number` of the hostfile (+nN)
  int number = 0;
  std::string user{};
  std::optional<int> slots{};  // kAutoSlots: all slots
  bool is_expression = false;  // `text` has a group or set operators: @gpu!node07; no names yet
};
/// One entry of `--include w0@w1:0,2`; without slots it means the whole host.
struct SlotPick {
  std::string text;
  std::vector<std::string> names;
  std::vector<int> slots{};
};

/// Parse the values of `--host` and `--include`.
/// Errors:  Error{usage} with the problem, the value, a caret and the form.
std::vector<HostPick> parse_host_picks(std::string_view option, std::string_view value);
std::vector<SlotPick> parse_slot_picks(std::string_view option, std::string_view value);

struct HostSelection {
  std::vector<HostPick> picks{};
  std::vector<SlotPick> include{}, exclude{};
  std::optional<int> num_nodes{}, num_gpus{};
  int spares = 0;  // --num-nodes keeps this many hosts more
};

/// Returns the hosts that `picks` name, by index in `hosts`, with the number of slots of each;
/// kAutoSlots means all of them.
/// Errors:  Error{config} for a host that does not exist.
std::map<std::size_t, int> find_picked(const std::vector<Host>& hosts,
                                       const std::vector<HostPick>& picks);

/// Returns the hosts that --host names without a hostfile. The slots of a host named twice add up.
/// Errors:  Error{config}.
std::vector<Host> hosts_of_picks(const std::vector<HostPick>& picks);

/// Returns the hosts that are kept. Their number of slots may be unknown.
/// Order:   that of `hosts`.   Errors:  Error{config}, for example for a host that does not exist.
std::vector<Host> select_hosts(std::vector<Host> hosts, const HostSelection& selection);

/// Returns the hosts with the slots that are kept; no input may be kAutoSlots. A host without slots
/// is removed. Order:   that of `hosts`; slots ascend unless the hostfile has another order.
/// Errors:  Error{config} for a slot that does not exist, or if nothing is left.
std::vector<Host> select_slots(std::vector<Host> hosts, const HostSelection& selection);

}  // namespace ds::launcher
