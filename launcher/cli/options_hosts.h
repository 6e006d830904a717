// Options: which nodes, how many ranks.
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
enum class DeviceView { node, own };  // what CUDA_VISIBLE_DEVICES lists: the node's slots, or one

/// --part: this is one node of a job whose nodes are started apart.
struct PartWish {
  int node_rank = 0;
  int nodes = 1;         // 0: as many as there are hosts
  std::string run_id{};  // empty: none given
  friend bool operator==(const PartWish&, const PartWish&) = default;
};

struct HostOptions {
  std::optional<std::string> hostfile;  // "-" is standard input
  HostSelection selection;              // --host, --include, --exclude, --num-nodes, --num-gpus
  std::optional<int> ranks;             // -n of the first program
  bool all_slots = false;               // -n all: of this machine too, if there are no hosts
  std::string role = "default";         // of the first program
  std::optional<int> ranks_per_host;    // --ppn
  MapBy map_by = MapBy::slot;
  bool oversubscribe = false;
  DeviceView devices = DeviceView::node;
  Bind bind = Bind::none;
  bool report_bindings = false;
  std::optional<PartWish> part{};
  bool one_program = false;  // ':' is an ordinary argument
  DryRun dry_run = DryRun::off;
};

std::span<const OptionDef<HostOptions>> host_options();
/// Of these the ones that choose among hosts and slots: --host, --include, --exclude, --num-nodes
/// and --num-gpus.
std::span<const OptionDef<HostOptions>> selection_options();

/// What cannot be seen from one option alone.
/// Errors:  Error{usage} for options that exclude each other.
void check_host_options(const HostOptions& options);

/// A role name: letters, digits, '.', '-', '_'.
std::string role_value(const GivenOption& given);
inline constexpr int kMaxRanks = 1 << 20;

}  // namespace ds::launcher
