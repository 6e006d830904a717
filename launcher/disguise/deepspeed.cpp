// Option table of DeepSpeed's launcher, and its translation.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "launcher/cli/option_table.h"
#include "launcher/disguise/disguise.h"

namespace ds::launcher {

namespace {

struct DeepspeedWords {
  std::vector<std::pair<std::string, std::string>> options{};  // options of dslaunch, in order
  std::optional<std::string> node_rank{};
  bool no_ssh = false;
  bool elastic = false;
  std::optional<std::string> least_nodes{}, most_nodes{};  // of --elastic_training
  PythonForm form{.local_rank = true};

  [[nodiscard]] bool has(std::string_view option) const {
    return std::ranges::any_of(options, [&](const auto& one) { return one.first == option; });
  }
};

using Given = ForeignGiven;
constexpr std::string_view kNoList = "dslaunch's --bind cores divides the node's cores";
constexpr std::string_view kOwnWay =
    "dslaunch connects to nodes itself; see --transport, ~/.ssh/config";

/// Gives the value to `option` of dslaunch.
template <Literal option>
void hand_on(DeepspeedWords& part, const Given& given) {
  part.options.emplace_back(option.text, given.values[0]);
}

/// Sets dslaunch's --log-level from a level of Python's logging.
void set_level(DeepspeedWords& part, const Given& given) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kLevels = {
      {{"debug", "debug"},
       {"info", "info"},
       {"warning", "warn"},
       {"error", "error"},
       {"critical", "error"}}};
  for (const auto& [theirs, ours] : kLevels)
    if (given.values[0] == theirs) return part.options.emplace_back("--log-level", ours), void();
  usage_error(fmt::format("deepspeed: {} cannot be '{}'", given.name, given.values[0]),
              "choose one of: debug, info, warning, error, critical");
}

constexpr ForeignDef<DeepspeedWords> kDeepspeedOptions[] = {
    {{"-H,--hostfile", "FILE", Fate::taken, "--hostfile; a missing file is an error"},
     hand_on<"--hostfile">},
    {{"-i,--include", "LIST", Fate::taken, "--include"}, hand_on<"--include">},
    {{"-e,--exclude", "LIST", Fate::taken, "--exclude"}, hand_on<"--exclude">},
    {{"--num_nodes", "N", Fate::taken, "--num-nodes"}, hand_on<"--num-nodes">},
    {{"--num_gpus,--num_accelerators", "N", Fate::taken, "--num-gpus"}, hand_on<"--num-gpus">},
    {{"--master_addr", "HOST", Fate::taken, "--master-addr"}, hand_on<"--master-addr">},
    {{"--master_port", "PORT", Fate::taken, "--master-port (default: any free port)"},
     hand_on<"--master-port">},
    {{"--node_rank", "N", Fate::taken, "with --no_ssh: --part N"},
     take<&DeepspeedWords::node_rank>},
    {{"--no_ssh", "", Fate::taken, "--part N: start only the ranks of this node"},
     take_flag<&DeepspeedWords::no_ssh>},
    {{"--no_ssh_check", "", Fate::quiet,
      "dslaunch always connects to all nodes before any rank starts"}},
    {{"--force_multi", "", Fate::quiet, "one node works like several"}},
    {{"--ssh_port", "PORT", Fate::refused,
      "use port=PORT in the hostfile, or Port in ~/.ssh/config"}},
    {{"--launcher", "NAME", Fate::noted, kOwnWay}},
    {{"--launcher_args", "TEXT", Fate::noted, kOwnWay}},
    {{"--module", "", Fate::taken, "python3 -u -m PROGRAM"},
     take_flag<&DeepspeedWords::form, &PythonForm::module>},
    {{"--no_python", "", Fate::taken, "run PROGRAM itself"},
     take_flag<&DeepspeedWords::form, &PythonForm::no_python>},
    {{"--no_local_rank", "", Fate::taken, "no --local_rank=N after PROGRAM"},
     [](DeepspeedWords& part, const Given&) { part.form.local_rank = false; }},
    {{"--enable_each_rank_log", "DIR", Fate::taken, "--log-dir node:DIR --show none"},
     [](DeepspeedWords& part, const Given& given) {
       if (given.values[0] == "None") return;
       part.options.emplace_back("--log-dir", "node:" + given.values[0]);
       part.options.emplace_back("--show", "none");
     }},
    {{"--log_level", "LEVEL", Fate::taken, "--log-level"}, set_level},
    {{"-q,--quiet", "", Fate::taken, "--log-level error"},
     [](DeepspeedWords& part, const Given&) { part.options.emplace_back("--log-level", "error"); }},
    {{"--save_pid", "", Fate::noted, "use dslaunch ps to list jobs, dslaunch kill to stop one"}},
    {{"--bind_cores_to_rank", "", Fate::taken, "--bind cores"},
     [](DeepspeedWords& part, const Given&) { part.options.emplace_back("--bind", "cores"); }},
    {{"--bind_core_list", "LIST", Fate::noted, kNoList}},
    {{"--venv_script", "FILE", Fate::refused,
      "PATH and VIRTUAL_ENV are forwarded to the nodes, or use -x"}},
    {{"--elastic_training", "", Fate::taken, "--nodes MIN:MAX; --max-restarts 3"},
     take_flag<&DeepspeedWords::elastic>},
    {{"--min_elastic_nodes", "N", Fate::taken,
      "MIN of --nodes (default: 1); only with --elastic_training"},
     take<&DeepspeedWords::least_nodes>},
    {{"--max_elastic_nodes", "N", Fate::taken,
      "MAX of --nodes (default: all hosts); only with --elastic_training"},
     take<&DeepspeedWords::most_nodes>},
    {{"--autotuning", "MODE", Fate::refused,
      "use dslaunch plan for the memory that a configuration needs"}},
};

constexpr std::span<const ForeignDef<DeepspeedWords>> kDeepspeedTable(kDeepspeedOptions);

/// Translates --no_ssh: starts only this node of the hosts.
void add_part(const DeepspeedWords& words, Disguised& out) {
  if (!words.node_rank)
    usage_error("deepspeed: --no_ssh needs the rank of this node", "give --node_rank N");
  if (!words.has("--master-addr"))
    usage_error("deepspeed: --no_ssh needs the master's address", "give --master_addr HOST");
  out.add("--part", *words.node_rank);
  if (!words.has("--master-port")) out.add("--master-port", "29500");
}

/// Translates --elastic_training. -1 stands for the default, as in DeepSpeed.
void add_nodes(const DeepspeedWords& words, Disguised& out) {
  const auto given = [](const std::optional<std::string>& value, std::string_view usual) {
    return value && *value != "-1" ? *value : std::string(usual);
  };
  if (words.elastic)
    return out.add("--nodes", given(words.least_nodes, "1") + ":" + given(words.most_nodes, ""));
  if (words.least_nodes || words.most_nodes)
    out.notes.emplace_back(
        "--min_elastic_nodes and --max_elastic_nodes have no effect without --elastic_training");
}

}  // namespace

Disguised translate_deepspeed(std::string_view program, std::span<const std::string> words,
                              const Surroundings& around) {
  const std::vector<ForeignOption> shapes = shapes_of(kDeepspeedTable);
  const ForeignWords read = read_foreign(program, shapes, Spelling::argparse, words);
  DeepspeedWords deepspeed;
  apply_foreign(kDeepspeedTable, read, deepspeed);
  Disguised out;
  out.notes = notes_of(shapes, read);
  for (const auto& [option, value] : deepspeed.options) out.add(option, value);
  add_nodes(deepspeed, out);
  if (deepspeed.no_ssh) add_part(deepspeed, out);
  if (!deepspeed.no_ssh && deepspeed.node_rank)
    out.notes.emplace_back(
        "--node_rank has no effect without --no_ssh: dslaunch numbers the nodes");
  constexpr const char* kHosts[] = {"--hostfile", "--include", "--exclude", "--num-gpus"};
  if (std::ranges::none_of(kHosts, [&](const char* option) { return deepspeed.has(option); }))
    out.add("-n", "all");
  const std::vector<std::string> command =
      program_words(program, deepspeed.form, words.subspan(read.rest), around);
  out.words.insert(out.words.end(), command.begin(), command.end());
  return out;
}

std::vector<ForeignOption> deepspeed_options() { return shapes_of(kDeepspeedTable); }

}  // namespace ds::launcher
