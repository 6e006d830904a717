// Tests invalid values of every option of every subcommand: each is refused in one or two lines
// that name the option, with exit code 64.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "launcher/cli/options.h"
#include "launcher/commands/commands.h"

using namespace ds::launcher;

namespace {

using Values = std::vector<std::string>;

/// Name of a table, and the table.
std::vector<std::pair<std::string, OptionTable>> all_tables() {
  static Options options;
  std::vector<std::pair<std::string, OptionTable>> tables = {{"", option_table(options)}};
  for (const Command& command : commands())
    if (command.options != nullptr) tables.emplace_back(command.name, command.options());
  return tables;
}

/// Values that an option with such an argument must refuse; every option refuses an empty value.
Values nonsense_for(std::string_view argument) {
  const std::vector<std::pair<std::string_view, Values>> known = {
      {"N", {"two", "-1", "1.5", "1x", "99999999999999999999", " 1"}},
      {"K", {"two", "-1", "1.5", "1x", "99999999999999999999"}},
      {"X", {"warm", "-1", "nan", "inf", "1e9", "0,5", "1x", " 1"}},
      {"NUMBERS", {"one", "-1", ",", "1;2", "1.5", "2147483648"}},
      {"R", {"two", "-1", "all", "99999999999999999999"}},
      {"SECONDS", {"soon", "-1", "10 parsecs", "1e9", "s"}},
      {"SECONDS[:stop]", {"soon", "-1", "10:go", ":stop"}},
      {"SIGNAL", {"NOPE", "0", "-9", "999", "USR1@"}},
      {"SIGNAL@SECONDS", {"USR1", "@10", "NOPE@10", "USR1@soon"}},
      {"SIZE", {"big", "-1", "10Q", "64 M", "99999999999G"}},
      {"NAME[=value]", {"=x", "A B=x", "1A=x", "RANK=3", "*"}},
      {"none|all|RANK", {"some", "-1", "0,1"}},
      {"auto|ssh|local|join|exec:CMD", {"rsh", "exec:", "exec:ssh {nothing}", "exec:'ssh"}},
      {"WHAT", {"nothing-like-it"}},
      {"auto|never|PATH", {}},  // any name is a valid path
      {"N|MIN:MAX", {}},        // of plan; dsrunner checks it
      {"WHOSE", {"mine"}},
      {"WHEN", {"sometimes"}},
      {"MODE", {"maybe"}},
      {"FORM", {"xml"}},
      {"HOW", {"sideways"}},
      {"MIN:MAX", {"two", "0", "0:2", "4:2", "2:x", ":2", "1:2:3", "-1:2", "1:65537"}},
      {"MIN:MAX|N", {"two", "0", "0:2", "4:2", "2:x", ":2", "2:", "1:2:3", "-1:2", "1:65537"}},
      {"hf", {"xml"}},
      {"NODE[/NODES[:ID]]", {"one", "4/4", "-1/4", "a/b", "1/"}},
      {"all", {"some"}},
      {"KIND", {"pod", "Indexed"}},
      {"STYLE", {"clush", "batch", "pdsh,", "pdsh,loud"}},
      {"IMAGE", {"a b", "-a", "a;b"}},
      {"AMOUNT", {"0", "x", "1GB", "1.2.3", "-1", "1e"}},
      {"WHO[=NAME]", {"none", "some", "=x", "Kueue=a"}},
      {"NAME:PATH", {"data", "data:", "data:data", "Da:/x", ":/x"}},
      {"NAME=VALUE", {"A", "=1", "1A=1", "A-B=1"}},
      {"RESOURCE", {"gpu", "a/b/c", "/gpu", "a b/c"}},
      {"PORT", {"0", "65536", "-1", "x", "1.5"}},
      {"INDEX", {"-1", "one", "65536", "1.5"}},
      {"HOST[:PORT]", {":1", "a:", "a:0", "a b", "http://a", "[::1]x", "x:2:3"}},
      {"NAME|NETWORK", {"10.0.0.1", "10.0.0.0/33", "10.0.0.0/", "eth0,eth1", "a b"}},
  };
  for (const auto& [name, values] : known)
    if (name == argument) return values;
  const bool is_choice = argument.find('|') != std::string_view::npos;
  return is_choice ? Values{"nothing-like-it"} : Values{};
}

/// Values by option, if the name of the argument does not decide.
Values nonsense_for_name(std::string_view name) {
  const std::vector<std::pair<std::string_view, Values>> known = {
      {"--host", {"a,b:x", "a,,b", "n[1-"}},
      {"--include", {"w0@@w1", "w0:x", "@"}},
      {"--exclude", {"w0@@w1", "w0:x", "@"}},
      {"--prefix", {"{nonsense}", "{rank"}},
      {"--show", {"first", "1-", "3-1", ","}},
      {"--log-dir", {"node:"}},
      {"--mpi-env", {"lam", "openmpi,"}},
      {"--forward-signals", {"NOPE", "USR1,,USR2", "KILL"}},
      {"--role", {"a b", "x/y"}},
      {"--name", {"My_Job", "a.b", "7b", "-a", "a-"}},
      {"--namespace", {"Kube", "a.b", "a-"}},
      {"--token-secret", {"A", "a..b", "-a"}},
      {"--job-id", {"a b", "a\tb"}},
      {"--node-name", {"a b", "a\tb", "a/b"}},
      {"--master-addr", {"node1:29500", "http://node1", "a b", "-x"}},
      {"--top-p", {"0", "1.01"}},
      {"--master-port", {"0", "65536", "29500x", "-1"}},
  };
  for (const auto& [option, values] : known)
    if (option == name) return values;
  return {};
}

/// The kinds of argument that are any text: only an empty one makes no sense. RATES, PASS and the
/// N|MIN:MAX of plan are checked by dsrunner, which knows them (tests/e2e/plan.sh).
bool is_any_text(std::string_view argument) {
  constexpr std::string_view kKinds[] = {"FILE",  "DIR",   "PATH",    "FOLDER",         "USER",
                                         "HOSTS", "GROUP", "PATTERN", "NAMES",          "TEXT",
                                         "NAME",  "RATES", "PASS",    "auto|never|PATH", "FILES",
                                         "TOKENS", "A,B",   "N|MIN:MAX"};
  return std::ranges::find(kKinds, argument) != std::end(kKinds);
}

/// Returns the error of a subcommand for one option.
std::string refusal_of(const std::string& subcommand, std::string option) {
  const Command& command = *find_command(subcommand);
  std::string name = subcommand;
  char* argv[] = {name.data(), option.data()};
  try {
    const Words words = subcommand == "exec" ? Words::command : Words::mixed;
    read_command(command, command.options(), 2, argv, words);
  } catch (const ds::Error& error) {
    return error.for_people();
  }
  return "accepted";
}

/// Returns the error for these words; empty if they are accepted.
std::optional<std::string> refusal(const OptionTable& table, const Values& words) {
  try {
    table.read(words, Words::mixed);
  } catch (const ds::Error& error) {
    CHECK(ds::contract::exit_code(error.kind()) == 64);
    return "dslaunch: " + error.for_people();
  }
  return std::nullopt;
}

void check_refused(const OptionTable& table, const Values& words, std::string_view name) {
  CAPTURE(words.front());
  CAPTURE(words.back());
  const std::optional<std::string> said = refusal(table, words);
  REQUIRE(said);
  CAPTURE(*said);
  CHECK(said->find(name) != std::string::npos);
  // One line, an optional list with a caret below it, and a hint.
  const auto lines = std::count(said->begin(), said->end(), '\n') + 1;
  const bool has_caret =
      said->find("\n") != std::string::npos && said->find("^") != std::string::npos;
  CHECK(lines <= (has_caret ? 4 : 2));
}

}  // namespace

TEST_CASE("every option refuses what makes no sense") {
  int options = 0, values = 0;
  for (const auto& [command, table] : all_tables()) {
    CAPTURE(command);
    for (const OptionTable::Entry& entry : table.entries()) {
      const OptionShape& shape = entry.shape;
      const std::string name(split_names(shape.names).front());
      CAPTURE(name);
      ++options;
      const bool is_long = name.starts_with("--");
      if (shape.argument.empty()) {
        if (is_long) check_refused(table, {name + "=yes"}, name);
        check_refused(table, {name, name}, name);
        continue;
      }
      Values nonsense = nonsense_for(shape.argument);
      for (std::string& value : nonsense_for_name(name)) nonsense.push_back(std::move(value));
      // A new kind of argument needs an entry here with the values that it refuses.
      CHECK_MESSAGE((!nonsense.empty() || is_any_text(shape.argument)), name, " ", shape.argument);
      if (name != "--prefix" && name != "--redact" && shape.implied.empty())
        nonsense.emplace_back("");
      for (const std::string& value : nonsense) {
        ++values;
        check_refused(table, is_long ? Values{name + "=" + value} : Values{name, value}, name);
      }
      if (shape.implied.empty()) check_refused(table, {name}, name);
    }
  }
  CHECK(options > 80);
  CHECK(values > 250);
}

TEST_CASE("an option that is not there is refused, with the one that is meant") {
  for (const auto& [command, table] : all_tables()) {
    CAPTURE(command);
    check_refused(table, {"--no-such-option"}, "--no-such-option");
    for (const OptionTable::Entry& entry : table.entries()) {
      const std::string name(split_names(entry.shape.names).front());
      if (name.size() < 6) continue;
      const std::string typed = name + "x";
      const std::optional<std::string> said = refusal(table, {typed});
      REQUIRE(said);
      CHECK_MESSAGE(said->find(name) != std::string::npos, *said);
    }
  }
}

TEST_CASE("an option that may stand once is refused twice") {
  for (const auto& [command, table] : all_tables()) {
    for (const OptionTable::Entry& entry : table.entries()) {
      if (entry.shape.repeatable || entry.shape.argument != "FILE") continue;
      const std::string name(split_names(entry.shape.names).front());
      check_refused(table, {name + "=a", name + "=b"}, name);
    }
  }
}

TEST_CASE("exec, copy and rcopy name the option that was meant, also that of clush and scp") {
  const std::vector<std::array<std::string, 3>> rows = {
      {"exec", "--fanot", "did you mean --fanout?"},
      {"exec", "--timeuot=3", "did you mean --timeout?"},
      {"exec", "--grce", "did you mean --grace?"},
      {"exec", "--command_timeout", "use -u SECONDS"},
      {"exec", "--maxrc", "use -S"},
      {"exec", "-c", "use dslaunch copy or dslaunch rcopy"},
      {"exec", "-a", "use -g '*'"},
      {"exec", "-q", "see dslaunch exec --help; a program's own options stand after --"},
      {"copy", "--fanot", "did you mean --fanout?"},
      {"copy", "--recursive", "use -r"},
      {"copy", "--group", "use -g GROUP"},
      {"copy", "--nothing-like-it", "see dslaunch copy --help"},
      {"rcopy", "--quik", "did you mean --quick?"},
      {"rcopy", "--preserve", "use -p"},
      {"rcopy", "-q", "see dslaunch rcopy --help"},
  };
  for (const auto& [command, option, hint] : rows) {
    std::string name = option.substr(0, option.find('='));
    std::ranges::replace(name, '_', '-');
    CHECK(refusal_of(command, option) == fmt::format("unknown option {}\n  hint: {}", name, hint));
  }
}
