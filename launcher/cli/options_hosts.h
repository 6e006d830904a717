// Options of hosts and ranks: where the ranks run and how many there are.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "launcher/cli/option_table.h"
#include "launcher/hosts/host_selection.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

enum class DryRun { off, table, json, env };
enum class MapBy { slot, node };
enum class DeviceView { node, own };  // CUDA_VISIBLE_DEVICES: the node's chosen slots, or one slot

/// Value of --part: one node of a job whose nodes are started separately.
struct PartRequest {
  int node_rank = 0;
  int nodes = 1;         // 0: the number of hosts
  std::string run_id{};  // empty if not given
  friend bool operator==(const PartRequest&, const PartRequest&) = default;
};

struct HostOptions {
  std::optional<std::string> hostfile;  // "-" is standard input
  HostSelection selection;              // --host, --include, --exclude, --num-nodes, --num-gpus
  std::optional<int> ranks;             // -n of the first program
  bool all_slots = false;               // -n all; without hosts: every GPU or core here
  std::string role = "default";         // of the first program
  std::optional<int> ranks_per_host;    // --ppn
  MapBy map_by = MapBy::slot;
  bool oversubscribe = false;
  DeviceView devices = DeviceView::node;
  Bind bind = Bind::none;
  bool report_bindings = false;
  std::optional<PartRequest> part{};
  bool one_program = false;  // ':' is always an argument
  DryRun dry_run = DryRun::off;
};

std::span<const OptionDef<HostOptions>> host_options();
/// Returns the options that select hosts and slots: --host, --include, --exclude, --num-nodes and
/// --num-gpus.
std::span<const OptionDef<HostOptions>> selection_options();

/// Checks combinations of options.
/// Errors:  Error{usage} for options that cannot be combined.
void check_host_options(const HostOptions& options);

/// Parses a role name: letters, digits, '.', '-', '_'.
std::string role_value(const GivenOption& given);
inline constexpr int kMaxRanks = 1 << 20;

}  // namespace ds::launcher
