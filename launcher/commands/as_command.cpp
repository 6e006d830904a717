// `dslaunch as NAME`: translates another launcher's command line into dslaunch's and runs it.
#include <fmt/format.h>

#include <cstdio>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/nearest_word.h"
#include "launcher/agent/node_facts.h"
#include "launcher/cli/env_file.h"
#include "launcher/cli/forward_env.h"
#include "launcher/cli/option_table.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/pods/entrypoint.h"
#include "launcher/disguise/disguise.h"

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
          .gpus = [] { return static_cast<int>(describe_node().devices.size()); }};
}

std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789-_=./:,@%+") == std::string::npos;
  return plain ? word : shell_quoted(word);
}

/// Runs the command line of `disguise`; argv[0] is its name.
int run_as_launcher(const Disguise& disguise, int argc, char** argv, bool print_only) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h"))
    return print(disguise_help(disguise));
  if (!words.empty() && (words[0] == "--version" || words[0] == "-V")) return print(version_text());
  const Disguised meant =
      read_words([&] { return disguise.translate(words, surroundings()); });
  for (const SecretPlace& place : meant.secrets) blank_value(argv[place.word + 1] + place.offset);
  for (const std::string& note : meant.notes)
    std::fputs(fmt::format("dslaunch: as {}: {}\n", disguise.name, note).c_str(), stderr);
  if (print_only) {
    std::string line = "dslaunch";
    for (const std::string& word : meant.words) line += " " + quoted(word);
    return print(line + "\n");
  }
  std::vector<std::string> own = meant.words;
  own.insert(own.begin(), "dslaunch");
  std::vector<char*> pointers;
  for (std::string& word : own) pointers.push_back(word.data());
  return run_main_command(static_cast<int>(pointers.size()), pointers.data());
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
  return run_as_launcher(*disguise, argc - at, argv + at, print_only);
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
  return run_as_launcher(*disguise, argc, argv, false);
}

}  // namespace ds::launcher
