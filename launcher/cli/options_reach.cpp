// Options of connections: how dslaunch reaches the nodes, where the ranks meet, and --detach.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "launcher/cli/options.h"
#include "launcher/transport/exec/exec_template.h"

namespace ds::launcher {

namespace {

constexpr int kMaxWindow = 4096;

constexpr OptionDef<ReachOptions> kReachOptions[] = {
    {{"--transport", "auto|ssh|local|slurm|join|exec:CMD",
      "Connections to hosts: auto: this machine directly, others by ssh, nodes\n"
      "of a Slurm allocation by srun; ssh: all by ssh; local: all ranks on\n"
      "this machine; slurm: one step of srun, which needs no keys; exec:'ssh\n"
      "{host}': all by a program that runs a command there (also {addr},\n"
      "{user}, {port}, {command}); join: with --k8s, wait for pods that run\n"
      "dslaunch agent --join --root (default: auto)"},
     [](ReachOptions& part, const GivenOption& given) {
       constexpr std::string_view kExec = "exec:";
       if (given.value.starts_with(kExec)) {
         part.transport = TransportChoice::exec;
         part.exec_words = parse_exec_template(given.value.substr(kExec.size()));
         return;
       }
       part.transport =
           static_cast<TransportChoice>(choice_value(given, "auto|ssh|local|slurm|exec:CMD|join"));
     }},
    {{"--agent-path", "PATH", "Path of dslaunch on the nodes (default: the path here, then PATH)"},
     set_text<&ReachOptions::agent_path>},
    {{"--push", "WHEN",
      "Copy dslaunch to ~/.cache/dslaunch on nodes that lack it, by ssh and\n"
      "without --agent-path (auto), or report an error (never) (default: auto)"},
     [](ReachOptions& part, const GivenOption& given) {
       part.push = choice_value(given, "auto|never") == 0;
     }},
    {{"--connect-timeout", "SECONDS",
      "Timeout for the connection, and for the key exchange and the login\n"
      "each, at least 2s for these two (default: 10s; these two 15s and 20s)"},
     set_positive_duration<&ReachOptions::connect_timeout>},
    {{"--window", "N", "Maximum number of connections opened at once (default: 64)"},
     set_number<1, kMaxWindow, &ReachOptions::window>},
    {{"--ssh-config", "FILE", "Read FILE instead of ~/.ssh/config"},
     set_text<&ReachOptions::ssh_config>},
    {{"--known-hosts", "FILE",
      "Use FILE instead of the ssh configuration's known_hosts; repeatable", true},
     add_text<&ReachOptions::known_hosts>},
};

constexpr int kMostPorts = 65535;

/// Reads a numeric address or a possible host name; refuses a port or a URL.
std::string address_value(const GivenOption& given) {
  const bool is_name =
      !given.value.empty() && given.value.front() != '-' &&
      std::all_of(given.value.begin(), given.value.end(), [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c >= 0x80;
      });
  if (!is_name && !parse_address(given.value))
    usage_error(
        fmt::format("{} must be an address or a host name, not '{}'", given.name, given.value),
        "for example 10.0.0.1, fd00::1 or node01; give the port with --master-port");
  return given.value;
}

constexpr OptionDef<MasterRequest> kMasterOptions[] = {
    {{"--iface", "NAME|NETWORK",
      "Network interface of every node that ranks use: a name (eth1) or a\n"
      "network (10.1.0.0/16); limits MASTER_ADDR, and sets\n"
      "GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME unless they are set"},
     [](MasterRequest& part, const GivenOption& given) {
       part.iface = InterfaceChoice::parse(given.value);
       if (!part.iface)
         usage_error(
             fmt::format("{} must be an interface or a network, not '{}'", given.name, given.value),
             "for example eth1, 10.1.0.0/16 or fd00:1::/64");
     }},
    {{"--master-addr", "ADDRESS",
      "Set MASTER_ADDR, without a test (default: an address of the first node\n"
      "that all others have reached)"},
     [](MasterRequest& part, const GivenOption& given) { part.address = address_value(given); }},
    {{"--master-port", "PORT", "Set MASTER_PORT (default: a free port on the first node)"},
     set_number<1, kMostPorts, &MasterRequest::port>},
};

constexpr OptionDef<ControlOptions> kControlOptions[] = {
    {{"--detach", "FILE",
      "Start the job in the background and print its id; its output goes to\n"
      "FILE (default: dslaunch-%j.log; %j is the id); see dslaunch ps, tail,\n"
      "attach and kill",
      false, "dslaunch-%j.log"},
     set_text<&ControlOptions::detach>},
};

}  // namespace

std::span<const OptionDef<ReachOptions>> reach_options() { return kReachOptions; }
std::span<const OptionDef<MasterRequest>> master_options() { return kMasterOptions; }
std::span<const OptionDef<ControlOptions>> control_options() { return kControlOptions; }

}  // namespace ds::launcher
