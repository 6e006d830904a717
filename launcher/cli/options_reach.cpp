// Options of connections: transport, ssh files, the agent's path, timeouts and window.
#include "launcher/cli/options_reach.h"

#include "launcher/cli/option_values.h"
#include "launcher/transport/exec/exec_template.h"

namespace ds::launcher {

namespace {

constexpr int kMaxWindow = 4096;

constexpr OptionDef<ReachOptions> kReachOptions[] = {
    {{"--transport", "auto|ssh|local|slurm|join|exec:CMD",
      "auto: this machine directly, other hosts by ssh, nodes of a Slurm\n"
      "allocation by srun; ssh: all by ssh; local: all ranks on this machine;\n"
      "slurm: one step of srun, which needs no keys; exec:'ssh {host}': all\n"
      "by a program that runs a command there (also {addr}, {user}, {port},\n"
      "{command}); join: with --k8s, wait for pods that run dslaunch agent\n"
      "--join --root (default: auto)"},
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
    {{"--agent-path", "PATH", "Path of dslaunch on the nodes (default: the path here, then PATH)"},
     [](ReachOptions& part, const GivenOption& given) { part.agent_path = text_value(given); }},
    {{"--push", "WHEN",
      "auto: copy dslaunch to ~/.cache/dslaunch on nodes that lack it, by ssh\n"
      "and without --agent-path; never: report an error (default: auto)"},
     [](ReachOptions& part, const GivenOption& given) {
       constexpr std::array<std::string_view, 2> kNames = {"auto", "never"};
       enum class When { automatic, never };
       part.push = choice_value<When>(given, kNames) == When::automatic;
     }},
    {{"--connect-timeout", "SECONDS",
      "Timeout for the connection, and for the key exchange and the login\n"
      "each, at least 2s for these two (default: 10s; these two 15s and 20s)"},
     [](ReachOptions& part, const GivenOption& given) {
       part.connect_timeout = positive_duration_value(given);
     }},
    {{"--window", "N", "Maximum number of connections opened at once (default: 64)"},
     [](ReachOptions& part, const GivenOption& given) {
       part.window = number_value(given, 1, kMaxWindow);
     }},
    {{"--ssh-config", "FILE", "Read FILE instead of ~/.ssh/config"},
     [](ReachOptions& part, const GivenOption& given) { part.ssh_config = text_value(given); }},
    {{"--known-hosts", "FILE",
      "Use FILE instead of the ssh configuration's known_hosts; repeatable", true},
     [](ReachOptions& part, const GivenOption& given) {
       part.known_hosts.push_back(text_value(given));
     }},
};

}  // namespace

std::span<const OptionDef<ReachOptions>> reach_options() { return kReachOptions; }

}  // namespace ds::launcher
