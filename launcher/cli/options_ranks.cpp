// Options of what the ranks run: environment, training, and the programs after ':'.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>

#include "engine/base/split.h"
#include "launcher/cli/env_file.h"
#include "launcher/cli/options.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {

namespace {

void add_forward(EnvOptions& part, const GivenOption& given) {
  const std::size_t equals = given.value.find('=');
  EnvForward forward{given.value.substr(0, equals), std::nullopt};
  if (equals != std::string::npos) forward.value = given.value.substr(equals + 1);
  const bool is_pattern = forward.name.ends_with('*') && !forward.value;
  if (!is_env_name(is_pattern ? forward.name.substr(0, forward.name.size() - 1) : forward.name))
    usage_error(
        fmt::format("-x must be NAME, NAME=value or 'PREFIX*', not '{}'", given.value),
        forward.name == "*" ? "use --env all to forward all variables" : "see dslaunch --help");
  if (is_reserved_variable(forward.name))
    usage_error(fmt::format("-x {}: dslaunch sets this variable for every rank", forward.name),
                "remove the option");
  for (const EnvForward& other : part.forward)
    if (other.name == forward.name) usage_error(fmt::format("-x {} is given twice", forward.name));
  part.forward.push_back(std::move(forward));
}

void add_families(EnvOptions& part, const GivenOption& given) {
  for (const std::string_view word : split(given.value, ',')) {
    if (word != "openmpi" && word != "mpich" && word != "horovod" && word != "all")
      usage_error(fmt::format("{} cannot be '{}'", given.name, word),
                  "give a list of openmpi, mpich, horovod, or all");
    part.families.openmpi |= word == "openmpi" || word == "all";
    part.families.mpich |= word == "mpich" || word == "all";
    part.families.horovod |= word == "horovod" || word == "all";
  }
}

/// Number of options at the start of the table that a program after ':' may have too.
constexpr std::size_t kProgramOptions = 2;
constexpr OptionDef<EnvOptions> kEnvOptions[] = {
    {{"--wdir", "DIR", "Working directory on every node (default: the current one)"},
     set_text<&EnvOptions::wdir>},
    {{"-x", "NAME[=value]",
      "Set NAME in every rank's environment; without =value, forward the\n"
      "launcher's own value; 'PREFIX*' forwards all that match; repeatable",
      true},
     add_forward},
    {{"--env-file", "FILE",
      "Set variables from FILE, one NAME=value per line (\"-\": standard\n"
      "input), after ~/.deepspeed_env and ./.deepspeed_env; repeatable",
      true},
     add_text<&EnvOptions::files>},
    {{"--env", "WHAT",
      "Variables that other nodes get without -x: allow (those that\n"
      "configure such jobs), all or none (default: allow)"},
     set_choice<"allow|all|none", &EnvOptions::policy>},
    {{"--mpi-env", "LIST",
      "Also set the rank variables of openmpi, mpich and horovod (default of\n"
      "the bare option: all)",
      false, "all"},
     add_families},
    {{"--mpi", "auto|pmi1|pmi2|pmix|any|none",
      "How MPI libraries of the ranks meet: pmi1 or pmi2 (MPICH, MVAPICH, Intel\n"
      "MPI; the same descriptor), pmix (Open MPI), any (what the nodes can, for\n"
      "scripts), none, or auto: as the library needs it that the program is\n"
      "linked with (default: auto)"},
     set_choice<"auto|pmi1|pmi2|pmix|any|none", &EnvOptions::mpi>},
    {{"--redact", "PATTERN",
      "Hide values of matching variables (such as MY_*) and of secrets in all\n"
      "output: in --dry-run=env and in what ranks write; repeatable",
      true},
     add_text<&EnvOptions::redact>},
};

constexpr OptionDef<TrainOptions> kTrainOptions[] = {
    {{"--resume", "auto|never|PATH",
      "Point where the training continues: the newest checkpoint in\n"
      "checkpoint.dir (auto), a new start (never), or this checkpoint; only\n"
      "for a train.toml"},
     set_text<&TrainOptions::resume>},
    {{"--load", "all|weights",
      "What to take from --resume PATH; with weights the training starts at\n"
      "step 0 with these weights; only for a train.toml"},
     [](TrainOptions& part, const GivenOption& given) {
       choice_value(given, "all|weights");
       part.load = given.value;
     }},
};

/// Quotes text as a TOML string so that no path is read as a number.
std::string quoted(const std::string& text) {
  std::string word = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') word += '\\';
    word += letter;
  }
  return word + '"';
}

constexpr const char* kForm =
    "for example: dslaunch -n 2 -- ./a : -n 4 -- ./b   (--one-program makes ':' an argument)";

constexpr OptionDef<MoreProgram> kMoreOptions[] = {
    {{"-n,--np", "N", ""}, set_number<1, kMaxRanks, &MoreProgram::ranks>},
    {{"--ppn,--npernode", "N", ""}, set_number<1, kMaxSlots, &MoreProgram::per_host>},
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
  return std::adjacent_find(from, end, [](const std::string& word, const std::string& next) {
    return word == ":" && next.starts_with('-');
  });
}

MoreProgram read_program(WordIt begin, WordIt end) {
  const WordIt dashes = std::find(begin, end, "--");
  if (dashes == end) usage_error("the program after ':' needs -- before its command", kForm);
  MoreProgram program;
  OptionTable table;
  table.add("", kMoreOptions, program);
  table.add("", env_options().first(kProgramOptions), program.env);
  const std::vector<std::string> rest = table.read(
      {begin, dashes}, Words::mixed,
      "only -n, --ppn, --role, --host, -x and --wdir may follow ':'; put options of the job first");
  if (!rest.empty())
    usage_error(fmt::format("unexpected '{}' between ':' and --", rest.front()), kForm);
  program.command.assign(dashes + 1, end);
  if (program.command.empty() || program.command.front().empty())
    usage_error("no command after -- in the program after ':'", kForm);
  return program;
}

}  // namespace

std::span<const OptionDef<EnvOptions>> env_options() { return kEnvOptions; }
std::span<const OptionDef<TrainOptions>> train_options() { return kTrainOptions; }

void add_overrides(const TrainOptions& options, std::optional<TrainForm>& train) {
  for (const auto& [option, key, value] :
       {std::tuple("--resume", "checkpoint.resume=", options.resume),
        std::tuple("--load", "checkpoint.load=", options.load)}) {
    if (!value) continue;
    if (!train)
      usage_error(fmt::format("{} applies only to a train.toml", option),
                  "dslaunch [options] train.toml [key=value ...]");
    if (std::ranges::any_of(train->overrides,
                            [key = key](const std::string& word) { return word.starts_with(key); }))
      usage_error(fmt::format("both {} and {}... are given", option, key), "give only one of them");
    train->overrides.push_back(key + quoted(*value));
  }
}

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
