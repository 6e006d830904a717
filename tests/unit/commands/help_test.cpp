// Tests of the help: it lists exactly the options and subcommands that exist.
#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "launcher/cli/command.h"
#include "launcher/cli/options.h"
#include "launcher/commands/commands.h"

using namespace ds::launcher;

namespace {

using Names = std::set<std::string>;

Names known_options() {
  Options options;
  const std::vector<std::string> names = option_table(options).names();
  return {names.begin(), names.end()};
}

/// Option names at the start of lines of the form "  -h, --help   text".
Names options_in(const std::string& text) {
  Names names;
  std::istringstream lines{text};
  const std::regex option_line(R"(^  (-.*))");
  const std::regex option_name(R"(^(-[a-zA-Z]|--[a-z][a-z0-9-]*)(, )?)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, option_line)) continue;
    for (std::string rest = match[1]; std::regex_search(rest, match, option_name);) {
      names.insert(match[1]);
      const bool more = match[2].matched;
      rest = match.suffix();
      if (!more) break;
    }
  }
  return names;
}

void check_form(const std::string& text) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 100);
    CHECK(!line.ends_with(' '));
  }
  CHECK(text.ends_with("\n"));
  CHECK(!text.ends_with("\n\n"));
}

}  // namespace

TEST_CASE("--help=all lists every option, and only options that exist") {
  CHECK(options_in(full_help_text(commands())) == known_options());
}

TEST_CASE("--help lists the common options") {
  const Names known = known_options();
  const Names shown = options_in(help_text(commands()));
  CHECK(shown.size() < known.size());
  for (const std::string_view name : common_options()) {
    CAPTURE(name);
    CHECK(known.contains(std::string(name)));
    CHECK(shown.contains(std::string(name)));
  }
}

TEST_CASE("both name every subcommand that is for people") {
  for (const std::string& text : {help_text(commands()), full_help_text(commands())}) {
    for (const Command& command : commands()) {
      CAPTURE(command.name);
      const bool named = text.find("\n  " + std::string(command.name) + " ") != std::string::npos;
      CHECK(named == !command.summary.empty());
    }
  }
}

TEST_CASE("help fits a terminal of 100 columns and ends with a newline") {
  check_form(help_text(commands()));
  check_form(full_help_text(commands()));
  for (const Command& command : commands())
    if (!command.summary.empty()) check_form(command_help(command));
}

TEST_CASE("a subcommand's help tells its form and its options") {
  const std::string text = command_help(*find_command("kill"));
  CHECK(
      text.starts_with("dslaunch kill: Stop running jobs, or send them a signal\n\n"
                       "Usage: dslaunch kill JOB..."));
  CHECK(options_in(text) == Names{"-s", "--signal", "--grace", "--wait"});
}

TEST_CASE("summaries and helps of options begin with a capital letter") {
  const auto check = [](std::string_view text) {
    CAPTURE(text);
    CHECK((text.empty() || (text.front() >= 'A' && text.front() <= 'Z')));
  };
  Options options;
  std::vector<OptionTable> tables = {option_table(options)};
  for (const Command& command : commands()) {
    check(command.summary);
    if (command.options != nullptr) tables.push_back(command.options());
  }
  for (const OptionTable& table : tables)
    for (const OptionTable::Entry& entry : table.entries()) check(entry.shape.help);
}

TEST_CASE("a mistyped subcommand has a neighbour") {
  CHECK(near_command("atach") == "attach");
  CHECK(near_command("klil") == "kill");
  CHECK(near_command("hostname").empty());
  CHECK(near_command("agnet") == "agent");
  CHECK(find_command("ps") != nullptr);
  CHECK(find_command("psx") == nullptr);
}

TEST_CASE("the version is one line") {
  CHECK(std::regex_match(std::string(version_text()),
                         std::regex("dslaunch [0-9]+\\.[0-9]+\\.[0-9]+\n")));
}
