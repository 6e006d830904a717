// Option table of pdsh, and its translation to `dslaunch exec --style pdsh`.
#include <fmt/format.h>

#include <utility>

#include "engine/base/text_error.h"
#include "launcher/cli/command.h"
#include "launcher/cli/option_table.h"
#include "launcher/disguise/disguise.h"
#include "launcher/disguise/pdsh_hosts.h"
#include "launcher/disguise/pdsh_names.h"
#include "launcher/disguise/pdsh_settings.h"
#include "launcher/disguise/pdsh_ssh_args.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {
namespace {

constexpr PdshNumber kFanout = {"-f", "FANOUT", 32, 1, 65536};

struct PdshWords {
  PdshChoice hosts;
  std::string rcmd;
  std::string fanout, connect, command_time;  // numbers
  std::string user;
  bool largest = false, fail_fast = false, no_labels = false, batch = false, debug = false;
  bool full_names = false, list = false, list_expanded = false, version = false, modules = false;
  bool help = false;
};

constexpr ForeignDef<PdshWords> kPdshOptions[] = {
    {{"-w", "TARGETS", Fate::taken,
      "-w; ranges, -HOSTS, ^FILE, /regex/, @GROUP, [rcmd_type:][user@]HOSTS; -: standard input"},
     take_more<&PdshWords::hosts, &PdshChoice::targets>},
    {{"-x", "HOSTS", Fate::taken, "they are left out of -w"},
     take_more<&PdshWords::hosts, &PdshChoice::excluded>},
    {{"-g", "GROUPS", Fate::taken, "dsh files, genders queries, groups of ClusterShell"},
     take_more<&PdshWords::hosts, &PdshChoice::groups>},
    {{"-X", "GROUPS", Fate::taken, "they are left out of -w"},
     take_more<&PdshWords::hosts, &PdshChoice::without>},
    {{"-a", "", Fate::taken,
      "all nodes of genders without the attribute pdsh_all_skip, else /etc/pdsh/machines"},
     take_flag<&PdshWords::hosts, &PdshChoice::all_but_skipped>},
    {{"-A", "", Fate::taken, "all nodes of genders, else /etc/pdsh/machines"},
     take_flag<&PdshWords::hosts, &PdshChoice::all>},
    {{"-i", "", Fate::taken, "names of nodes become their altname of genders, or the reverse"},
     take_flag<&PdshWords::hosts, &PdshChoice::other_names>},
    {{"-F", "FILE", Fate::taken, "the genders file"},
     take<&PdshWords::hosts, &PdshChoice::genders_file>},
    {{"-R", "NAME", Fate::taken, "ssh; exec: --here; others are refused"}, take<&PdshWords::rcmd>},
    {{"-f", "N", Fate::taken, "-f (default: 32)"}, take<&PdshWords::fanout>},
    {{"-l", "USER", Fate::taken, "-l"}, take<&PdshWords::user>},
    {{"-t", "SECONDS", Fate::taken, "-t (default: 10)"}, take<&PdshWords::connect>},
    {{"-u", "SECONDS", Fate::taken, "-u"}, take<&PdshWords::command_time>},
    {{"-S", "", Fate::taken, "-S"}, take_flag<&PdshWords::largest>},
    {{"-k", "", Fate::taken, "-k"}, take_flag<&PdshWords::fail_fast>},
    {{"-N", "", Fate::taken, "-N"}, take_flag<&PdshWords::no_labels>},
    {{"-b", "", Fate::taken, "--style pdsh,batch: one Ctrl-C stops all"},
     take_flag<&PdshWords::batch>},
    {{"-d", "", Fate::taken, "--style pdsh,times: say how long nodes took"},
     take_flag<&PdshWords::debug>},
    {{"-K", "", Fate::taken, "--style pdsh,full: names keep their domain"},
     take_flag<&PdshWords::full_names>},
    {{"-q", "", Fate::taken, "print the settings and the targets, and run nothing"},
     take_flag<&PdshWords::list>},
    {{"-Q", "", Fate::taken, "as -q, without ranges"}, take_flag<&PdshWords::list_expanded>},
    {{"-V", "", Fate::taken, "print the version"}, take_flag<&PdshWords::version>},
    {{"-L", "", Fate::taken, "print what pdsh's modules are here"}, take_flag<&PdshWords::modules>},
    {{"-h", "", Fate::taken, "print this help"}, take_flag<&PdshWords::help>},
    {{"-s", "", Fate::quiet, "standard output and standard error are always separate"}},
    {{"-M", "NAMES", Fate::noted, "dslaunch has no modules"}},
    {{"-j", "JOB", Fate::refused, "use -w \"$(squeue -h -j JOB -o %N)\""}},
    {{"-P", "PARTITION", Fate::refused, "use -w \"$(sinfo -h -p PARTITION -o %N)\""}},
    {{"-v", "", Fate::refused, "remove it: hosts that do not answer are reported at the end"}},
    {{"-T", "TEST", Fate::refused, "it tests pdsh itself"}},
};

constexpr std::span<const ForeignDef<PdshWords>> kPdshTable(kPdshOptions);

constexpr std::string_view kModules =
    "rcmd modules: ssh,exec (default: ssh)\nmisc modules: genders,dshgroup\n";

/// Returns the settings as pdsh -q prints them.
std::string settings_text(const PdshWords& pdsh, const std::vector<PdshTarget>& targets,
                          const std::string& rcmd, const std::string& path,
                          const std::string& command, int fanout, int connect, int command_time,
                          const Surroundings& around) {
  std::vector<std::string> names;
  for (const PdshTarget& target : targets) names.push_back(target.name);
  const std::string hosts =
      pdsh.list_expanded ? fmt::format("{}", fmt::join(names, ",")) : pdsh_ranges(names);
  const auto or_none = [](const std::string& text) { return text.empty() ? "none" : text.c_str(); };
  const auto yes = [](bool set) { return set ? "Yes" : "No"; };
  return fmt::format(
      "-- DSH-specific options --\nSeparate stderr/stdout\tYes\nPath prepended to cmd\t{}\n"
      "Appended to cmd         none\nCommand:\t\t{}\nFull program pathname\tdslaunch\n"
      "Remote program path\tdslaunch\n\n-- Generic options --\nLocal username\t\t{}\n"
      "Local uid     \t\t{}\nRemote username\t\t{}\nRcmd type\t\t{}\n"
      "one ^C will kill pdsh   {}\nConnect timeout (secs)\t{}\nCommand timeout (secs)\t{}\n"
      "Fanout\t\t\t{}\nDisplay hostname labels\t{}\nDebugging       \t{}\n\n"
      "-- Target nodes --\n{}\n",
      or_none(path), or_none(command), around.user, around.uid,
      pdsh.user.empty() ? around.user : pdsh.user, rcmd, yes(pdsh.batch), connect, command_time,
      fanout, yes(!pdsh.no_labels), yes(pdsh.debug), hosts);
}

/// Returns the command that sets PATH before the others, from DSHPATH.
std::string path_command(const Surroundings& around) {
  const std::string path = around.variable("DSHPATH").value_or("");
  const bool csh = around.variable("SHELL").value_or("").ends_with("csh");
  return path.empty() ? "" : fmt::format("{}{};", csh ? "setenv PATH " : "PATH=", path);
}

/// Returns the value of --style.
std::string style_of(const PdshWords& pdsh) {
  std::string style = "pdsh";
  if (pdsh.batch) style += ",batch";
  if (pdsh.full_names) style += ",full";
  if (pdsh.debug) style += ",times";
  return style;
}

void add_flags(const PdshWords& pdsh, bool here, Disguised& out) {
  if (pdsh.largest) out.words.emplace_back("-S");
  if (pdsh.fail_fast) out.words.emplace_back("-k");
  if (pdsh.no_labels) out.words.emplace_back("-N");
  if (here) out.words.emplace_back("--here");
}

}  // namespace

Disguised translate_pdsh(std::string_view program, std::span<const std::string> words,
                         const Surroundings& around) {
  const std::vector<ForeignOption> shapes = shapes_of(kPdshTable);
  const ForeignWords read = read_foreign(program, shapes, Spelling::getopt, words);
  PdshWords pdsh;
  apply_foreign(kPdshTable, read, pdsh);
  Disguised out;
  out.notes = notes_of(shapes, read);
  if (pdsh.help)
    out.text = disguise_help(*find_disguise(program));
  else if (pdsh.version || pdsh.modules)
    out.text = fmt::format("{}{}", pdsh.version ? disguise_version(program) : "", kModules);
  if (out.text) return out;
  const std::vector<PdshTarget> targets = pdsh_targets(pdsh.hosts, around);
  const std::string rcmd = pdsh_rcmd(program, pdsh.rcmd, targets, around);
  if (rcmd != "ssh" && rcmd != "exec")
    usage_error(
        fmt::format("pdsh: the rcmd type {} is not supported", quoted(printable_text(rcmd))),
        "use -R ssh, or -R exec with a command that reaches %h");
  const int fanout = pdsh_number(program, kFanout, pdsh.fanout, around);
  const int connect = pdsh_number(program, kPdshConnect, pdsh.connect, around);
  const int command_time = pdsh_number(program, kPdshTime, pdsh.command_time, around);
  const std::span<const std::string> command = words.subspan(read.rest);
  const std::string path = path_command(around);
  if (pdsh.list || pdsh.list_expanded) {
    out.text = settings_text(pdsh, targets, rcmd, path, fmt::format("{}", fmt::join(command, " ")),
                             fanout, connect, command_time, around);
    return out;
  }
  const bool here = rcmd == "exec";
  if (here && connect != kPdshConnect.otherwise)
    usage_error("pdsh: -t cannot be combined with -R exec", "remove one of them");
  out.words = {"exec", "--style", style_of(pdsh), "-n", "--leave", "-f", std::to_string(fanout)};
  PdshSshArgs args;
  if (!here) args = pdsh_ssh_args(around);
  for (const auto& [option, value] : args.options) out.add(option, value);
  if (connect > 0 && connect != kPdshConnect.otherwise) out.add("-t", std::to_string(connect));
  if (command_time > 0) out.add("-u", std::to_string(command_time));
  if (const std::string& user = pdsh.user.empty() ? args.user : pdsh.user; !user.empty())
    out.add("-l", user);
  add_flags(pdsh, here, out);
  out.notes.insert(out.notes.end(), args.notes.begin(), args.notes.end());
  if (has_repeated_host(targets))
    out.notes.emplace_back("hosts that are named more than once run the command once");
  out.add("-w", pdsh_host_list(targets, args.port));
  out.words.emplace_back("--");
  if (command.empty()) out.prompt = "pdsh> ";
  if (!here && !path.empty()) out.words.push_back(path);
  if (here && command.empty()) out.words.insert(out.words.end(), {"sh", "-c"});
  out.words.insert(out.words.end(), command.begin(), command.end());
  return out;
}

std::vector<ForeignOption> pdsh_options() { return shapes_of(kPdshTable); }

}  // namespace ds::launcher
