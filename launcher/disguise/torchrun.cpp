// Option table of torchrun, and its translation to --part, -n, --master-addr and --master-port.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/base/whole_number.h"
#include "launcher/cli/option_table.h"
#include "launcher/disguise/disguise.h"

namespace ds::launcher {

namespace {

constexpr std::string_view kStaticPort = "29500";
constexpr std::string_view kC10dPort = "29400";

struct TorchWords {
  std::string nodes = "1";
  std::string ranks = "1";
  std::optional<std::string> node_rank{}, master_addr{}, master_port{};
  std::string backend = "static";
  std::string endpoint{};
  std::string run_id = "none";
  bool standalone = false;
  PythonForm form{};
  std::string max_restarts = "0";
  std::string role = "default";
  std::string log_dir{};
  std::string redirects = "0", tee = "0";
  std::string shown_ranks{};
  std::optional<std::string> grace{}, bind{};
};

using Given = ForeignGiven;
constexpr std::string_view kOfTorch = "it applies to torchrun's own rendezvous, which is not used";

void set_binding(TorchWords& part, const Given& given) {
  const std::string& mode = given.values[0];
  if (mode == "node" || mode == "socket") {
    part.bind = "numa";
  } else if (mode == "exclusive" || mode == "core-complex") {
    part.bind = "cores";
  } else {
    usage_error(fmt::format("torchrun: --numa-binding cannot be '{}'", mode),
                "choose one of: node, socket, exclusive, core-complex");
  }
}

constexpr ForeignDef<TorchWords> kTorchrunOptions[] = {
    {{"--nnodes", "N", Fate::taken,
      "--part RANK/N; N:N means N, but N:M is refused: start one dslaunch with --nodes N:M"},
     take<&TorchWords::nodes>},
    {{"--nproc-per-node", "N", Fate::taken,
      "-n N; auto: the GPUs of this node, else its cores; gpu; cpu"},
     take<&TorchWords::ranks>},
    {{"--node-rank", "N", Fate::taken, "--part N/NODES"}, take<&TorchWords::node_rank>},
    {{"--master-addr", "HOST", Fate::taken, "--master-addr; rank 0 itself listens there"},
     take<&TorchWords::master_addr>},
    {{"--master-port", "PORT", Fate::taken,
      "--master-port (default: 29500; on one node any free port)"},
     take<&TorchWords::master_port>},
    {{"--rdzv-backend", "NAME", Fate::taken,
      "static; c10d if the node rank is given; others are refused"},
     take<&TorchWords::backend>},
    {{"--rdzv-endpoint", "HOST:PORT", Fate::taken, "--master-addr and --master-port"},
     take<&TorchWords::endpoint>},
    {{"--rdzv-id", "ID", Fate::taken, "the ID of --part, in TORCHELASTIC_RUN_ID"},
     take<&TorchWords::run_id>},
    {{"--rdzv-conf", "LIST", Fate::noted, kOfTorch}},
    {{"--standalone", "", Fate::taken, "--part 0/1"}, take_flag<&TorchWords::standalone>},
    {{"--max-restarts", "N", Fate::taken, "--max-restarts, for this node's ranks"},
     take<&TorchWords::max_restarts>},
    {{"--monitor-interval", "SECONDS", Fate::quiet, "dslaunch notices the end of a rank at once"}},
    {{"--start-method", "NAME", Fate::quiet, "each rank is its own program"}},
    {{"--event-log-handler", "NAME", Fate::noted,
      "use dslaunch's --verdict for the result of a job"}},
    {{"--role", "NAME", Fate::taken, "--role"}, take<&TorchWords::role>},
    {{"-m,--module", "", Fate::taken, "python3 -u -m PROGRAM"},
     take_flag<&TorchWords::form, &PythonForm::module>},
    {{"--no-python", "", Fate::taken, "run PROGRAM itself"},
     take_flag<&TorchWords::form, &PythonForm::no_python>},
    {{"--run-path", "", Fate::quiet, "PROGRAM is run by python3 -u in any case"}},
    {{"--log-dir", "DIR", Fate::taken, "--log-dir, if -r or -t asks for files"},
     take<&TorchWords::log_dir>},
    {{"-r,--redirects", "N", Fate::taken,
      "with --log-dir: a file per rank; 3: show nothing, 1: show only standard error"},
     take<&TorchWords::redirects>},
    {{"-t,--tee", "N", Fate::taken, "with --log-dir: a file per rank besides the shown output"},
     take<&TorchWords::tee>},
    {{"--local-ranks-filter", "LIST", Fate::taken, "--show, with the ranks of these local ranks"},
     take<&TorchWords::shown_ranks>},
    {{"--duplicate-stdout-filters", "LIST", Fate::noted, "see dslaunch's --show and --fold"}},
    {{"--duplicate-stderr-filters", "LIST", Fate::noted, "see dslaunch's --show and --fold"}},
    {{"--local-addr", "HOST", Fate::noted, kOfTorch}},
    {{"--logs-specs", "NAME", Fate::refused, "it names a Python class; use dslaunch's --log-dir"}},
    {{"--numa-binding", "MODE", Fate::taken,
      "node, socket: --bind numa; exclusive, core-complex: --bind cores"},
     set_binding},
    {{"--signals-to-handle", "LIST", Fate::quiet,
      "HUP, INT and TERM stop the ranks, USR1 and USR2 are forwarded"}},
    {{"--shutdown-timeout", "SECONDS", Fate::taken, "--grace"}, take<&TorchWords::grace>},
    {{"--virtual-local-rank", "", Fate::refused, "remove it: a rank picks its GPU by LOCAL_RANK"}},
};

constexpr std::span<const ForeignDef<TorchWords>> kTorchrunTable(kTorchrunOptions);

/// Returns the variable of an option: "--nproc-per-node" -> "PET_NPROC_PER_NODE".
std::string variable_of(std::string_view names) {
  std::string name = "PET_";
  for (const char c : split_names(names).back().substr(2))
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

/// Applies the PET_* variables; typed options are applied later and override them.
void take_variables(TorchWords& torch, const Surroundings& around) {
  for (const ForeignDef<TorchWords>& def : kTorchrunTable) {
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

int node_count(const TorchWords& torch) {
  if (torch.standalone) return 1;
  const std::size_t colon = torch.nodes.find(':');
  if (colon == std::string::npos) return integer_of("--nnodes", torch.nodes, 1);
  const int least = integer_of("--nnodes", torch.nodes.substr(0, colon), 1);
  if (integer_of("--nnodes", torch.nodes.substr(colon + 1), 1) != least)
    usage_error(fmt::format("torchrun: --nnodes {}: nodes that start separately cannot come and go",
                            torch.nodes),
                fmt::format("start the job once, from one machine: dslaunch --hostfile FILE "
                            "--nodes {} --ppn N -- PROGRAM (docs/elastic.md)",
                            torch.nodes));
  return least;
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
  if (!is_static && torch.backend != "c10d" && nodes > 1)
    usage_error(fmt::format("torchrun: --rdzv-backend {} is not supported", torch.backend),
                "use --master-addr and --node-rank, or c10d with --node-rank");
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
  if (!torch.node_rank && torch.backend != "static")
    usage_error(
        fmt::format("torchrun: --rdzv-backend {} does not give nodes their ranks in advance",
                    torch.backend),
        "give the rank of this node with --node-rank N or PET_NODE_RANK");
  const int rank = integer_of("--node-rank", torch.node_rank.value_or("0"), 0);
  if (rank >= nodes)
    usage_error(fmt::format("torchrun: --node-rank {} is out of range for {} nodes", rank, nodes),
                "node ranks start at 0");
  return rank;
}

void add_logs(const TorchWords& torch, int first_rank, Disguised& out) {
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
  for (const std::string_view rank : split(torch.shown_ranks, ',')) {
    const int local = integer_of("--local-ranks-filter", std::string(rank), 0);
    list += fmt::format("{}{}", list.empty() ? "" : ",", first_rank + local);
  }
  out.add("--show", list);
}

}  // namespace

Disguised translate_torchrun(std::span<const std::string> words, const Surroundings& around) {
  const std::vector<ForeignOption> shapes = shapes_of(kTorchrunTable);
  const ForeignWords read = read_foreign("torchrun", shapes, Spelling::argparse, words);
  TorchWords torch;
  take_variables(torch, around);
  apply_foreign(kTorchrunTable, read, torch);
  const int nodes = node_count(torch);
  const int node_rank = node_rank_of(torch, nodes);
  const int ranks = rank_count(torch, around);
  const Master master = master_of(torch, nodes);
  Disguised out;
  out.notes = notes_of(shapes, read);
  out.words = {"--part", fmt::format("{}/{}:{}", node_rank, nodes, torch.run_id), "-n",
               std::to_string(ranks)};
  if (!master.host.empty()) out.add("--master-addr", master.host);
  if (!master.port.empty()) out.add("--master-port", master.port);
  if (torch.max_restarts != "0") out.add("--max-restarts", torch.max_restarts);
  if (torch.role != "default") out.add("--role", torch.role);
  if (torch.grace) out.add("--grace", *torch.grace);
  if (torch.bind) out.add("--bind", *torch.bind);
  add_logs(torch, node_rank * ranks, out);
  const std::vector<std::string> program =
      program_words("torchrun", torch.form, words.subspan(read.rest), around);
  out.words.insert(out.words.end(), program.begin(), program.end());
  return out;
}

std::vector<ForeignOption> torchrun_options() { return shapes_of(kTorchrunTable); }

}  // namespace ds::launcher
