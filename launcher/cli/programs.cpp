// Parser for several programs: finds the ':' separators and reads each program's own options.
#include "launcher/cli/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "launcher/cli/option_values.h"
#include "launcher/cli/options_hosts.h"

namespace ds::launcher {

namespace {

constexpr const char* kForm =
    "for example: dslaunch -n 2 -- ./a : -n 4 -- ./b   (--one-program makes ':' an argument)";

constexpr OptionDef<MoreProgram> kMoreOptions[] = {
    {{"-n,--np", "N", ""},
     [](MoreProgram& part, const GivenOption& given) {
       part.ranks = number_value(given, 1, kMaxRanks);
     }},
    {{"--role", "NAME", ""},
     [](MoreProgram& part, const GivenOption& given) { part.role = role_value(given); }},
    {{"--host,-H", "LIST", "", true},
     [](MoreProgram& part, const GivenOption& given) {
       std::vector<HostPick> picks = parse_host_picks("--host", given.value);
       part.hosts.insert(part.hosts.end(), std::make_move_iterator(picks.begin()),
                         std::make_move_iterator(picks.end()));
     }},
};

using WordIt = std::vector<std::string>::iterator;

/// Returns the next ':' that starts a program.
WordIt find_separator(WordIt from, WordIt end) {
  for (WordIt word = from; word != end; ++word)
    if (*word == ":" && word + 1 != end && (word + 1)->starts_with('-')) return word;
  return end;
}

MoreProgram read_program(WordIt begin, WordIt end) {
  const WordIt dashes = std::find(begin, end, "--");
  if (dashes == end) usage_error("the program after ':' needs -- before its command", kForm);
  MoreProgram program;
  OptionTable table;
  table.add("", std::span<const OptionDef<MoreProgram>>(kMoreOptions), program);
  table.add("", program_env_options(), program.env);
  const std::vector<std::string> rest = table.read(
      {begin, dashes}, Words::mixed,
      "only -n, --role, --host, -x and --wdir may follow ':'; put options of the job first");
  if (!rest.empty())
    usage_error(fmt::format("unexpected '{}' between ':' and --", rest.front()), kForm);
  program.command.assign(dashes + 1, end);
  if (program.command.empty() || program.command.front().empty())
    usage_error("no command after -- in the program after ':'", kForm);
  return program;
}

}  // namespace

std::vector<MoreProgram> take_more_programs(std::vector<std::string>& words) {
  std::vector<MoreProgram> programs;
  const WordIt first = find_separator(words.begin(), words.end());
  for (WordIt at = first; at != words.end();) {
    const WordIt begin = at + 1;
    // A ':' before the program's own `--` cannot start another program.
    const WordIt dashes = std::find(begin, words.end(), "--");
    at = find_separator(dashes, words.end());
    programs.push_back(read_program(begin, at));
  }
  words.erase(first, words.end());
  return programs;
}

}  // namespace ds::launcher
