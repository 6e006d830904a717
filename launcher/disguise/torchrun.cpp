// Translation of torchrun's options: to --part, -n, --master-addr and --master-port, or to
// `agent --join` for a job whose nodes find each other at the endpoint.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/base/whole_number.h"
#include "launcher/cli/option_table.h"
#include "launcher/disguise/torchrun_words.h"

namespace ds::launcher {

namespace {

constexpr std::string_view kStaticPort = "29500";
constexpr std::string_view kC10dPort = "29400";

/// Returns the variable of an option: "--nproc-per-node" -> "PET_NPROC_PER_NODE".
std::string variable_of(std::string_view names) {
  std::string name = "PET_";
  for (const char c : split_names(names).back().substr(2))
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

/// Applies the PET_* variables; typed options are applied later and override them.
void take_variables(TorchWords& torch, const Surroundings& around) {
  for (const ForeignDef<TorchWords>& def : torchrun_table()) {
    const std::string name = variable_of(def.shape.names);
    const std::optional<std::string> value = around.variable(name);
    if (!value || def.apply == nullptr) continue;
    if (def.shape.argument.empty() && *value != "0" && *value != "1")
      usage_error(fmt::format("torchrun: {} must be 0 or 1, not '{}'", name, *value),
                  "set it to 0 or 1");
    if (def.shape.argument.empty() && *value == "0") continue;
    def.apply(torch, {.name = name, .values = {*value}});
  }
}

int integer_of(const std::string& what, const std::string& text, int least) {
  const std::optional<int> value = whole_number<int>(text);
  if (!value || *value < least)
    usage_error(fmt::format("torchrun: {} must be an integer, not '{}'", what, text),
                fmt::format("give an integer of at least {}", least));
  return *value;
}

struct NodeCounts {
  int least = 1;
  int most = 1;
};

NodeCounts node_counts(const TorchWords& torch) {
  if (torch.standalone) return {};
  const std::size_t colon = torch.nodes.find(':');
  const int least = integer_of("--nnodes", torch.nodes.substr(0, colon), 1);
  if (colon == std::string::npos) return {least, least};
  const int most = integer_of("--nnodes", torch.nodes.substr(colon + 1), 1);
  if (most < least)
    usage_error(fmt::format("torchrun: --nnodes {}: MIN is greater than MAX", torch.nodes),
                fmt::format("did you mean {}:{}?", most, least));
  return {least, most};
}

/// Returns whether the nodes find each other at the endpoint, and may come and go.
bool is_elastic(const TorchWords& torch, const NodeCounts& nodes) {
  const bool numbered = nodes.most == 1 || torch.backend == "static" || torch.node_rank;
  return nodes.least != nodes.most || !numbered;
}

int rank_count(const TorchWords& torch, const Surroundings& around) {
  if (torch.ranks == "cpu") return around.cores();
  if (torch.ranks != "gpu" && torch.ranks != "auto")
    return integer_of("--nproc-per-node (auto, gpu, cpu or N)", torch.ranks, 1);
  const int gpus = around.gpus();
  if (gpus > 0) return gpus;
  if (torch.ranks == "gpu")
    throw Error(ErrorKind::config, "torchrun: --nproc-per-node gpu, but this node has no GPU",
                "--nproc-per-node auto uses its cores instead");
  return around.cores();
}

struct Master {
  std::string host;  // empty: not given
  std::string port;
};

/// Splits "host:port" or "[::1]:29500".
Master split_endpoint(std::string_view text, std::string_view usual_port) {
  const std::size_t colon = text.rfind(':');
  const bool has_port = colon != std::string_view::npos && text.find(']', colon) == text.npos &&
                        (text.front() == '[' || text.find(':') == colon);
  return {std::string(text.substr(0, has_port ? colon : text.size())),
          std::string(has_port ? text.substr(colon + 1) : usual_port)};
}

std::string without_brackets(const std::string& host) {
  return host.size() > 2 && host.front() == '[' ? host.substr(1, host.size() - 2) : host;
}

Master master_of(const TorchWords& torch, int nodes) {
  const bool is_static = torch.backend == "static";
  Master master;
  if (!torch.endpoint.empty() && (is_static || nodes > 1)) {
    master = split_endpoint(torch.endpoint, is_static ? kStaticPort : kC10dPort);
  } else if (is_static || nodes > 1) {
    master = {torch.master_addr.value_or(""), torch.master_port.value_or("")};
  }
  if (nodes > 1 && master.host.empty()) master.host = "127.0.0.1";  // torchrun's default
  if (nodes > 1 && master.port.empty()) master.port = kStaticPort;
  master.host = without_brackets(master.host);
  return master;
}

int node_rank_of(const TorchWords& torch, int nodes) {
  if (nodes == 1) return 0;
  const int rank = integer_of("--node-rank", torch.node_rank.value_or("0"), 0);
  if (rank >= nodes)
    usage_error(fmt::format("torchrun: --node-rank {} is out of range for {} nodes", rank, nodes),
                "node ranks start at 0");
  return rank;
}

/// Refuses rendezvous backends that need a server of their own.
void check_backend(const TorchWords& torch, const NodeCounts& nodes) {
  if (nodes.most == 1 || torch.backend == "static" || torch.backend == "c10d") return;
  usage_error(fmt::format("torchrun: --rdzv-backend {} is not supported", torch.backend),
              "use c10d: its endpoint is the address of one of the nodes");
}

/// Adds the words of a node whose job has its root at the endpoint.
void add_join(const TorchWords& torch, const NodeCounts& nodes, int ranks, Disguised& out) {
  const std::string count = fmt::format("{}:{}", nodes.least, nodes.most);
  if (torch.backend == "static")
    usage_error(fmt::format("torchrun: --nnodes {} needs --rdzv-backend c10d", count),
                "or start the job once, from one machine: dslaunch --hostfile FILE "
                "--nodes MIN:MAX --ppn N -- PROGRAM (docs/elastic.md)");
  if (torch.endpoint.empty())
    usage_error(fmt::format("torchrun: --nnodes {} needs --rdzv-endpoint HOST:PORT", count),
                "give every node the address of the one that is to be the root");
  const Master root = split_endpoint(torch.endpoint, kC10dPort);
  out.words = {"agent", "--join"};
  out.add("--root", root.host + ":" + root.port);
  out.add("--nodes", count);
  out.add("--slots", std::to_string(ranks));
  out.add("--admit", "now");  // torchrun stops all ranks for a node that joins
  out.add("--max-restarts", torch.max_restarts);
  if (torch.run_id != "none") out.add("--job-id", torch.run_id);
  if (!torch.local_addr.empty()) out.add("--node-name", without_brackets(torch.local_addr));
}

/// Adds the words of one node of a job whose nodes are started separately.
void add_part(const TorchWords& torch, int node_rank, int nodes, int ranks, Disguised& out) {
  const Master master = master_of(torch, nodes);
  out.words = {"--part", fmt::format("{}/{}:{}", node_rank, nodes, torch.run_id), "-n",
               std::to_string(ranks)};
  if (!master.host.empty()) out.add("--master-addr", master.host);
  if (!master.port.empty()) out.add("--master-port", master.port);
  if (torch.max_restarts != "0") out.add("--max-restarts", torch.max_restarts);
  if (!torch.local_addr.empty())
    out.notes.push_back(fmt::format("--local-addr has no effect: {}", kOfTorch));
}

/// `first_ranks`: the first rank of each node that this command may start ranks on.
void add_logs(const TorchWords& torch, const std::vector<int>& first_ranks, Disguised& out) {
  const bool files = torch.redirects != "0" || torch.tee != "0";
  if (files && torch.log_dir.empty())
    out.notes.emplace_back("-r and -t have no effect without --log-dir: all output is shown");
  if (files && !torch.log_dir.empty()) {
    out.add("--log-dir", torch.log_dir);
    if (torch.redirects == "3" && torch.tee == "0") out.add("--show", "none");
    if (torch.redirects == "1" && torch.tee == "0") out.add("--show", "err");
    if (torch.redirects != "0" && torch.redirects != "1" && torch.redirects != "3")
      out.notes.push_back(
          fmt::format("-r {} hides nothing: both streams are shown and kept", torch.redirects));
  }
  if (torch.shown_ranks.empty()) return;
  std::string list;
  for (const int first : first_ranks)
    for (const std::string_view rank : split(torch.shown_ranks, ',')) {
      const int local = integer_of("--local-ranks-filter", std::string(rank), 0);
      list += fmt::format("{}{}", list.empty() ? "" : ",", first + local);
    }
  out.add("--show", list);
}

}  // namespace

Disguised translate_torchrun(std::string_view program, std::span<const std::string> words,
                             const Surroundings& around) {
  const std::vector<ForeignOption> shapes = shapes_of(torchrun_table());
  const ForeignWords read = read_foreign(program, shapes, Spelling::argparse, words);
  TorchWords torch;
  take_variables(torch, around);
  apply_foreign(torchrun_table(), read, torch);
  const NodeCounts nodes = node_counts(torch);
  check_backend(torch, nodes);
  const bool elastic = is_elastic(torch, nodes);
  const int ranks = rank_count(torch, around);
  std::vector<int> first_ranks;
  Disguised out;
  out.notes = notes_of(shapes, read);
  if (elastic) {
    add_join(torch, nodes, ranks, out);
    for (int node = 0; node < nodes.most; ++node) first_ranks.push_back(node * ranks);
  } else {
    const int node_rank = node_rank_of(torch, nodes.most);
    add_part(torch, node_rank, nodes.most, ranks, out);
    first_ranks = {node_rank * ranks};
  }
  if (torch.role != "default") out.add("--role", torch.role);
  if (torch.grace) out.add("--grace", *torch.grace);
  if (torch.bind) out.add("--bind", *torch.bind);
  add_logs(torch, first_ranks, out);
  const std::vector<std::string> command =
      program_words(program, torch.form, words.subspan(read.rest), around);
  out.words.insert(out.words.end(), command.begin(), command.end());
  return out;
}

}  // namespace ds::launcher
