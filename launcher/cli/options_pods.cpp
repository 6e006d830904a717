// Options of pods and joining nodes: peers, root, key, job id and termination log.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/whole_number.h"
#include "launcher/cli/options.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {

namespace {

constexpr int kMaxNodes = 65536;
constexpr int kMaxPort = 65535;

std::string job_name(const GivenOption& given) {
  const auto allowed = [](unsigned char c) { return c > ' ' && c < 0x7f; };
  constexpr std::size_t kLongest = 253;  // Kubernetes' limit for names
  if (given.value.empty() || given.value.size() > kLongest ||
      !std::all_of(given.value.begin(), given.value.end(), allowed))
    usage_error(fmt::format("{} must be a name without blanks", given.name));
  return given.value;
}

constexpr OptionDef<PodOptions> kPodOptions[] = {
    {{"--k8s", "",
      "Run on pods: those of --peers, or of the Job, JobSet, StatefulSet,\n"
      "LeaderWorkerSet or Volcano job that this pod belongs to"},
     set_flag<&PodOptions::k8s>},
    {{"--peers", "NAMES",
      "Names of all nodes in index order, for example 'gpt-{0..3}.gpt'\n"
      "(default: from Kubernetes)"},
     set_text<&PodOptions::peers>},
    {{"--nnodes", "MIN:MAX|N",
      "Number of nodes of the job (default: the names of --peers, or MAX of\n"
      "--nodes); MIN:MAX: the same as --nodes"},
     [](PodOptions& part, const GivenOption& given) {
       part.nodes = node_range_value(given);
       if (part.nodes->most == 0)
         usage_error(fmt::format("{} {}: MAX is missing", given.name, given.value));
     }},
    {{"--slots", "N|auto", "Ranks on each node (default: auto, one per GPU, or 1)"},
     [](PodOptions& part, const GivenOption& given) {
       part.slots = given.value == "auto" ? kAutoSlots : number_value(given, 1, kMaxSlots);
     }},
    {{"--job-id", "NAME",
      "Name of the job, the same on every node, for TORCHELASTIC_RUN_ID; nodes\n"
      "with another name are refused (default: Kubernetes' name of the job)"},
     [](PodOptions& part, const GivenOption& given) { part.job_id = job_name(given); }},
    {{"--join-port", "PORT", "Port on which the root waits for nodes (default: 29400)"},
     set_number<1, kMaxPort, &PodOptions::join_port>},
    {{"--key-file", "FILE",
      "Secret that nodes prove to each other (default: DSLAUNCH_TOKEN, the\n"
      "file in DSLAUNCH_TOKEN_FILE, or the mounted ~/.ssh/id_*)"},
     set_text<&PodOptions::key_file>},
    {{"--wait", "SECONDS", "Maximum time to wait for all nodes and for the root (default: 600s)"},
     set_positive_duration<&PodOptions::wait>},
    {{"--termination-log", "FILE",
      "Write the result of the job to FILE for Kubernetes, as JSON (default:\n"
      "/dev/termination-log, if it exists)"},
     set_text<&PodOptions::termination_log>},
};

constexpr OptionDef<PodOptions> kJoiningOptions[] = {
    {{"--join", "", "Join a job as one of its nodes; the nodes find each other"},
     set_flag<&PodOptions::join>},
    {{"--node-rank", "INDEX",
      "Index of this node among the peers; 0 is the root (default: from\n"
      "Kubernetes)"},
     [](PodOptions& part, const GivenOption& given) {
       part.node_rank = number_value(given, 0, kMaxNodes - 1);
     }},
    {{"--root", "HOST[:PORT]",
      "Address of the root. With a command, the node that has this address is\n"
      "the root; without, the root runs elsewhere and has the command"},
     [](PodOptions& part, const GivenOption& given) { part.root = root_value(given); }},
    {{"--node-name", "NAME",
      "Name of this node in a job without peers (default: SLURMD_NODENAME,\n"
      "or the host name)"},
     [](PodOptions& part, const GivenOption& given) {
       if (!may_be_host_name(given.value))
         usage_error(fmt::format("{} must be a host name, not '{}'", given.name, given.value));
       part.node_name = given.value;
     }},
    {{"--on-success", "exit|idle",
      "Exit after success, or stay until TERM (idle), for pods that are\n"
      "restarted when they exit (StatefulSet, LeaderWorkerSet) (default: exit)"},
     set_choice<"exit|idle", &PodOptions::on_success>},
};

[[noreturn]] void fail_root(const GivenOption& given) {
  usage_error(fmt::format("{} must be HOST or HOST:PORT, not '{}'", given.name, given.value),
              "for example gpt-0.gpt:29400 or [2001:db8::1]:29400");
}

std::uint16_t port_value(const GivenOption& given, std::string_view text) {
  const std::optional<std::uint16_t> port = whole_number<std::uint16_t>(text);
  if (!port || *port == 0) fail_root(given);
  return *port;
}

}  // namespace

std::span<const OptionDef<PodOptions>> pod_options() { return kPodOptions; }
std::span<const OptionDef<PodOptions>> joining_options() { return kJoiningOptions; }

RootWord root_value(const GivenOption& given) {
  std::string_view text = given.value;
  RootWord root;
  const std::size_t colon = text.rfind(':');
  const bool bracketed = text.starts_with('[');
  const bool bare_ipv6 = !bracketed && text.find(':') != colon;
  if (bare_ipv6) {
    root.host = read_address(text);
  } else if (bracketed) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) fail_root(given);
    root.host = read_address(text.substr(0, end + 1));
    if (text.size() > end + 1) {
      if (text[end + 1] != ':') fail_root(given);
      root.port = port_value(given, text.substr(end + 2));
    }
  } else {
    root.host = std::string(text.substr(0, colon));
    if (colon != std::string_view::npos) root.port = port_value(given, text.substr(colon + 1));
  }
  if (!may_be_host_name(root.host)) fail_root(given);
  return root;
}

}  // namespace ds::launcher
