// Tests of the manual: docs/ has what the program prints, and its roff is valid.
#include <doctest/doctest.h>

#include <regex>
#include <set>
#include <sstream>

#include "engine/base/contract.h"
#include "launcher/cli/man_page.h"
#include "launcher/cli/options.h"
#include "launcher/commands/commands.h"
#include "support/read_file.h"

using namespace ds::launcher;
using ds::test::read_source;

namespace {

/// "**65**" alone on a line.
std::set<int> exit_codes_of(const std::string& text) {
  std::set<int> codes;
  const std::regex term(R"(\n\*\*([0-9]+)\*\*\n)");
  for (std::sregex_iterator match(text.begin(), text.end(), term), end; match != end; ++match)
    codes.insert(std::stoi((*match)[1]));
  return codes;
}

}  // namespace

TEST_CASE("docs/dslaunch.1.md is what the program prints") {
  const bool same = read_source("docs/dslaunch.1.md") == manual(commands());
  CHECK_MESSAGE(same, "an option or subcommand has changed: build the target `manual`");
}

TEST_CASE("the manual describes every option and subcommand") {
  const std::string text = manual(commands());
  Options options;
  for (const std::string& name : option_table(options).names()) {
    CAPTURE(name);
    CHECK(text.find("**" + name + "**") != std::string::npos);
  }
  for (const Command& command : commands()) {
    CAPTURE(command.name);
    const std::string heading = "\n### dslaunch " + std::string(command.name) + "\n";
    CHECK((text.find(heading) != std::string::npos) == !command.summary.empty());
  }
}

TEST_CASE("notes are about options that exist, and about each once") {
  Options options;
  const OptionTable table = option_table(options);
  std::set<std::string_view> first_names, noted;
  for (const OptionTable::Entry& entry : table.entries())
    first_names.insert(split_names(entry.shape.names).front());
  for (const OptionNote& note : option_notes()) {
    CAPTURE(note.option);
    CHECK(first_names.contains(note.option));
    CHECK(noted.insert(note.option).second);
  }
}

TEST_CASE("the manual lists the exit codes of the contract") {
  using namespace ds::contract;
  CHECK(exit_codes_of(manual(commands())) ==
        std::set<int>{0, kExitUsage, kExitConfig, kExitUnreachable, kExitBug, kExitDoNotRestart,
                      kExitDeadline, kExitNotExecutable, kExitNotFound, kExitHungUp,
                      kExitInterrupted, kExitTerminated});
}

TEST_CASE("roff: headings, terms, code and letters that it would read as its own") {
  CHECK(roff_of("# dslaunch(1)\n\n## Name\n\na - b\n") == ".TH DSLAUNCH 1\n.SH NAME\na \\- b\n");
  CHECK(roff_of(
            "## Options\n\nText `x` and\n.more\n\n**-h**, **--help**\n: print\n  this\n\nEnd.\n") ==
        ".SH OPTIONS\nText \\fBx\\fR and\n\\&.more\n.TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprint\n"
        "this\n.PP\nEnd.\n");
  CHECK(roff_of("## A\n\n    code\n") == ".SH A\n.RS 4\n.nf\ncode\n.fi\n.RE\n");
  CHECK(roff_of("See:\n\n    a \\ b\n\n    'c\n\nEnd.\n") ==
        "See:\n.PP\n.RS 4\n.nf\na \\e b\n\n\\&'c\n.fi\n.RE\n.PP\nEnd.\n");
}

TEST_CASE("roff of the whole manual: every request is one that we mean") {
  std::istringstream lines(roff_of(manual(commands())));
  const std::regex request(R"(\.(TH|SH|SS|TP|PP|RS 4|RE|nf|fi)( .*)?)");
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK((!line.starts_with('.') || std::regex_match(line, request)));
    CHECK(!line.starts_with('\''));
    CHECK(line.find("**") == std::string::npos);
    CHECK(line.find('`') == std::string::npos);
  }
}
