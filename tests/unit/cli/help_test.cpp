// The help and the man page list the options that exist, and no others.
#include "launcher/cli/help.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "launcher/cli/options.h"
#include "support/read_file.h"

using namespace ds::launcher;

namespace {

using Names = std::set<std::string>;

Names known_options() {
  const std::vector<std::string> names = option_names();
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

}  // namespace

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
