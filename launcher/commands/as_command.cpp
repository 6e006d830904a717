// `dslaunch as NAME`: translates another launcher's command line into dslaunch's and runs it.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <system_error>
#include <vector>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/nearest_word.h"
#include "launcher/agent/node_facts.h"
#include "launcher/cli/env_file.h"
#include "launcher/cli/forward_env.h"
#include "launcher/cli/option_table.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/host_sources.h"
#include "launcher/commands/pods/entrypoint.h"
#include "launcher/disguise/disguise.h"
#include "launcher/disguise/dshbak.h"
#include "launcher/transport/ssh/ssh_files.h"

namespace ds::launcher {

namespace {

constexpr std::string_view kAsDetails =
    R"(The words after NAME are those of that launcher, with the same meaning. Options without effect here
are reported in one line each; options that would change the job are refused. The same happens if
dslaunch is started under that name, for example through a symbolic link. NAME --help lists its
options. --print prints the equivalent command line of dslaunch and runs nothing. See
docs/disguises.md.)";

Surroundings surroundings() {
  return {.variable = own_variable,
          .cores = [] { return static_cast<int>(describe_node().cores); },
          .gpus = [] { return static_cast<int>(describe_node().devices.size()); },
          .user = local_user().name,
          .uid = static_cast<int>(::getuid()),
          .file = system_list_reader().file,
          .groups = [] { return std::make_shared<NodeGroups>(system_groups()); }};
}

/// Reads lines of standard input, or of the files, and prints them by host.
int run_dshbak(const DshbakWords& dshbak) {
  HostLines lines;
  const auto read = [&](std::istream& from) {
    for (std::string line; std::getline(from, line);)
      if (!from.eof()) lines.add(line + "\n");
  };
  for (const std::string& name : dshbak.files) {
    std::ifstream file;
    if (name != "-") file.open(name);
    if (!file) throw Error(ErrorKind::config, fmt::format("dshbak: cannot read {}", name));
    read(name == "-" ? std::cin : file);
  }
  if (dshbak.files.empty()) read(std::cin);
  if (!dshbak.folder) return print(lines.text(dshbak.coalesce));
  std::error_code error;
  if (dshbak.make_folder) std::filesystem::create_directories(*dshbak.folder, error);
  if (!std::filesystem::is_directory(*dshbak.folder))
    throw Error(ErrorKind::config,
                fmt::format("dshbak: the output folder {} does not exist", *dshbak.folder),
                "-f creates it");
  for (const auto& [host, text] : lines.by_host()) {
    const std::string path = *dshbak.folder + "/" + host;
    std::ofstream file;
    if (host.find('/') == std::string::npos) file.open(path, std::ios::binary);
    if (!file.is_open() || !(file << text << std::flush))
      throw Error(ErrorKind::config, fmt::format("dshbak: cannot write {}", path),
                  "the name of a host is the name of its file");
  }
  return 0;
}

std::string quoted_word(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789-_=./:,@%+") == std::string::npos;
  return plain ? word : shell_quoted(word);
}

/// Runs words of dslaunch.
int run_own(std::vector<std::string> words) {
  words.insert(words.begin(), "dslaunch");
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int count = static_cast<int>(words.size());
  if (const Command* command = count > 1 ? find_command(words[1]) : nullptr; command != nullptr)
    return command->run(count - 1, pointers.data() + 1);
  return run_main_command(count, pointers.data());
}

/// Runs each line of standard input after `words`, in a process of its own, until "quit", "exit" or
/// the end. Lines that begin with '!' run here.
int run_at_prompt(const Disguised& meant) {
  std::signal(SIGINT, SIG_IGN);
  for (std::string line;;) {
    std::fputs(meant.prompt.c_str(), stdout);
    std::fflush(stdout);
    if (!std::getline(std::cin, line) || line == "quit" || line == "exit") return 0;
    if (line.empty()) continue;
    const pid_t pid = ::fork();
    if (pid < 0) throw_errno("cannot start a process for the command", errno, "see `ulimit -u`");
    if (pid == 0) {
      std::signal(SIGINT, SIG_DFL);
      if (line.starts_with('!')) {
        ::execl("/bin/sh", "sh", "-c", line.c_str() + 1, nullptr);
        ::_exit(127);
      }
      // Without exit(3), which would move the position in standard input back to what the parent
      // has read ahead.
      std::vector<std::string> words = meant.words;
      words.push_back(line);
      try {
        ::_exit(run_own(words));
      } catch (const std::exception& caught) {
        const Error error = as_error(caught);
        std::fputs(("dslaunch: " + error.for_people() + "\n").c_str(), stderr);
        ::_exit(contract::exit_code(error.kind()));
      }
    }
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

/// How the user named a launcher.
enum class Named { by_link, by_as, to_print };

/// Runs the command line of `disguise`; argv[0] is its name. `words`: the others.
int run_translated(const Disguise& disguise, const std::vector<std::string>& words, char** argv,
                   bool print_only) {
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h"))
    return print(disguise_help(disguise));
  if (disguise.translate == nullptr) {
    if (print_only) usage_error("it has no equivalent options", "see -b of dslaunch exec");
    return run_dshbak(read_dshbak(words));
  }
  const bool version = !words.empty() && words[0] == "--version";
  const bool short_version = !words.empty() && words[0] == "-V" && disguise.name != "pdsh";
  if (version || short_version) return print(disguise_version(disguise.name));
  const Disguised meant =
      read_words([&] { return disguise.translate(disguise.name, words, surroundings()); });
  for (const SecretPlace& place : meant.secrets) blank_value(argv[place.word + 1] + place.offset);
  for (const std::string& note : meant.notes)
    std::fputs(fmt::format("dslaunch: as {}: {}\n", disguise.name, note).c_str(), stderr);
  if (meant.text) return print(*meant.text);
  if (print_only) {
    std::string line = "dslaunch";
    for (const std::string& word : meant.words) line += " " + quoted_word(word);
    return print(line + "\n");
  }
  return meant.prompt.empty() ? run_own(meant.words) : run_at_prompt(meant);
}

int run_as_launcher(const Disguise& disguise, int argc, char** argv, Named named) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    return run_translated(disguise, words, argv, named == Named::to_print);
  } catch (const Error& error) {
    throw in_words_of(disguise, named == Named::by_link, words, error);
  }
}

[[noreturn]] void fail_name(std::string_view typed) {
  std::vector<std::string_view> names;
  for (const Disguise& disguise : disguises()) names.push_back(disguise.name);
  const std::string known = fmt::format("{}", fmt::join(names, ", "));
  if (typed.empty()) usage_error("no launcher is named", "choose one of: " + known);
  const std::string near = nearest_word(typed, names);
  usage_error(fmt::format("as: unknown launcher '{}'", typed),
              near.empty() ? "choose one of: " + known : fmt::format("did you mean {}?", near));
}

int run_as(int argc, char** argv) {
  int at = 1;
  if (at < argc && (std::string_view(argv[at]) == "--help" || std::string_view(argv[at]) == "-h"))
    return print(command_help(kAsCommand));
  const bool print_only = at < argc && std::string_view(argv[at]) == "--print";
  if (print_only) ++at;
  const Disguise* disguise = at < argc ? find_disguise(argv[at]) : nullptr;
  if (disguise == nullptr) fail_name(at < argc ? argv[at] : "");
  return run_as_launcher(*disguise, argc - at, argv + at,
                         print_only ? Named::to_print : Named::by_as);
}

}  // namespace

const Command kAsCommand = {.name = "as",
                            .summary = "Run the command line of another launcher",
                            .run = run_as,
                            .synopsis = "[--print] NAME [options of NAME] PROGRAM ...",
                            .details = kAsDetails};

std::optional<int> run_disguised(int argc, char** argv) {
  const Disguise* disguise = argc > 0 ? find_disguise(argv[0]) : nullptr;
  if (disguise == nullptr) return std::nullopt;
  return run_as_launcher(*disguise, argc, argv, Named::by_link);
}

}  // namespace ds::launcher
