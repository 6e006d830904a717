// Option table of Open MPI 4 and 5 (PRRTE), MPICH and Intel MPI.
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "engine/base/split.h"
#include "launcher/cli/option_table.h"
#include "launcher/disguise/mpirun_words.h"

namespace ds::launcher {

namespace {

using Given = ForeignGiven;

std::vector<std::string> split_list(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(text, at))
    if (!part.empty()) parts.emplace_back(part);
  return parts;
}

void add_variable(MpiWords& part, const Given& given) {
  const std::string& text = given.values[0];
  const std::size_t equals = text.find('=');
  MpiVariable variable{text.substr(0, equals)};
  if (equals != std::string::npos) variable.value = text.substr(equals + 1);
  part.variables.push_back(std::move(variable));
}

void add_pair(MpiWords& part, const Given& given) {
  part.hydra = true;
  part.variables.push_back({given.values[0], given.values[1]});
}

void add_names(MpiWords& part, const Given& given) {
  part.hydra = true;
  for (const std::string& name : split_list(given.values[0], ',')) part.variables.push_back({name});
}

template <std::optional<std::string> MpiWords::*member>
void set(MpiWords& part, const Given& given) {
  part.*member = given.values[0];
  part.job_option = given.name;
}

template <std::optional<std::string> MpiWords::*member>
void set_of_hydra(MpiWords& part, const Given& given) {
  set<member>(part, given);
  part.hydra = true;
}

/// Reads slot, node, ppr:8:node:PE=4, core:OVERSUBSCRIBE, ...
void set_map(MpiWords& part, const Given& given) {
  const std::vector<std::string> parts = split_list(given.values[0], ':');
  part.job_option = given.name;
  std::size_t modifiers = 1;
  if (!parts.empty() && parts[0] == "ppr") {
    if (parts.size() < 3 || parts[2] != "node")
      usage_error(fmt::format("mpirun: {} {} is not supported", given.name, given.values[0]),
                  "use ppr:N:node for N ranks on every host");
    part.per_host = parts[1];
    modifiers = 3;
  } else if (!parts.empty() && parts[0] == "node") {
    part.map_by = "node";
  } else if (!parts.empty() && (parts[0] == "seq" || parts[0] == "rankfile")) {
    usage_error(fmt::format("mpirun: {} {} is not supported", given.name, given.values[0]),
                "use slot (fill one host after the other) or node (go round the hosts)");
  }
  for (std::size_t i = std::min(modifiers, parts.size()); i < parts.size(); ++i) {
    std::string modifier = parts[i];
    for (char& c : modifier) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    if (modifier == "OVERSUBSCRIBE") part.oversubscribe = true;
    if (modifier.starts_with("PE="))
      part.notes.push_back(fmt::format(
          "{} has no effect: dslaunch's --bind cores divides the cores evenly", parts[i]));
  }
}

/// Reads core, socket:overload-allowed, none, ...
void set_bind(MpiWords& part, const Given& given) {
  const std::vector<std::string> parts = split_list(given.values[0], ':');
  const std::string what = parts.empty() ? "" : parts[0];
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), what) != names.end();
  };
  part.job_option = given.name;
  if (what == "none") {
    part.bind = std::nullopt;
  } else if (is_one_of({"core", "hwthread"})) {
    const bool shared = std::find(parts.begin(), parts.end(), "overload-allowed") != parts.end();
    part.bind = shared ? "numa" : "cores";  // --bind cores gives each core to one rank
  } else if (is_one_of({"numa", "socket", "package", "l1cache", "l2cache", "l3cache"})) {
    part.bind = "numa";
  } else {
    part.notes.push_back(fmt::format(
        "{} {} has no effect: dslaunch binds to cores or to a NUMA node", given.name, what));
  }
}

/// Reads --mca NAME VALUE: takes hosts and transport, and notes the choice of modules.
void take_module(MpiWords& part, const Given& given) {
  const std::string& name = given.values[0];
  const std::string& value = given.values[1];
  if (name == "orte_default_hostfile" || name == "prte_default_hostfile") {
    part.hostfile = value;
  } else if ((name == "plm_rsh_agent" || name == "plm_ssh_agent") &&
             split_list(value, '/').back() != "ssh" && split_list(value, '/').back() != "rsh") {
    part.rsh_agent = value;
  } else if (name == "rmaps_base_oversubscribe" && value != "0") {
    part.oversubscribe = true;
  } else if (std::find(part.modules.begin(), part.modules.end(), name) == part.modules.end()) {
    part.modules.push_back(name);
  }
}

/// Reads Open MPI 5's --output tag,timestamp,dir=DIR.
void set_output(MpiWords& part, const Given& given) {
  for (const std::string& word : split_list(given.values[0], ',')) {
    if (word.starts_with("tag")) {
      part.prefix = "[1,{rank}]<std{stream}>: ";
    } else if (word == "timestamp") {
      part.timestamps = true;
    } else if (word.starts_with("dir=") || word.starts_with("file=")) {
      part.log_dir = word.substr(word.find('=') + 1);
    } else {
      part.notes.push_back(fmt::format("--output {} has no effect", word));
    }
  }
}

constexpr std::string_view kNoCoreList = "dslaunch's --bind cores divides the node's cores";
constexpr std::string_view kOwnWay =
    "dslaunch connects to nodes itself; see --transport, ~/.ssh/config";
constexpr std::string_view kFirstFailure =
    "the first failure stops the job; use --max-restarts N to restart it";
constexpr std::string_view kCopy = "copy it to every node first, for example with dslaunch exec";
constexpr std::string_view kJoinLines = "write its lines here, separated by :";
constexpr std::string_view kDebug = "use dslaunch's --dry-run, --verdict and --log-level";
constexpr std::string_view kModules =
    "modules of Open MPI are not used; use --iface to choose a network";

constexpr ForeignDef<MpiWords> kMpirunOptions[] = {
    {{"-np,-n,-c", "N", Fate::taken, "-n"}, take<&MpiWords::ranks>},
    {{"-N,-npernode,-ppn,-perhost,-grr", "N", Fate::taken, "--ppn"},
     [](MpiWords& part, const Given& given) {
       set<&MpiWords::per_host>(part, given);
       const std::string& name = given.name;
       part.hydra = part.hydra || name.ends_with("ppn") || name.ends_with("perhost") ||
                    name.ends_with("grr");
     }},
    {{"-pernode", "", Fate::taken, "--ppn 1"},
     [](MpiWords& part, const Given&) { part.per_host = "1"; }},
    {{"-map-by", "POLICY", Fate::taken,
      "ppr:N:node: --ppn N; node: --map-by node; :OVERSUBSCRIBE; all others: --map-by slot"},
     set_map},
    {{"-bynode,-rr", "", Fate::taken, "--map-by node"},
     [](MpiWords& part, const Given&) { part.map_by = "node"; }},
    {{"-byslot,-bycore", "", Fate::quiet, "ranks fill one host after the other by default"}},
    {{"-rank-by", "POLICY", Fate::noted, "ranks are numbered in the order of -map-by"}},
    {{"-H,-host,-hosts", "LIST", Fate::taken, "--host"},
     [](MpiWords& part, const Given& given) {
       part.hydra = part.hydra || given.name.ends_with("hosts");
       part.hosts.push_back(given.values[0]);
     }},
    {{"-hostfile,-machinefile,-default-hostfile", "FILE", Fate::taken, "--hostfile"},
     set<&MpiWords::hostfile>},
    {{"-f", "FILE", Fate::taken, "--hostfile (Hydra)"}, set_of_hydra<&MpiWords::hostfile>},
    {{"-x", "NAME[=VALUE]", Fate::taken, "-x; a NAME that is not set here is skipped, with a line"},
     add_variable},
    {{"-genv,-env", "NAME VALUE", Fate::taken, "-x NAME=VALUE"}, add_pair},
    {{"-genvlist,-envlist", "NAMES", Fate::taken, "-x of each"}, add_names},
    {{"-genvall,-envall", "", Fate::taken, "--env all, which is Hydra's default"},
     [](MpiWords& part, const Given&) { part.env_policy = "all"; }},
    {{"-genvnone,-envnone", "", Fate::taken, "--env none"},
     [](MpiWords& part, const Given&) { part.env_policy = "none"; }},
    {{"-genvexcl,-envexcl", "NAMES", Fate::refused,
      "use -genvlist to name the forwarded variables"}},
    {{"-wdir,-wd", "DIR", Fate::taken, "--wdir"}, take<&MpiWords::wdir>},
    {{"-tag-output", "", Fate::taken, "--prefix '[1,{rank}]<std{stream}>:'"},
     [](MpiWords& part, const Given&) { part.prefix = "[1,{rank}]<std{stream}>:"; }},
    {{"-l,-prepend-rank", "", Fate::taken, "--prefix '[{rank}] '"},
     [](MpiWords& part, const Given&) {
       part.prefix = "[{rank}] ";
       part.hydra = true;
     }},
    {{"-prepend-pattern", "TEXT", Fate::noted, "see dslaunch's --prefix"}},
    {{"-timestamp-output", "", Fate::taken, "--timestamps"}, take_flag<&MpiWords::timestamps>},
    {{"-output-filename", "DIR", Fate::taken, "--log-dir"}, set<&MpiWords::log_dir>},
    {{"-outfile-pattern,-errfile-pattern", "TEXT", Fate::refused, "see -output-filename DIR"}},
    {{"-output", "LIST", Fate::taken,
      "tag, timestamp and dir=DIR, like the options of the same names"},
     set_output},
    {{"-stdin", "WHO", Fate::taken, "--stdin (default: rank 0)"}, set<&MpiWords::input>},
    {{"-merge-stderr-to-stdout,-xml", "", Fate::refused, "use 2>&1 after the command"}},
    {{"-oversubscribe", "", Fate::taken, "--oversubscribe"}, take_flag<&MpiWords::oversubscribe>},
    {{"-nooversubscribe", "", Fate::quiet, "this is the default"}},
    {{"-timeout", "SECONDS", Fate::taken, "--timeout"}, set<&MpiWords::timeout>},
    {{"-max-restarts", "N", Fate::taken, "--max-restarts"}, set<&MpiWords::max_restarts>},
    {{"-iface", "NAME", Fate::taken, "--iface"}, set_of_hydra<&MpiWords::iface>},
    {{"-do-not-launch", "", Fate::taken, "--dry-run"}, take_flag<&MpiWords::dry_run>},
    {{"-mca,-omca,-prtemca,-pmixmca", "NAME VALUE", Fate::taken,
      "plm_rsh_agent: --transport exec; ..._default_hostfile: --hostfile; others have no effect"},
     take_module},
    {{"-gmca", "NAME VALUE", Fate::noted, kModules}},
    {{"-allow-run-as-root", "", Fate::quiet, "root may run dslaunch"}},
    {{"-prefix", "DIR", Fate::noted,
      "no MPI is needed on the nodes; use -x LD_LIBRARY_PATH for programs"}},
    {{"-noprefix", "", Fate::quiet, "see -prefix"}},
    {{"-path", "DIR", Fate::refused, "give the full path of the program"}},
    {{"-bind-to,-binding", "WHAT", Fate::taken,
      "core, hwthread: --bind cores; numa, socket and caches: --bind numa; none: none"},
     set_bind},
    {{"-bind-to-core", "", Fate::taken, "--bind cores"},
     [](MpiWords& part, const Given&) { part.bind = "cores"; }},
    {{"-bind-to-socket", "", Fate::taken, "--bind numa"},
     [](MpiWords& part, const Given&) { part.bind = "numa"; }},
    {{"-membind", "WHAT", Fate::noted, "--bind prefers memory of the same NUMA node"}},
    {{"-use-hwthread-cpus", "", Fate::noted, kNoCoreList}},
    {{"-cpu-set,-cpu-list,-cpus-per-proc,-cpus-per-rank", "WHAT", Fate::noted, kNoCoreList}},
    {{"-gpus-per-proc,-gpu-subdevs-per-proc", "N", Fate::noted, "see dslaunch's --devices own"}},
    {{"-npersocket,-ppr", "WHAT", Fate::refused, "use -N for the number of ranks on a host"}},
    {{"-rankfile,-rf,-cartofile,-cf", "FILE", Fate::refused,
      "use -hostfile to set the slots of hosts"}},
    {{"-nolocal,-skip-launch-node", "", Fate::refused, "remove the local host from the list"}},
    {{"-report-bindings", "", Fate::taken, "--report-bindings"},
     take_flag<&MpiWords::report_bindings>},
    {{"-display-map,-display-allocation,-display-devel-map,-display-devel-allocation", "",
      Fate::noted, kDebug}},
    {{"-display-diffable-map,-display-topo,-info,-print-rank-map", "", Fate::noted, kDebug}},
    {{"-display,-runtime-options", "LIST", Fate::noted, kDebug}},
    {{"-report-state-on-timeout,-get-stack-traces,-report-child-jobs-separately", "", Fate::noted,
      kDebug}},
    {{"-show-progress,-print-all-exitcodes,-silent-abort,-profile", "", Fate::noted, kDebug}},
    {{"-report-pid,-report-uri,-report-events", "WHAT", Fate::noted, kDebug}},
    {{"-v,-verbose,-q,-quiet,-d,-debug-devel,-debug-daemons,-leave-session-attached", "",
      Fate::quiet, "see dslaunch's --log-level"}},
    {{"-enable-recovery,-continuous,-disable-auto-cleanup", "", Fate::refused, kFirstFailure}},
    {{"-disable-recovery", "", Fate::quiet, kFirstFailure}},
    {{"-launcher,-bootstrap,-rmk", "NAME", Fate::noted, kOwnWay}},
    {{"-launcher-exec,-bootstrap-exec,-launch-agent", "PROGRAM", Fate::noted, kOwnWay}},
    {{"-enable-x,-disable-x,-novm,-do-not-resolve,-use-regexp,-pmi-port", "", Fate::quiet,
      kOwnWay}},
    {{"-fwd-mpirun-port,-enable-instant-on-support,-disable-hostname-propagation", "", Fate::quiet,
      kOwnWay}},
    {{"-personality,-topolib,-demux,-max-vm-size,-usize,-localhost,-nameserver", "WHAT",
      Fate::noted, "it applies only inside an MPI library"}},
    {{"-order-nodes", "HOW", Fate::noted, "nodes keep the order of the list"}},
    {{"-preload-binary,-s", "", Fate::refused, kCopy}},
    {{"-preload-files", "FILES", Fate::refused, kCopy}},
    {{"-set-cwd-to-session-dir", "", Fate::refused, "use -wdir DIR, a folder on every node"}},
    {{"-app,-configfile,-am,-tune", "FILE", Fate::refused, kJoinLines}},
    {{"-index-argv-by-rank,-output-proctable,-dvm,-debug,-tv", "", Fate::refused,
      "it needs an MPI library"}},
    {{"-debugger,-xterm,-hnp,-ompi-server,-xml-file", "WHAT", Fate::refused,
      "it needs an MPI library"}},
};

}  // namespace

std::span<const ForeignDef<MpiWords>> mpi_table() { return kMpirunOptions; }

}  // namespace ds::launcher
