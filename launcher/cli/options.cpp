// The only file that includes CLI11: it splits words into options, and every value is checked here.
#include "launcher/cli/options.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <array>
#include <charconv>

#include "engine/base/error.h"
#include "engine/base/nearest_word.h"
#include "launcher/cli/duration.h"
#include "runner/contract.h"

namespace ds::launcher {
namespace {

constexpr int kMaxRanks = 1 << 20;
constexpr int kMaxWindow = 4096;
constexpr const char* kForms =
    "dslaunch [options] train.toml [key=value ...]   or   dslaunch [options] -- COMMAND ARGS...";

[[noreturn]] void fail(const std::string& message, std::string hint = "see dslaunch --help") {
  throw Error(ErrorKind::usage, message, std::move(hint));
}

/// Options as typed; CLI11 fills it, the functions below give it meaning.
struct Words {
  std::optional<std::string> hostfile, ranks, wdir, grace, log_level, transport, agent_path;
  std::optional<std::string> connect_timeout, node_timeout, window, ssh_config;
  std::string dry_run;
  std::vector<std::string> forward, known_hosts, positional;
};

void declare(CLI::App& app, Words& words) {
  app.add_option("--hostfile", words.hostfile);
  app.add_option("-n", words.ranks);
  app.add_option("--wdir", words.wdir);
  app.add_option("-x", words.forward)->allow_extra_args(false);
  app.add_option("--grace", words.grace);
  app.add_flag("--dry-run{table}", words.dry_run);
  app.add_option("--log-level", words.log_level);
  app.add_option("--transport", words.transport);
  app.add_option("--agent-path", words.agent_path);
  app.add_option("--connect-timeout", words.connect_timeout);
  app.add_option("--node-timeout", words.node_timeout);
  app.add_option("--window", words.window);
  app.add_option("--ssh-config", words.ssh_config);
  app.add_option("--known-hosts", words.known_hosts)->allow_extra_args(false);
  app.add_option("words", words.positional);
  app.add_flag("--version");
  for (CLI::Option* option : app.get_options()) {
    const bool repeatable = option->get_expected_max() > 1 || option->get_positional();
    if (!repeatable) option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  app.allow_extras();  // Unknown options are reported below, with the nearest known one.
}

std::vector<std::string> names_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

[[noreturn]] void fail_unknown_option(const CLI::App& app, const std::string& word) {
  const std::string typed = word.substr(0, word.find('='));
  const std::vector<std::string> names = names_of(app);
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string near = typed.size() > 2 ? nearest_word(typed, known) : "";
  fail(fmt::format("unknown option {}", typed),
       near.empty() ? "see dslaunch --help; a program's own options stand after --"
                    : fmt::format("did you mean {}?", near));
}

int number(const std::string& option, const std::string& text, int most) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || stop != end || error != std::errc() || value < 1 || value > most) {
    fail(fmt::format("{} needs a whole number from 1 to {}, not '{}'", option, most, text));
  }
  return value;
}

std::chrono::milliseconds duration(const std::string& option, const std::string& text) {
  const std::optional<std::chrono::milliseconds> span = parse_duration(text);
  if (!span) {
    fail(fmt::format("{} needs a time, not '{}'", option, text),
         "as in 10 (seconds), 10s, 500ms, 2m");
  }
  return *span;
}

std::chrono::milliseconds positive_duration(const std::string& option, const std::string& text) {
  const std::chrono::milliseconds span = duration(option, text);
  if (span.count() == 0) fail(fmt::format("{} must be longer than 0", option));
  return span;
}

std::string not_empty(const std::string& option, std::string text) {
  if (text.empty()) fail(fmt::format("{} is empty", option));
  return text;
}

/// One of a few words; `Value` is an enum whose enumerators stand in the order of `names`.
template <typename Value, std::size_t N>
Value one_of(const std::string& option, const std::string& text,
             const std::array<std::string_view, N>& names) {
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) {
    fail(fmt::format("{} cannot be '{}'", option, text),
         fmt::format("one of: {}", fmt::join(names, ", ")));
  }
  return static_cast<Value>(found - names.begin());
}

bool is_env_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

/// Variables that dslaunch computes for each rank: a forwarded value could only be wrong.
bool is_reserved(std::string_view name) {
  using namespace contract;
  constexpr std::array<std::string_view, 11> kReserved = {
      kRank,       kLocalRank,  kWorldSize, kLocalWorldSize, kNodeRank, kGroupRank,
      kMasterAddr, kMasterPort, kCrossRank, kCrossSize,      kLocalSize};
  return name.starts_with("DSLAUNCH_") ||
         std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

std::vector<EnvForward> forwards(const std::vector<std::string>& words) {
  std::vector<EnvForward> result;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    EnvForward forward{word.substr(0, equals), std::nullopt};
    if (equals != std::string::npos) forward.value = word.substr(equals + 1);
    if (!is_env_name(forward.name)) {
      fail(fmt::format("-x needs NAME or NAME=value, not '{}'", word));
    }
    if (is_reserved(forward.name)) {
      fail(fmt::format("-x {}: dslaunch sets this variable for every rank", forward.name),
           "leave it out");
    }
    const bool repeated = std::any_of(result.begin(), result.end(), [&](const EnvForward& other) {
      return other.name == forward.name;
    });
    if (repeated) fail(fmt::format("-x {} is given twice", forward.name));
    result.push_back(std::move(forward));
  }
  return result;
}

/// `train.toml key=value ...`, or nothing when there are no words.
std::optional<TrainForm> train_form(const std::vector<std::string>& words, bool command_given) {
  if (words.empty()) return std::nullopt;
  const std::string& first = words.front();
  if (!first.ends_with(".toml")) {
    if (command_given) {
      fail(fmt::format("unexpected '{}' before --", first),
           "a hostfile is given with --hostfile FILE");
    }
    fail(fmt::format("'{}' is not a .toml file", first),
         fmt::format("to run a program: dslaunch [options] -- {}", fmt::join(words, " ")));
  }
  if (command_given) {
    fail(fmt::format("both {} and a command after -- are given", first), kForms);
  }
  TrainForm form{first, {words.begin() + 1, words.end()}};
  for (const std::string& word : form.overrides) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      fail(fmt::format("'{}' after {} is not key=value", word, first),
           "as in train.steps=20 zero.stage=0");
    }
  }
  return form;
}

void check_repeats(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const bool repeatable = option->get_name() == "-x" || option->get_name() == "--known-hosts";
    if (!repeatable && !option->get_positional() && option->count() > 1) {
      fail(fmt::format("{} is given twice", option->get_name()));
    }
  }
}

void split_words(CLI::App& app, std::vector<std::string> args) {
  std::reverse(args.begin(), args.end());  // CLI11 takes them from the back.
  try {
    app.parse(std::move(args));
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view message = error.what();  // "--name: 1 required TEXT missing"
    fail(fmt::format("{} needs a value", message.substr(0, message.find(':'))));
  } catch (const CLI::ParseError& error) {
    fail(error.what());
  }
  for (const std::string& word : app.remaining()) fail_unknown_option(app, word);
  check_repeats(app);
  if (app.count("--version") > 0) fail("--version takes no value");  // The bare one is a shortcut.
}

Options interpret(Words words) {
  Options options;
  if (words.hostfile) options.hostfile = not_empty("--hostfile", *words.hostfile);
  if (words.ranks) options.ranks = number("-n", *words.ranks, kMaxRanks);
  if (words.wdir) options.wdir = not_empty("--wdir", *words.wdir);
  options.forward = forwards(words.forward);
  if (words.grace) options.grace = duration("--grace", *words.grace);
  if (!words.dry_run.empty()) {
    constexpr std::array<std::string_view, 3> kNames = {"off", "table", "json"};
    options.dry_run = one_of<DryRun>("--dry-run", words.dry_run, kNames);
  }
  if (words.log_level) {
    constexpr std::array<std::string_view, 4> kNames = {"error", "warn", "info", "debug"};
    options.log_level = one_of<LogLevel>("--log-level", *words.log_level, kNames);
  }
  if (words.transport) {
    constexpr std::array<std::string_view, 3> kNames = {"auto", "ssh", "local"};
    options.transport = one_of<TransportChoice>("--transport", *words.transport, kNames);
  }
  if (words.agent_path) options.agent_path = not_empty("--agent-path", *words.agent_path);
  if (words.connect_timeout) {
    options.connect_timeout = positive_duration("--connect-timeout", *words.connect_timeout);
  }
  if (words.node_timeout) {
    options.node_timeout = positive_duration("--node-timeout", *words.node_timeout);
  }
  if (words.window) options.window = number("--window", *words.window, kMaxWindow);
  if (words.ssh_config) options.ssh_config = not_empty("--ssh-config", *words.ssh_config);
  for (std::string& file : words.known_hosts) {
    options.known_hosts.push_back(not_empty("--known-hosts", std::move(file)));
  }
  return options;
}

/// --help and --version win over anything else on the line, and cost nothing.
std::optional<Options::Action> shortcut(const std::vector<std::string>& args) {
  for (const std::string& arg : args) {
    if (arg == "--help" || arg == "-h") return Options::Action::show_help;
    if (arg == "--version") return Options::Action::show_version;
  }
  return std::nullopt;
}

}  // namespace

Options parse_args(int argc, const char* const* argv) {
  const char* const* const begin = argv + std::min(argc, 1);
  const char* const* const end = argv + argc;
  const auto dashes = std::find(begin, end, std::string_view("--"));
  const std::vector<std::string> own(begin, dashes);
  if (const std::optional<Options::Action> action = shortcut(own)) {
    Options options;
    options.action = *action;
    return options;
  }

  CLI::App app;
  Words words;
  declare(app, words);
  split_words(app, own);
  const bool command_given = dashes != end;
  std::optional<TrainForm> train = train_form(words.positional, command_given);
  Options options = interpret(std::move(words));
  options.train = std::move(train);
  if (command_given) options.command.assign(dashes + 1, end);
  if (command_given && (options.command.empty() || options.command.front().empty())) {
    fail("no command after --", "as in: dslaunch -n 2 -- hostname");
  }
  if (!command_given && !options.train) fail("nothing to run", kForms);
  return options;
}

std::vector<std::string> option_names() {
  CLI::App app;
  Words words;
  declare(app, words);
  return names_of(app);
}

}  // namespace ds::launcher
