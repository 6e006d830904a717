// Options of pods and joining nodes, which find each other.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "launcher/cli/option_table.h"
#include "launcher/hosts/hostfile.h"

namespace ds::launcher {

/// Default port of a root.
inline constexpr std::uint16_t kJoinPort = 29400;

/// Value of --root. Port 0 stands for the port of --join-port.
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
  int slots = kAutoSlots;             // ranks on every node
  std::optional<std::string> job_id;  // common name of the job on all nodes
  std::optional<std::uint16_t> join_port;
  std::optional<std::string> key_file;
  std::chrono::milliseconds wait{600'000};  // maximum wait for all nodes or for the root
  std::optional<std::string> termination_log;
  // Options of `dslaunch agent --join` only.
  bool join = false;
  std::optional<int> node_rank;
  std::optional<RootWord> root;
  AfterSuccess on_success = AfterSuccess::exit;
};

/// Returns the options of both `dslaunch` and `dslaunch agent --join`; the first one is --k8s.
std::span<const OptionDef<PodOptions>> pod_options();
/// Returns the options of `dslaunch agent --join` only.
std::span<const OptionDef<PodOptions>> joining_options();

/// Parses `host`, `host:29401`, `[2001:db8::1]:29401` or `2001:db8::1`.
/// Errors:  Error{usage} naming the option.
RootWord root_value(const GivenOption& given);

}  // namespace ds::launcher
