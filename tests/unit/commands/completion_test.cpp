// Tests of shell completion: every option and subcommand, with values of known kinds.
#include "launcher/cli/completion.h"

#include <doctest/doctest.h>

#include "engine/base/error.h"
#include "launcher/cli/options.h"
#include "launcher/commands/commands.h"

using namespace ds::launcher;

namespace {

using Kind = ValueKind::Kind;

ValueKind kind_of(std::string_view argument) {
  return value_kind({.names = "--x", .argument = argument, .help = ""});
}

/// Returns an option as the script for fish writes it.
std::string fish_form(const std::string& name) {
  return name.starts_with("--") ? " -l " + name.substr(2) + " " : " -s " + name.substr(1) + " ";
}

}  // namespace

TEST_CASE("kinds of values") {
  CHECK(kind_of("").kind == Kind::none);
  CHECK(kind_of("FILE").kind == Kind::file);
  CHECK(kind_of("PATH").kind == Kind::file);
  CHECK(kind_of("DIR").kind == Kind::folder);
  CHECK(kind_of("JOB").kind == Kind::job);
  CHECK(kind_of("SECONDS").kind == Kind::other);
  const ValueKind choice = kind_of("auto|ssh|local");
  CHECK(choice.kind == Kind::choice);
  CHECK(choice.choices == std::vector<std::string_view>{"auto", "ssh", "local"});
}

TEST_CASE("what the words of a subcommand are") {
  const auto kind = [](std::string_view synopsis) {
    return word_kind({.name = "x", .summary = "", .run = nullptr, .synopsis = synopsis},
                     commands());
  };
  CHECK(kind("").kind == Kind::none);
  CHECK(kind("[--json]").kind == Kind::none);
  CHECK(kind("JOB... [--wait]").kind == Kind::job);
  CHECK(kind("[options] COMMAND ARGS...").kind == Kind::file);
  CHECK(kind("a|b [-x]").choices == std::vector<std::string_view>{"a", "b"});
  CHECK(kind("[SUBCOMMAND]").choices.front() == commands().front().name);
}

TEST_CASE("each script names every option and every subcommand for people") {
  Options options;
  std::vector<std::string> names = option_table(options).names();
  for (const Command& command : commands()) {
    if (command.options == nullptr) continue;
    for (const std::string& name : command.options().names()) names.push_back(name);
  }
  const std::string bash = completion_script("bash", commands());
  const std::string zsh = completion_script("zsh", commands());
  const std::string fish = completion_script("fish", commands());
  for (const std::string& name : names) {
    CAPTURE(name);
    CHECK(bash.find(name) != std::string::npos);
    CHECK(zsh.find(name) != std::string::npos);
    CHECK(fish.find(fish_form(name)) != std::string::npos);
  }
  for (const Command& command : commands()) {
    if (command.summary.empty()) continue;
    CAPTURE(command.name);
    CHECK(bash.find("    " + std::string(command.name) + ")\n") != std::string::npos);
    CHECK(zsh.find("    " + std::string(command.name) + ")\n") != std::string::npos);
    CHECK(fish.find("__dslaunch_is " + std::string(command.name) + "'") != std::string::npos);
  }
}

TEST_CASE("another shell is a mistake") {
  CHECK_THROWS_AS(completion_script("tcsh", commands()), ds::Error);
}
