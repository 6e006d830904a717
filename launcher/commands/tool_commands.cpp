// Subcommands plan, inspect, export, average, sample, eval, data, report and convert: checks the
// words by the tables in engine/base/tool_options.h and executes dsrunner.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "engine/base/error.h"
#include "engine/base/tool_options.h"
#include "launcher/cli/option_table.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/start/job_request.h"

namespace ds::launcher {
namespace {

using Words = std::vector<std::string>;

/// Returns a table that checks the options and appends them to `handed` as --NAME=VALUE.
OptionTable tool_table(std::string_view tool, Words& handed) {
  OptionTable table;
  for (const ToolOption& option : tool_options(tool))
    table.add({option.section,
               {option.name, option.argument, option.help, option.repeats},
               [&handed, &option](const GivenOption& given) {
                 check_tool_value(option, given.value);
                 const bool is_flag = option.kind == ToolOption::Kind::flag;
                 handed.push_back(is_flag ? given.name : given.name + "=" + given.value);
               }});
  return table;
}

[[noreturn]] void become_dsrunner(const Words& words) {
  Words command = {std::filesystem::path(own_path()).parent_path() / "dsrunner"};
  command.insert(command.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv(arguments.front(), arguments.data());
  throw Error(
      ErrorKind::config,
      fmt::format("cannot run {}: {}", command.front(), std::generic_category().message(errno)),
      fmt::format("{} needs dsrunner in the folder of dslaunch", words.front()));
}

/// Runs such a subcommand; `check` checks the words that are not options.
template <const Command& command, void (*check)(const Words& words)>
int run_tool(int argc, char** argv) {
  Words handed = {std::string(command.name)};
  const OptionTable table = tool_table(command.name, handed);
  const auto words = read_command(command, table, argc, argv);
  if (!words) return 0;
  check(*words);
  handed.insert(handed.end(), words->begin(), words->end());
  become_dsrunner(handed);
}

/// Returns the options of `command` for help, manual and completion.
template <const Command& command>
OptionTable shown() {
  static Words unused;
  return tool_table(command.name, unused);
}

/// Checks that the train.toml can be read, as for a job.
void check_plan(const Words& words) {
  if (words.empty()) usage_error("no train.toml is given", "usage: dslaunch plan train.toml");
  train_command({.config = words.front(), .overrides = {}});
}

void check_inspect(const Words& words) {
  if (words.empty()) usage_error("no checkpoint is given", "usage: dslaunch inspect CHECKPOINT");
  if (words.size() > 2)
    usage_error("more than two checkpoints are given", "to compare two: dslaunch inspect A B");
}

void check_export(const Words& words) {
  if (words.size() != 2)
    usage_error("export takes a checkpoint and an output folder",
                "usage: dslaunch export CHECKPOINT OUT");
}

void check_sample(const Words& words) {
  if (words.size() != 1)
    usage_error("sample takes a checkpoint or a Hugging Face folder",
                "usage: dslaunch sample CHECKPOINT|FOLDER --prompt TEXT");
}

void check_eval(const Words& words) {
  if (words.empty())
    usage_error("eval takes a checkpoint or a Hugging Face folder",
                "usage: dslaunch eval CHECKPOINT|FOLDER [FILES...]");
}

void check_average(const Words& words) {
  if (words.empty())
    usage_error("no checkpoint is given",
                "usage: dslaunch average CHECKPOINT CHECKPOINT --out DIR");
}

void check_data(const Words& words) {
  const std::string task = words.empty() ? "" : words.front();
  if (task == "train-tokenizer") {
    if (words.size() < 2)
      usage_error("no text is given",
                  "usage: dslaunch data train-tokenizer FILE... --out FOLDER --vocab N");
    return;
  }
  if ((task != "pack" && task != "show") || words.size() < 2)
    usage_error("data takes pack or show with a train.toml, or train-tokenizer with files",
                "usage: dslaunch data pack|show train.toml");
  train_command({.config = words[1], .overrides = {}});
}

void check_report(const Words& words) {
  if (words.empty())
    usage_error("no run folder is given", "usage: dslaunch report RUN... [--out report.html]");
}

void check_convert(const Words& words) {
  if (words.size() != 1)
    usage_error("convert takes one DeepSpeed configuration",
                "usage: dslaunch convert ds_config.json");
}

}  // namespace

constinit const Command kPlanCommand = {
    .name = "plan",
    .summary = "Print the memory, traffic and time of a training job, without a cluster",
    .run = run_tool<kPlanCommand, check_plan>,
    .synopsis = "train.toml [key=value ...] [options]",
    .details =
        "Exit code 65 if the job does not fit, with advice. docs/plan.md explains the output.",
    .options = shown<kPlanCommand>,
};

constinit const Command kInspectCommand = {
    .name = "inspect",
    .summary = "Show the contents and integrity of a checkpoint, or compare two",
    .run = run_tool<kInspectCommand, check_inspect>,
    .synopsis = "CHECKPOINT [CHECKPOINT] [options]",
    .details =
        R"(CHECKPOINT is the folder of one step, or a folder of checkpoints; then its newest complete
one is used. Two checkpoints are compared: training state, arithmetic, config, tensors, and
every element. Exit code: 0 complete, or equal (except config that changes no bits); 1
broken or different; 65 not a checkpoint. docs/checkpoint.md explains the output.)",
    .options = shown<kInspectCommand>,
};

constinit const Command kExportCommand = {
    .name = "export",
    .summary = "Write a checkpoint's weights for other programs",
    .run = run_tool<kExportCommand, check_export>,
    .synopsis = "CHECKPOINT OUT [options]",
    .details =
        "CHECKPOINT is the folder of one step, or a folder of checkpoints; then its newest "
        "complete\n"
        "one is used. OUT is created with config.json and model.safetensors, completely or not at\n"
        "all. Only a few pieces are in memory at a time. Names and layouts are those of Hugging\n"
        "Face's gpt2 and llama.",
    .options = shown<kExportCommand>,
};

constinit const Command kSampleCommand = {
    .name = "sample",
    .summary = "Continue prompts or fill masks with a checkpoint or a Hugging Face folder",
    .run = run_tool<kSampleCommand, check_sample>,
    .synopsis = "CHECKPOINT|FOLDER [options]",
    .details =
        "CHECKPOINT is the folder of one step, or a folder of checkpoints; then its newest "
        "complete\n"
        "one is used. FOLDER holds config.json and safetensors. Prints text for models whose "
        "tokens\n"
        "are bytes, else token numbers. The same seed gives the same tokens, whatever the batch "
        "and\n"
        "the threads. docs/sampling.md explains the output.",
    .options = shown<kSampleCommand>,
};

constinit const Command kEvalCommand = {
    .name = "eval",
    .summary = "Compute loss and perplexity of a checkpoint or a folder on data",
    .run = run_tool<kEvalCommand, check_eval>,
    .synopsis = "CHECKPOINT|FOLDER [FILES...] [key=value ...] [options]",
    .details =
        "CHECKPOINT is the folder of one step, or a folder of checkpoints; then its newest "
        "complete\n"
        "one is used. Without FILES, its own validation data are evaluated, and the loss has the "
        "bits\n"
        "that training recorded at that step. docs/evaluation.md explains the output.",
    .options = shown<kEvalCommand>,
};

constinit const Command kDataCommand = {
    .name = "data",
    .summary = "Make token files or a tokenizer of texts, or show what a step reads",
    .run = run_tool<kDataCommand, check_data>,
    .synopsis = "pack|show train.toml [key=value ...] | train-tokenizer FILE... [options]",
    .details =
        "pack tokenizes data.train and writes Megatron's pair of files, which data.format =\n"
        "\"tokens\" reads. It can be interrupted and repeated: what is done is kept. show prints "
        "the\n"
        "samples of a step with what is learned of them. docs/data.md explains both.\n"
        "train-tokenizer learns a byte-level BPE tokenizer from text files, or lines of JSON "
        "(.jsonl),\n"
        "which may be compressed (.gz, .zst): docs/tokenizers.md.",
    .options = shown<kDataCommand>,
};

constinit const Command kConvertCommand = {
    .name = "convert",
    .summary = "Print a DeepSpeed configuration as train.toml",
    .run = run_tool<kConvertCommand, check_convert>,
    .synopsis = "DS_CONFIG.JSON [options]",
    .details =
        "Every line names the key that it is from. What has no effect here follows, with the\n"
        "reason. A file that cannot be converted is refused with all reasons (exit code 65). The\n"
        "key deepspeed of a train.toml takes such a file without conversion. docs/deepspeed.md\n"
        "lists every key.",
    .options = shown<kConvertCommand>,
};

constinit const Command kReportCommand = {
    .name = "report",
    .summary = "Write a page with the curves of one or several runs",
    .run = run_tool<kReportCommand, check_report>,
    .synopsis = "RUN... [options]",
    .details =
        "RUN is a run folder (log.dir). Runs that are still going on and runs that were killed can\n"
        "be shown, too; the parts of a resumed run are joined. The page is one HTML file that "
        "needs\n"
        "no network. docs/metrics.md explains it.",
    .options = shown<kReportCommand>,
};

constinit const Command kAverageCommand = {
    .name = "average",
    .summary = "Write a checkpoint with the mean of several checkpoints' weights",
    .run = run_tool<kAverageCommand, check_average>,
    .synopsis = "CHECKPOINT... --out DIR",
    .details =
        "Each weight is the mean, computed in double, of the f32 master weights, rounded once. "
        "The\n"
        "result is a checkpoint without moments, with the step and config of the last one given.\n"
        "checkpoint.load=weights, inspect and export accept it. Different models are refused.",
    .options = shown<kAverageCommand>,
};

}  // namespace ds::launcher
