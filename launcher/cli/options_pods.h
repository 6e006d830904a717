// Options: nodes that find each other by themselves, as the pods of a job do.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "launcher/cli/option_table.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// Where a root listens, unless something else is said.
inline constexpr std::uint16_t kJoinPort = 29400;

/// Port 0: that of --join-port.
struct RootWord {
  std::string host{};
  std::uint16_t port = 0;
  friend bool operator==(const RootWord&, const RootWord&) = default;
};

enum class AfterSuccess { exit, idle };

struct PodOptions {
  bool k8s = false;
  std::optional<std::string> peers;   // names of the nodes, as typed
  std::optional<int> nodes;           // --nnodes
  int slots = kAutoSlots;             // of every node
  std::optional<std::string> job_id;  // what all nodes of one job call it
  std::optional<std::uint16_t> join_port;
  std::optional<std::string> key_file;
  std::chrono::milliseconds wait{600'000};  // for all nodes, or for the root
  std::optional<std::string> termination_log;
  // Of `dslaunch agent --join` alone.
  bool join = false;
  std::optional<int> node_rank;
  std::optional<RootWord> root;
  AfterSuccess on_success = AfterSuccess::exit;
};

/// Of `dslaunch` and `dslaunch agent --join`; the first one is --k8s.
std::span<const OptionDef<PodOptions>> pod_options();
/// Of `dslaunch agent --join` alone.
std::span<const OptionDef<PodOptions>> joining_options();

/// `host`, `host:29401`, `[2001:db8::1]:29401` or `2001:db8::1`.
/// Errors:  Error{usage} naming the option.
RootWord root_value(const GivenOption& given);

}  // namespace ds::launcher
