// Option table of torchrun.
#include <fmt/format.h>

#include "launcher/cli/option_table.h"
#include "launcher/disguise/torchrun_words.h"

namespace ds::launcher {

namespace {

using Given = ForeignGiven;

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
    {{"--nnodes", "N|MIN:MAX", Fate::taken,
      "--part RANK/N; MIN:MAX, or N without a node rank: see below"},
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
    {{"--rdzv-backend", "NAME", Fate::taken, "static or c10d; etcd and others are refused"},
     take<&TorchWords::backend>},
    {{"--rdzv-endpoint", "HOST:PORT", Fate::taken,
      "--master-addr and --master-port; of an elastic job: --root"},
     take<&TorchWords::endpoint>},
    {{"--rdzv-id", "ID", Fate::taken,
      "the ID of --part; of an elastic job: --job-id; in TORCHELASTIC_RUN_ID"},
     take<&TorchWords::run_id>},
    {{"--rdzv-conf", "LIST", Fate::noted, kOfTorch}},
    {{"--standalone", "", Fate::taken, "--part 0/1"}, take_flag<&TorchWords::standalone>},
    {{"--max-restarts", "N", Fate::taken,
      "--max-restarts, for this node's ranks; of an elastic job: for all ranks"},
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
    {{"--local-addr", "HOST", Fate::taken, "of an elastic job: --node-name"},
     take<&TorchWords::local_addr>},
    {{"--logs-specs", "NAME", Fate::refused, "it names a Python class; use dslaunch's --log-dir"}},
    {{"--numa-binding", "MODE", Fate::taken,
      "node, socket: --bind numa; exclusive, core-complex: --bind cores"},
     set_binding},
    {{"--signals-to-handle", "LIST", Fate::quiet,
      "HUP, INT and TERM stop the ranks, USR1 and USR2 are forwarded"}},
    {{"--shutdown-timeout", "SECONDS", Fate::taken, "--grace"}, take<&TorchWords::grace>},
    {{"--virtual-local-rank", "", Fate::refused, "remove it: a rank picks its GPU by LOCAL_RANK"}},
};

}  // namespace

std::span<const ForeignDef<TorchWords>> torchrun_table() { return kTorchrunOptions; }

std::vector<ForeignOption> torchrun_options() { return shapes_of(torchrun_table()); }

}  // namespace ds::launcher
