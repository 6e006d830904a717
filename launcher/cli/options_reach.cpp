// Transports and ssh.
#include "launcher/cli/options_reach.h"

#include "launcher/cli/option_values.h"
#include "launcher/transport/exec/exec_template.h"

namespace ds::launcher {

namespace {

constexpr int kMaxWindow = 4096;

constexpr OptionDef<ReachOptions> kReachOptions[] = {
    {{"--transport", "auto|ssh|local|slurm|join|exec:CMD",
      "auto (default): this machine directly, others by ssh; nodes of a Slurm\n"
      "allocation by srun; ssh: all by ssh; local: start every node's ranks\n"
      "on this machine; slurm: one step of srun, which takes no keys;\n"
      "exec:'ssh {host}': all by a program that runs a command there\n"
      "(also {addr}, {user}, {port}, {command}); join: with --k8s, wait for\n"
      "pods that run dslaunch agent --join --root"},
     [](ReachOptions& part, const GivenOption& given) {
       constexpr std::string_view kExec = "exec:";
       if (given.value.starts_with(kExec)) {
         part.transport = TransportChoice::exec;
         part.exec_words = parse_exec_template(given.value.substr(kExec.size()));
         return;
       }
       constexpr std::array<std::string_view, 6> kNames = {"auto",  "ssh",      "local",
                                                           "slurm", "exec:CMD", "join"};
       part.transport = choice_value<TransportChoice>(given, kNames);
     }},
    {{"--agent-path", "PATH", "dslaunch on the nodes (default: the path of this one, then PATH)"},
     [](ReachOptions& part, const GivenOption& given) { part.agent_path = text_value(given); }},
    {{"--push", "WHEN",
      "auto (default): where ssh finds no dslaunch this one is copied to\n"
      "~/.cache/dslaunch, unless --agent-path is given; never: it is an error"},
     [](ReachOptions& part, const GivenOption& given) {
       constexpr std::array<std::string_view, 2> kNames = {"auto", "never"};
       enum class When { automatic, never };
       part.push = choice_value<When>(given, kNames) == When::automatic;
     }},
    {{"--connect-timeout", "SECONDS",
      "for a connection to be made, and as long each for the key exchange and\n"
      "the log-in (default: 10s; those 15s and 20s; at least 2s)"},
     [](ReachOptions& part, const GivenOption& given) {
       part.connect_timeout = positive_duration_value(given);
     }},
    {{"--window", "N", "connections being opened at once (default: 64)"},
     [](ReachOptions& part, const GivenOption& given) {
       part.window = number_value(given, 1, kMaxWindow);
     }},
    {{"--ssh-config", "FILE", "instead of ~/.ssh/config"},
     [](ReachOptions& part, const GivenOption& given) { part.ssh_config = text_value(given); }},
    {{"--known-hosts", "FILE",
      "instead of the known_hosts of the ssh configuration; may be repeated", true},
     [](ReachOptions& part, const GivenOption& given) {
       part.known_hosts.push_back(text_value(given));
     }},
};

}  // namespace

std::span<const OptionDef<ReachOptions>> reach_options() { return kReachOptions; }

}  // namespace ds::launcher
