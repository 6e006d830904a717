// Option table of Open MPI 4 and 5 (PRRTE), MPICH and Intel MPI.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/cli/option_table.h"
#include "launcher/disguise/mpirun_words.h"

namespace ds::launcher {

namespace {

using Given = ForeignGiven;

void add_variable(MpiWords& part, const Given& given) {
  const std::string& text = given.values[0];
  const std::size_t equals = text.find('=');
  MpiVariable variable{text.substr(0, equals)};
  if (equals != std::string::npos) variable.value = text.substr(equals + 1);
  part.variables.push_back(std::move(variable));
}

/// Returns the variables of every program for -genv, and those of one program for -env.
std::vector<MpiVariable>& list_for(MpiWords& part, const Given& given) {
  part.hydra = true;
  return given.name.find("-genv") == std::string::npos ? part.variables : part.common;
}

void add_pair(MpiWords& part, const Given& given) {
  const std::string& first = given.values[0];
  const std::size_t equals = first.find('=');
  if (given.values.size() == 2)
    list_for(part, given).push_back({first, given.values[1]});
  else
    list_for(part, given).push_back({first.substr(0, equals), first.substr(equals + 1)});
}

void add_names(MpiWords& part, const Given& given) {
  for (const std::string& name : split_list(given.values[0], ','))
    list_for(part, given).push_back({name});
}

template <std::optional<std::string> MpiWords::*member>
void set_of_hydra(MpiWords& part, const Given& given) {
  set<member>(part, given);
  part.hydra = true;
}

/// Reads Hydra's pattern: %r is the rank, %h the host, %p the number of its node, %% a percent
/// sign.
void take_pattern(MpiWords& part, const Given& given) {
  part.hydra = true;
  std::string prefix;
  const std::string& text = given.values[0];
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '%' && i + 1 < text.size() ? text[++i] : '\0';
    if (next == '\0') {
      prefix += text[i];
    } else {
      prefix += next == 'r'   ? "{rank}"
                : next == 'h' ? "{host}"
                : next == 'p' ? "{node_rank}"
                              : std::string(1, next);
    }
  }
  part.prefix = prefix;
}

/// Reads Open MPI 5's --output tag,timestamp,dir=DIR:nocopy, whose qualifiers follow a ':'.
void set_output(MpiWords& part, const Given& given) {
  constexpr std::string_view kWithoutEffect[] = {"merge-stderr-to-stdout", "merge", "xml", "raw",
                                                 "pattern", "nocopy", "copy"};
  for (const std::string& all : split_list(given.values[0], ',')) {
    for (const std::string& word : split_list(all, ':')) {
      const std::string_view key = std::string_view(word).substr(0, word.find('='));
      if (key.starts_with("tag")) {
        part.prefix = "[1,{rank}]<std{stream}>: ";
      } else if (key == "rank") {
        part.prefix = "[{rank}]<std{stream}>: ";
      } else if (key == "timestamp") {
        part.timestamps = true;
      } else if (key == "dir" || key == "directory" || key == "file" || key == "filename") {
        part.log_dir = word.substr(std::min(key.size() + 1, word.size()));
      } else if (std::ranges::find(kWithoutEffect, key) != std::end(kWithoutEffect)) {
        part.notes.push_back(fmt::format("--output {} has no effect", word));
      } else {
        usage_error(fmt::format("{}: {} {}: '{}' is not known", part.program, given.name,
                                given.values[0], word),
                    "it takes tag, rank, timestamp and dir=DIR, separated by ','");
      }
    }
  }
}

constexpr std::string_view kOwnWay =
    "dslaunch connects to nodes itself; see --transport, ~/.ssh/config";
constexpr std::string_view kFirstFailure =
    "the first failure stops the job; use --max-restarts N to restart it";
constexpr std::string_view kCopy = "copy it to every node first: dslaunch copy";
constexpr std::string_view kJoinLines = "write its lines here, separated by :";
constexpr std::string_view kDebugger =
    "start dslaunch under the debugger: totalview -args dslaunch ...";
constexpr std::string_view kDebug = "use dslaunch's --dry-run, --verdict and --log-level";

constexpr ForeignDef<MpiWords> kMpirunOptions[] = {
    {{"-V,-version", "", Fate::taken, "print the version"}, take_flag<&MpiWords::version>},
    {{"-np,-n,-c", "N", Fate::taken, "-n"}, take<&MpiWords::ranks>},
    {{"-N,-npernode,-ppn,-perhost,-grr", "N", Fate::taken, "--ppn"},
     [](MpiWords& part, const Given& given) {
       part.per_host = given.values[0];
       const std::string& name = given.name;
       part.hydra = part.hydra || name.ends_with("ppn") || name.ends_with("perhost") ||
                    name.ends_with("grr");
     }},
    {{"-pernode", "", Fate::taken, "--ppn 1"},
     [](MpiWords& part, const Given&) { part.per_host = "1"; }},
    {{"-map-by", "POLICY", Fate::taken,
      "--map-by: slot, node, seq, numa, socket, l3cache, core, hwthread, ppr:N:PART, with :PE=N, "
      ":SPAN, "
      ":OVERSUBSCRIBE and :NOLOCAL; rankfile and pe-list are refused"},
     set_map},
    {{"-bynode,-rr", "", Fate::taken, "--map-by node"},
     [](MpiWords& part, const Given&) { part.map_by = "node"; }},
    {{"-byslot", "", Fate::taken, "--map-by slot"},
     [](MpiWords& part, const Given&) { part.map_by = "slot"; }},
    {{"-bycore", "", Fate::taken, "--map-by core"},
     [](MpiWords& part, const Given&) { part.map_by = "core"; }},
    {{"-rank-by", "POLICY", Fate::taken,
      "--rank-by: slot, node, fill; core and hwthread: fill; numa and socket: slot; span: noted"},
     set_rank},
    {{"-H,-host,-hosts", "LIST", Fate::taken, "--host"},
     [](MpiWords& part, const Given& given) {
       part.hydra = part.hydra || given.name.ends_with("hosts");
       part.hosts.push_back(given.values[0]);
     }},
    {{"-hosts-group", "LIST", Fate::taken, "--host, which knows ranges as n[1-4] too (Intel MPI)"},
     [](MpiWords& part, const Given& given) {
       part.hydra = true;
       part.hosts.push_back(given.values[0]);
     }},
    {{"-hostfile,-machinefile,-default-hostfile", "FILE", Fate::taken, "--hostfile"},
     set<&MpiWords::hostfile>},
    {{"-f", "FILE", Fate::taken, "--hostfile (Hydra)"}, set_of_hydra<&MpiWords::hostfile>},
    {{"-x", "NAME[=VALUE]", Fate::taken, "-x; a NAME that is not set here is skipped, with a line"},
     add_variable},
    {{"-genv,-env", kPairInOneOrTwo, Fate::taken, "-x NAME=VALUE"}, add_pair},
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
    {{"-prepend-pattern", "TEXT", Fate::taken,
      "--prefix, with %r as {rank}, %h as {host}, %p as {node_rank}"},
     take_pattern},
    {{"-timestamp-output,-prepend-timestamp", "", Fate::taken, "--timestamps"},
     take_flag<&MpiWords::timestamps>},
    {{"-output-filename", "DIR", Fate::taken, "--log-dir"}, set<&MpiWords::log_dir>},
    {{"-outfile-pattern,-errfile-pattern", "TEXT", Fate::refused, "see -output-filename DIR"}},
    {{"-output", "LIST", Fate::taken,
      "tag, rank, timestamp and dir=DIR, like the options of these names"},
     set_output},
    {{"-stdin", "WHO", Fate::taken, "--stdin (default: rank 0)"}, set<&MpiWords::input>},
    {{"-merge-stderr-to-stdout,-xml", "", Fate::refused, "use 2>&1 after the command"}},
    {{"-oversubscribe", "", Fate::taken, "--oversubscribe"}, take_flag<&MpiWords::oversubscribe>},
    {{"-nooversubscribe", "", Fate::quiet, "this is the default"}},
    {{"-timeout", "SECONDS", Fate::taken, "--timeout"}, set<&MpiWords::timeout>},
    {{"-max-restarts", "N", Fate::taken, "--max-restarts"}, set<&MpiWords::max_restarts>},
    {{"-iface", "NAME", Fate::taken, "--iface"}, set_of_hydra<&MpiWords::iface>},
    {{"-do-not-launch", "", Fate::taken, "--dry-run"}, take_flag<&MpiWords::dry_run>},
    {{"-mca,-omca,-gmca,-prtemca,-pmixmca", "NAME VALUE", Fate::taken,
      "plm_rsh_agent, ..._default_hostfile, and policies of binding, mapping and ranking: as the "
      "options; others as variables of the ranks, such as OMPI_MCA_btl"},
     take_module},
    {{"-allow-run-as-root", "", Fate::quiet, "root may run dslaunch"}},
    {{"-prefix", "DIR", Fate::noted,
      "no MPI is needed on the nodes; use -x LD_LIBRARY_PATH for programs"}},
    {{"-noprefix", "", Fate::quiet, "see -prefix"}},
    {{"-path", "DIR", Fate::refused, "give the full path of the program"}},
    {{"-bind-to,-binding", "WHAT", Fate::taken,
      "--bind: none, hwthread, core, l3cache, numa, socket; core:N: N cores for each rank; "
      ":report: --report-bindings; other qualifiers change nothing; cpu-list and user are noted. "
      "Ranks beyond the last part begin again at the first"},
     set_bind},
    {{"-bind-to-core", "", Fate::taken, "--bind core"},
     [](MpiWords& part, const Given&) { part.bind = "core"; }},
    {{"-bind-to-socket", "", Fate::taken, "--bind socket"},
     [](MpiWords& part, const Given&) { part.bind = "socket"; }},
    {{"-bind-to-none", "", Fate::taken, "--bind none"},
     [](MpiWords& part, const Given&) { part.bind = "none"; }},
    {{"-membind", "WHAT", Fate::noted, "--bind prefers memory of the same NUMA node"}},
    {{"-use-hwthread-cpus", "", Fate::noted, "cores are counted; see -bind-to hwthread"}},
    {{"-cpu-set,-cpu-list", "WHAT", Fate::noted, "start dslaunch or sshd with taskset instead"}},
    {{"-cpus-per-proc,-cpus-per-rank", "N", Fate::taken, "--map-by ...:pe=N"},
     take<&MpiWords::cores_per_rank>},
    {{"-gpus-per-proc,-gpu-subdevs-per-proc", "N", Fate::noted, "see dslaunch's --devices own"}},
    {{"-npersocket", "N", Fate::taken, "--map-by ppr:N:socket --bind socket"},
     [](MpiWords& part, const Given& given) {
       part.map_by = "ppr:" + given.values[0] + ":socket";
       part.bind = "socket";
     }},
    {{"-ppr", "N:PART", Fate::taken, "--map-by ppr:N:PART"},
     [](MpiWords& part, const Given& given) { part.map_by = "ppr:" + given.values[0]; }},
    {{"-rankfile,-rf,-cartofile,-cf", "FILE", Fate::refused,
      "use -hostfile to set the slots of hosts"}},
    {{"-nolocal,-skip-launch-node", "", Fate::taken, "--no-local"}, take_flag<&MpiWords::no_local>},
    {{"-report-bindings", "", Fate::taken, "--report-bindings"},
     take_flag<&MpiWords::report_bindings>},
    {{"-display-map,-display-devel-map,-display-diffable-map,-print-rank-map", "", Fate::taken,
      "--display-map: dslaunch's own table, on standard error"},
     take_flag<&MpiWords::display_map>},
    {{"-display", "LIST", Fate::taken, "map: --display-map; bind: --report-bindings; others noted"},
     set_display},
    {{"-display-allocation,-display-devel-allocation,-display-topo,-info", "", Fate::noted,
      kDebug}},
    {{"-runtime-options", "LIST", Fate::noted, kDebug}},
    {{"-report-state-on-timeout,-get-stack-traces,-report-child-jobs-separately", "", Fate::noted,
      kDebug}},
    {{"-show-progress,-print-all-exitcodes,-silent-abort,-profile", "", Fate::noted, kDebug}},
    {{"-report-pid,-report-uri,-report-events", "WHAT", Fate::noted, kDebug}},
    {{"-v,-verbose,-q,-quiet,-d,-debug-devel,-debug-daemons,-debug-daemons-file,-leave-session-"
      "attached",
      "", Fate::quiet, "see dslaunch's --log-level"}},
    {{"-enable-recovery,-continuous,-disable-auto-cleanup", "", Fate::refused, kFirstFailure}},
    {{"-disable-recovery", "", Fate::quiet, kFirstFailure}},
    {{"-launcher,-bootstrap,-rmk", "NAME", Fate::noted, kOwnWay}},
    {{"-launcher-exec,-bootstrap-exec", "PROGRAM", Fate::taken,
      "--transport exec:PROGRAM, unless it is an ssh or rsh"},
     [](MpiWords& part, const Given& given) {
       part.hydra = true;
       take_agent(part, given.values[0]);
     }},
    {{"-launch-agent", "PROGRAM", Fate::noted, kOwnWay}},
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
    {{"-index-argv-by-rank,-output-proctable,-dvm", "", Fate::refused, "it needs an MPI library"}},
    {{"-debug,-tv", "", Fate::refused, kDebugger}},
    {{"-gdb,-mps,-aps", "", Fate::refused, "it needs an MPI library"}},
    {{"-gtool,-gtoolfile,-gdb-args", "WHAT", Fate::refused, "it needs an MPI library"}},
    {{"-prot", "", Fate::quiet, "see -v"}},
    {{"-debugger", "LIST", Fate::refused, kDebugger}},
    {{"-xterm,-hnp,-ompi-server,-xml-file", "WHAT", Fate::refused, "it needs an MPI library"}},
};

}  // namespace

std::span<const ForeignDef<MpiWords>> mpi_table() { return kMpirunOptions; }

}  // namespace ds::launcher
