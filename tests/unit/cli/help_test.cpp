// The help and the man page list the options that exist, and no others.
#include "launcher/cli/help.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "launcher/cli/options.h"
#include "runner/contract.h"
#include "support/read_file.h"

using namespace ds::launcher;
using ds::test::read_source;

namespace {

using Names = std::set<std::string>;

Names known_options() {
  Options options;
  const std::vector<std::string> names = option_table(options).names();
  return {names.begin(), names.end()};
}

/// Option names at the start of lines of the form "  -h, --help   text".
Names options_of_help() {
  Names names;
  std::istringstream lines{std::string(help_text())};
  const std::regex option_line(R"(^  (-.*))");
  const std::regex option_name(R"(^(-[a-z]|--[a-z][a-z-]*)(, )?)");
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

/// Option names of lines of the form "**-h**, **--help**" that stand before their descriptions.
Names options_of_man_page() {
  Names names;
  std::istringstream lines(read_source("docs/dslaunch.1.md"));
  const std::regex option_name(R"(\*\*(-[a-z-]+)\*\*)");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("**-")) continue;
    for (std::sregex_iterator match(line.begin(), line.end(), option_name), end; match != end;
         ++match) {
      names.insert((*match)[1]);
    }
  }
  return names;
}

/// First column of the table of exit codes.
std::set<int> exit_codes_of_man_page() {
  std::set<int> codes;
  std::istringstream lines(read_source("docs/dslaunch.1.md"));
  const std::regex row(R"(\| ([0-9]+) \|.*)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (std::regex_match(line, match, row)) codes.insert(std::stoi(match[1]));
  }
  return codes;
}

}  // namespace

TEST_CASE("the man page describes every option, and only options that exist") {
  CHECK(options_of_man_page() == known_options());
}

TEST_CASE("the man page lists the exit codes of the contract") {
  using namespace ds::contract;
  CHECK(exit_codes_of_man_page() == std::set<int>{0, kExitUsage, kExitConfig, kExitUnreachable,
                                                  kExitBug, kExitDoNotRestart, kExitDeadline,
                                                  kExitNotExecutable, kExitNotFound, kExitHungUp,
                                                  kExitInterrupted, kExitTerminated});
}

TEST_CASE("--help lists every option, and only options that exist") {
  CHECK(options_of_help() == known_options());
}

TEST_CASE("help fits a terminal of 100 columns and ends with a newline") {
  std::istringstream lines{std::string(help_text())};
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(line.size() <= 100);
  }
  CHECK(help_text().ends_with(".\n"));
}

TEST_CASE("the version is one line") {
  CHECK(std::regex_match(std::string(version_text()),
                         std::regex("dslaunch [0-9]+\\.[0-9]+\\.[0-9]+\n")));
}
