// Peers, the root, and what a pod leaves behind.
#include "launcher/cli/options_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "launcher/cli/option_values.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {

namespace {

constexpr int kMaxNodes = 65536;
constexpr int kMaxPort = 65535;

std::string job_name(const GivenOption& given) {
  const auto allowed = [](unsigned char c) { return c > ' ' && c < 0x7f; };
  constexpr std::size_t kLongest = 253;  // as Kubernetes has it
  if (given.value.empty() || given.value.size() > kLongest ||
      !std::all_of(given.value.begin(), given.value.end(), allowed))
    usage_error(fmt::format("{} needs a name without blanks", given.name));
  return given.value;
}

constexpr OptionDef<PodOptions> kPodOptions[] = {
    {{"--k8s", "",
      "the hosts are pods: those of --peers, or of the Job, JobSet,\n"
      "StatefulSet, LeaderWorkerSet or Volcano job that this pod is in"},
     [](PodOptions& part, const GivenOption&) { part.k8s = true; }},
    {{"--peers", "NAMES",
      "names of all nodes in the order of their indexes, as in\n"
      "'gpt-{0..3}.gpt' (default: what Kubernetes tells a pod)"},
     [](PodOptions& part, const GivenOption& given) { part.peers = text_value(given); }},
    {{"--nnodes", "N", "nodes of the job (default: the names of --peers)"},
     [](PodOptions& part, const GivenOption& given) {
       part.nodes = number_value(given, 1, kMaxNodes);
     }},
    {{"--slots", "N|auto", "ranks on each node (default: auto, one a GPU, else 1)"},
     [](PodOptions& part, const GivenOption& given) {
       part.slots = given.value == "auto" ? kAutoSlots : number_value(given, 1, kMaxSlots);
     }},
    {{"--job-id", "NAME",
      "what every node of this job calls it: nodes that say another name\n"
      "are refused (default: what Kubernetes calls the job)"},
     [](PodOptions& part, const GivenOption& given) { part.job_id = job_name(given); }},
    {{"--join-port", "PORT", "on which the root waits for nodes (default: 29400)"},
     [](PodOptions& part, const GivenOption& given) {
       part.join_port = static_cast<std::uint16_t>(number_value(given, 1, kMaxPort));
     }},
    {{"--key-file", "FILE",
      "the secret that nodes prove to each other (default: DSLAUNCH_TOKEN,\n"
      "the file of DSLAUNCH_TOKEN_FILE, or the mounted ~/.ssh/id_*)"},
     [](PodOptions& part, const GivenOption& given) { part.key_file = text_value(given); }},
    {{"--wait", "SECONDS", "for all nodes to be there, and for the root (default: 600s)"},
     [](PodOptions& part, const GivenOption& given) {
       part.wait = positive_duration_value(given);
     }},
    {{"--termination-log", "FILE",
      "where how the job went is left for Kubernetes, as JSON (default:\n"
      "/dev/termination-log, where that is)"},
     [](PodOptions& part, const GivenOption& given) { part.termination_log = text_value(given); }},
};

constexpr OptionDef<PodOptions> kJoiningOptions[] = {
    {{"--join", "", "be one node of a job whose nodes find each other"},
     [](PodOptions& part, const GivenOption&) { part.join = true; }},
    {{"--node-rank", "INDEX",
      "which of the peers this is; 0 is the root (default: what\n"
      "Kubernetes tells a pod)"},
     [](PodOptions& part, const GivenOption& given) {
       part.node_rank = number_value(given, 0, kMaxNodes - 1);
     }},
    {{"--root", "HOST[:PORT]",
      "the root is elsewhere and has the command, as dslaunch --k8s\n"
      "--transport join"},
     [](PodOptions& part, const GivenOption& given) { part.root = root_value(given); }},
    {{"--on-success", "exit|idle",
      "idle: stay after success until TERM, where a pod that ends is\n"
      "started again (StatefulSet, LeaderWorkerSet)"},
     [](PodOptions& part, const GivenOption& given) {
       part.on_success = choice_value<AfterSuccess, 2>(given, {"exit", "idle"});
     }},
};

[[noreturn]] void fail_root(const GivenOption& given) {
  usage_error(fmt::format("{} needs HOST or HOST:PORT, not '{}'", given.name, given.value),
              "as in gpt-0.gpt:29400 or [2001:db8::1]:29400");
}

std::uint16_t port_value(const GivenOption& given, std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || port < 1 || port > kMaxPort) fail_root(given);
  return static_cast<std::uint16_t>(port);
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
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_' || c == ':' || c == '%';
  };
  const bool good = !root.host.empty() && root.host.front() != '-' &&
                    std::all_of(root.host.begin(), root.host.end(), allowed);
  if (!good) fail_root(given);
  return root;
}

}  // namespace ds::launcher
