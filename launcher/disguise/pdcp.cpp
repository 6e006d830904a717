// Option table of pdcp and rpdcp, and its translation to `dslaunch copy` and `rcopy`.
#include <fmt/format.h>

#include "engine/base/text_error.h"
#include "launcher/cli/command.h"
#include "launcher/cli/option_table.h"
#include "launcher/disguise/disguise.h"
#include "launcher/disguise/pdsh_hosts.h"
#include "launcher/disguise/pdsh_settings.h"
#include "launcher/disguise/pdsh_ssh_args.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {
namespace {

struct PdcpWords {
  PdshChoice hosts;
  std::string rcmd, user;
  std::string connect, time;  // numbers
  bool recursive = false, keep = false, version = false, help = false;
};

constexpr ForeignDef<PdcpWords> kPdcpOptions[] = {
    {{"-w", "TARGETS", Fate::taken, "-w; the targets of pdsh"},
     take_more<&PdcpWords::hosts, &PdshChoice::targets>},
    {{"-x", "HOSTS", Fate::taken, "they are left out of -w"},
     take_more<&PdcpWords::hosts, &PdshChoice::excluded>},
    {{"-g", "GROUPS", Fate::taken, "groups of pdsh"},
     take_more<&PdcpWords::hosts, &PdshChoice::groups>},
    {{"-X", "GROUPS", Fate::taken, "they are left out of -w"},
     take_more<&PdcpWords::hosts, &PdshChoice::without>},
    {{"-a", "", Fate::taken, "as pdsh's"},
     take_flag<&PdcpWords::hosts, &PdshChoice::all_but_skipped>},
    {{"-A", "", Fate::taken, "as pdsh's"}, take_flag<&PdcpWords::hosts, &PdshChoice::all>},
    {{"-i", "", Fate::taken, "as pdsh's"}, take_flag<&PdcpWords::hosts, &PdshChoice::other_names>},
    {{"-F", "FILE", Fate::taken, "the genders file"},
     take<&PdcpWords::hosts, &PdshChoice::genders_file>},
    {{"-R", "NAME", Fate::taken, "ssh; others are refused"}, take<&PdcpWords::rcmd>},
    {{"-l", "USER", Fate::taken, "-l"}, take<&PdcpWords::user>},
    {{"-t", "SECONDS", Fate::taken, "--connect-timeout (default: 10)"}, take<&PdcpWords::connect>},
    {{"-u", "SECONDS", Fate::taken, "-u"}, take<&PdcpWords::time>},
    {{"-r", "", Fate::taken, "-r; links are copied as links"}, take_flag<&PdcpWords::recursive>},
    {{"-p", "", Fate::taken, "-p"}, take_flag<&PdcpWords::keep>},
    {{"-V", "", Fate::taken, "print the version"}, take_flag<&PdcpWords::version>},
    {{"-h", "", Fate::taken, "print this help"}, take_flag<&PdcpWords::help>},
    {{"-f", "N", Fate::noted, "all nodes at the same time; see --fanout of dslaunch copy"}},
    {{"-e", "PATH", Fate::quiet, "nodes need no pdcp"}},
    {{"-b", "", Fate::quiet, "one Ctrl-C ends the copy"}},
    {{"-d", "", Fate::quiet, "Ctrl-C ends the copy and lists nothing"}},
    {{"-N", "", Fate::quiet, "only lines about failures have names of hosts"}},
    {{"-K", "", Fate::quiet, "names of hosts are always printed whole"}},
    {{"-M", "NAMES", Fate::noted, "dslaunch has no modules"}},
    {{"-q,-Q", "", Fate::refused, "use pdsh -q with the same targets"}},
    {{"-L", "", Fate::refused, "use pdsh -L"}},
    {{"-S", "", Fate::refused, "remove it: the exit code is never 0 if a copy has failed"}},
    {{"-k", "", Fate::refused, "remove it: a failure on one node does not stop the others"}},
    {{"-j", "JOB", Fate::refused, "use -w \"$(squeue -h -j JOB -o %N)\""}},
    {{"-P", "PARTITION", Fate::refused, "use -w \"$(sinfo -h -p PARTITION -o %N)\""}},
    {{"-y,-z,-Z", "", Fate::refused, "pdcp itself uses it on nodes"}},
    {{"-T", "TEST", Fate::refused, "it tests pdcp itself"}},
};

constexpr std::span<const ForeignDef<PdcpWords>> kPdcpTable(kPdcpOptions);

}  // namespace

Disguised translate_pdcp(std::string_view program, std::span<const std::string> words,
                         const Surroundings& around) {
  const std::vector<ForeignOption> shapes = shapes_of(kPdcpTable);
  const ForeignWords read = read_foreign(program, shapes, Spelling::getopt, words);
  PdcpWords pdcp;
  pdcp.hosts.program = program;
  apply_foreign(kPdcpTable, read, pdcp);
  Disguised out;
  out.notes = notes_of(shapes, read);
  if (pdcp.help) out.text = disguise_help(*find_disguise(program));
  if (pdcp.version) out.text = disguise_version(program);
  if (out.text) return out;
  const std::span<const std::string> paths = words.subspan(read.rest);
  if (paths.size() < 2)
    usage_error(fmt::format("{}: a source or the target is missing", program),
                fmt::format("for example: {} -w node[01-16] data.bin /tmp", program));
  const std::vector<PdshTarget> targets = pdsh_targets(pdcp.hosts, around);
  if (const std::string rcmd = pdsh_rcmd(program, pdcp.rcmd, targets, around); rcmd != "ssh")
    usage_error(
        fmt::format("{}: the rcmd type {} is not supported", program, quoted(printable_text(rcmd))),
        "use -R ssh");
  const int connect = pdsh_number(program, kPdshConnect, pdcp.connect, around);
  const int time = pdsh_number(program, kPdshTime, pdcp.time, around);
  const PdshSshArgs args = pdsh_ssh_args(around);
  out.words = {program == "pdcp" ? "copy" : "rcopy"};
  if (pdcp.recursive) out.words.emplace_back("-r");
  if (pdcp.keep) out.words.emplace_back("-p");
  for (const auto& [option, value] : args.options) out.add(option, value);
  if (connect > 0 && connect != kPdshConnect.otherwise)
    out.add("--connect-timeout", std::to_string(connect));
  if (time > 0) out.add("-u", std::to_string(time));
  if (const std::string& user = pdcp.user.empty() ? args.user : pdcp.user; !user.empty())
    out.add("-l", user);
  out.notes.insert(out.notes.end(), args.notes.begin(), args.notes.end());
  out.add("-w", pdsh_host_list(targets, args.port));
  for (const std::string& path : paths)  // copy takes options among the paths
    out.words.push_back(path.starts_with('-') ? "./" + path : path);
  return out;
}

std::vector<ForeignOption> pdcp_options() { return shapes_of(kPdcpTable); }

}  // namespace ds::launcher
