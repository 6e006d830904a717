// Command line parser over CLI11, the only file that includes it; the tables interpret the options.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "engine/base/nearest_word.h"
#include "launcher/cli/option_table.h"

namespace ds::launcher {

namespace {

/// Option of another launcher that users type here.
struct ForeignName {
  std::string_view typed;
  std::string_view needs;  // the hint is given only if this option exists in the table
  std::string_view hint;
};

constexpr std::string_view kRanksOfHost = "use --ppn N for ranks per host, -n N for all ranks";
constexpr std::string_view kAsTorchrun =
    "this is an option of torchrun; use its command line with: dslaunch as torchrun ...";
constexpr std::string_view kAsDeepspeed =
    "this is an option of deepspeed; use its command line with: dslaunch as deepspeed ...";
constexpr std::string_view kAsMpirun =
    "this is an option of mpirun; use its command line with: dslaunch as mpirun ...";
constexpr std::string_view kHasPrefix =
    "each line already begins with its rank; change that with --prefix";

constexpr std::string_view kAllHosts = "use -g '*'";
constexpr std::string_view kCopies = "use dslaunch copy or dslaunch rcopy";

constexpr ForeignName kNames[] = {
    {"-N", "--ppn", kRanksOfHost},
    {"--nproc-per-node", "--ppn", kRanksOfHost},
    {"--ntasks-per-node", "--ppn", kRanksOfHost},
    {"--ntasks", "--ppn", kRanksOfHost},
    {"--tag-output", "--prefix", kHasPrefix},
    {"--label", "--prefix", kHasPrefix},
    {"-l", "--prefix", kHasPrefix},
    {"--timestamp-output", "--timestamps", "use --timestamps"},
    {"--output-filename", "--log-dir", "use --log-dir DIR for one file per rank"},
    {"--display-map", "--dry-run", "use --dry-run to see which rank runs where"},
    {"--report-bindings", "--dry-run", "use --dry-run to see which rank runs where"},
    {"--allow-run-as-root", "--np", "remove it: root may run dslaunch"},
    {"-v", "--log-level", "use --log-level debug for more messages, --version for the version"},
    {"--verbose", "--log-level", "use --log-level debug for more messages"},
    {"-V", "--version", "use dslaunch --version"},
    {"-m", "--np", "for a Python module: dslaunch [options] -- python3 -m MODULE"},
    {"--module", "--np", "for a Python module: dslaunch [options] -- python3 -m MODULE"},
    {"-hosts", "--host", "use --host a:4,b"},
    {"-f", "--hostfile", "use --hostfile FILE"},
    {"--mca", "--np", kAsMpirun},
    {"-mca", "--np", kAsMpirun},
    {"-genv", "--env-file", "use -x NAME=value"},
    {"-env", "--env-file", "use -x NAME=value"},
    {"--standalone", "--np", kAsTorchrun},
    {"--rdzv-backend", "--np", kAsTorchrun},
    {"--rdzv-endpoint", "--np", kAsTorchrun},
    {"--node-rank", "--np", kAsTorchrun},
    {"--launcher", "--np", kAsDeepspeed},
    {"--no-ssh", "--np", kAsDeepspeed},
    {"--ssh-port", "--hostfile", "write port=2222 after the host in the hostfile"},
    {"-a", "-g", kAllHosts},
    {"--all", "-g", kAllHosts},
    {"--group", "-g", "use -g GROUP"},
    {"--user", "-l", "use -l USER"},
    {"--command-timeout", "-u", "use -u SECONDS"},
    {"--dshbak", "--here", "use -b"},
    {"--maxrc", "--here", "use -S"},
    {"-c", "--here", kCopies},
    {"--copy", "--here", kCopies},
    {"--rcopy", "--here", kCopies},
    {"--recursive", "--quick", "use -r"},
    {"--preserve", "--quick", "use -p"},
    {"--dest", "--quick", "the last word is the target"},
};

/// Returns the hint for `typed` (with its dashes). Returns an empty text if the option is unknown
/// or its equivalent is not among the `known` options.
std::string_view meaning_of_foreign(std::string_view typed,
                                    std::span<const std::string_view> known) {
  for (const ForeignName& name : kNames)
    if (name.typed == typed && std::find(known.begin(), known.end(), name.needs) != known.end())
      return name.hint;
  return {};
}

/// CLI11's option with the values it found.
struct Filled {
  CLI::Option* option = nullptr;
  std::vector<std::string> values;
};

std::string_view first_name(const OptionShape& shape) { return split_names(shape.names).front(); }

void declare(CLI::App& app, const OptionShape& shape, Filled& filled) {
  const std::string names(shape.names);
  if (shape.argument.empty()) {
    filled.option = app.add_flag(names);
  } else if (!shape.implied.empty()) {
    std::string with_implied;
    for (const std::string_view name : split_names(shape.names))
      with_implied +=
          fmt::format("{}{}{{{}}}", with_implied.empty() ? "" : ",", name, shape.implied);
    filled.option = app.add_flag(with_implied, filled.values);
  } else {
    filled.option = app.add_option(names, filled.values)->allow_extra_args(false);
  }
  filled.option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

/// `cut`: the rest of the word that CLI11 reports: -osts for -hosts, after -h.
[[noreturn]] void fail_unknown_option(const OptionTable& table, const std::string& cut,
                                      const std::vector<std::string>& args, std::string_view hint) {
  const auto whole = std::find_if(args.begin(), args.end(), [&](const std::string& arg) {
    return arg == cut || (arg.starts_with('-') && !arg.starts_with("--") &&
                          arg.ends_with(std::string_view(cut).substr(1)));
  });
  const std::string& word = whole == args.end() ? cut : *whole;
  const std::string typed = word.substr(0, word.find('='));
  const std::vector<std::string> names = table.names();
  const std::vector<std::string_view> known(names.begin(), names.end());
  const std::string_view meant = meaning_of_foreign(typed, known);
  if (!meant.empty()) usage_error(fmt::format("unknown option {}", typed), std::string(meant));
  const std::string near = typed.size() > 2 ? nearest_word(typed, known) : "";
  usage_error(fmt::format("unknown option {}", typed),
              near.empty() ? std::string(hint) : fmt::format("did you mean {}?", near));
}

/// Normalizes an option's spelling: `--num_nodes=2` -> `--num-nodes=2`, and mpirun's `-np` -> `-n`
/// and `-hostfile` -> `--hostfile`.
std::string with_dashes(const OptionTable& table, std::string word) {
  if (word == "-np") return "-n";
  if (word.size() > 2 && word[0] == '-' && word[1] != '-') {
    const std::string name = "-" + word.substr(0, word.find('='));
    const std::vector<std::string> names = table.names();
    if (std::find(names.begin(), names.end(), name) != names.end()) return "-" + word;
  }
  if (!word.starts_with("--")) return word;
  const std::size_t end = std::min(word.find('='), word.size());
  std::replace(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(end), '_', '-');
  return word;
}

void parse(CLI::App& app, std::vector<std::string> args) {
  std::reverse(args.begin(), args.end());  // CLI11 expects them in reverse order.
  try {
    app.parse(std::move(args));
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string_view message = error.what();  // "--name: 1 required TEXT missing"
    usage_error(fmt::format("{} needs a value", message.substr(0, message.find(':'))));
  } catch (const CLI::ParseError& error) {
    usage_error(error.what());
  }
}

/// Removes and returns the words from the first positional one on. CLI11 would look for options
/// among them.
std::vector<std::string> cut_command(const OptionTable& table, std::vector<std::string>& args) {
  const auto takes_next_word = [&](const std::string& word) {
    for (const OptionTable::Entry& entry : table.entries()) {
      if (entry.shape.argument.empty() || !entry.shape.implied.empty()) continue;
      for (const std::string_view name : split_names(entry.shape.names))
        if (with_dashes(table, word) == name) return true;
    }
    return false;
  };
  auto word = args.begin();
  while (word != args.end() && word->size() > 1 && word->front() == '-' && *word != "--")
    word += takes_next_word(*word) && word + 1 != args.end() ? 2 : 1;
  const bool dashes = word != args.end() && *word == "--";
  std::vector<std::string> command(dashes ? word + 1 : word, args.end());
  args.erase(word, args.end());
  return command;
}

}  // namespace

std::vector<std::string> OptionTable::read(std::vector<std::string> args, Words words,
                                           std::string_view unknown_hint) const {
  std::vector<std::string> command;  // or, if words are mixed, those after "--"
  if (words == Words::command) {
    command = cut_command(*this, args);
  } else if (const auto dashes = std::ranges::find(args, "--"); dashes != args.end()) {
    command.assign(dashes + 1, args.end());
    args.erase(dashes, args.end());
  }
  CLI::App app;
  app.set_help_flag();
  std::vector<Filled> filled(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) declare(app, entries_[i].shape, filled[i]);
  std::vector<std::string> positional;
  if (words == Words::mixed) app.add_option("words", positional);
  app.allow_extras();  // Unknown options are reported here, with the nearest known option.
  for (std::string& arg : args) arg = with_dashes(*this, std::move(arg));
  parse(app, args);
  for (const std::string& word : app.remaining())
    fail_unknown_option(*this, word, args, unknown_hint);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::string name(first_name(entries_[i].shape));
    const std::size_t count = filled[i].option->count();
    if (count > 1 && !entries_[i].shape.repeatable)
      usage_error(fmt::format("{} is given twice", name));
    if (entries_[i].shape.argument.empty() && count > 0) {
      const std::vector<std::string>& flags = filled[i].option->results();
      if (std::any_of(flags.begin(), flags.end(), [](const auto& x) { return x != "true"; }))
        usage_error(fmt::format("{} takes no value", name));
      for (std::size_t times = 0; times < count; ++times) entries_[i].apply({name, ""});
    }
    for (const std::string& value : filled[i].values) entries_[i].apply({name, value});
  }
  positional.insert(positional.end(), command.begin(), command.end());
  return positional;
}

}  // namespace ds::launcher
