// One table of options a subcommand; dsrunner knows what a checkpoint is.
#include "launcher/hand_over/checkpoint_commands.h"

#include <array>
#include <span>

#include "launcher/cli/option_values.h"
#include "launcher/hand_over/hand_over.h"

namespace ds::launcher {
namespace {

constexpr int kMostAveraged = 1000;

using Words = std::vector<std::string>;

void pass_count_on(HandedWords& handed, const GivenOption& given) {
  number_value(given, 2, kMostAveraged);
  pass_on(handed, given);
}

void pass_rows_on(HandedWords& handed, const GivenOption& given) {
  number_value(given, 1, 1 << 24);
  pass_on(handed, given);
}

constexpr HandedOption kInspect[] = {
    {{"--no-verify", "", "leave the checksums alone: facts and the tree, at once"}, pass_on},
    {{"--all", "", "every block and every line, also those that are alike or equal"}, pass_on},
    {{"--json", "", "the same for programs, with every tensor"}, pass_on},
};

template <std::size_t N>
void one_of(const GivenOption& given, const std::array<std::string_view, N>& words) {
  choice_value<int>(given, words);
}

constexpr HandedOption kExport[] = {
    {{"--format", "FORM", "hf: a folder that Hugging Face's transformers loads (default: hf)"},
     [](HandedWords& handed, const GivenOption& given) {
       one_of(given, std::array<std::string_view, 1>{"hf"});
       pass_on(handed, given);
     }},
    {{"--dtype", "fp32|bf16|fp16", "type of the weights written (default: fp32)"},
     [](HandedWords& handed, const GivenOption& given) {
       one_of(given, std::array<std::string_view, 3>{"fp32", "bf16", "fp16"});
       pass_on(handed, given);
     }},
    {{"--shard-size", "SIZE", "most bytes of tensors in one file (default: 5G)"}, pass_size_on},
    {{"--vocab", "N",
      "rows of the embedding to write (default: as many as the tokenizer\n"
      "has tokens; the rows beyond are padding)"},
     pass_rows_on},
};

constexpr HandedOption kAverage[] = {
    {{"--out", "DIR", "the folder that is made for the mean; nothing is written over"},
     pass_text_on},
    {{"--last", "N", "the newest N checkpoints of one folder"}, pass_count_on},
};

OptionTable table_of(std::span<const HandedOption> options, HandedWords& handed) {
  OptionTable table;
  table.add("Options", options, handed);
  return table;
}

/// As the help shows them.
template <const auto& options>
OptionTable shown() {
  static HandedWords unused;
  return table_of(options, unused);
}

void check_inspect(const Words& words) {
  if (words.empty()) usage_error("no checkpoint given", "dslaunch inspect CHECKPOINT");
  if (words.size() > 2)
    usage_error("more than two checkpoints given", "dslaunch inspect A B compares two");
}

void check_export(const Words& words) {
  if (words.size() != 2)
    usage_error("export takes a checkpoint and a folder to make", "dslaunch export CHECKPOINT OUT");
}

void check_average(const Words& words) {
  if (words.empty())
    usage_error("no checkpoint given", "dslaunch average CHECKPOINT CHECKPOINT --out DIR");
}

int run_inspect(int argc, char** argv) {
  HandedWords handed;
  return run_handed_over(kInspectCommand, table_of(kInspect, handed), handed, check_inspect, argc,
                         argv);
}

int run_export(int argc, char** argv) {
  HandedWords handed;
  return run_handed_over(kExportCommand, table_of(kExport, handed), handed, check_export, argc,
                         argv);
}

int run_average(int argc, char** argv) {
  HandedWords handed;
  return run_handed_over(kAverageCommand, table_of(kAverage, handed), handed, check_average, argc,
                         argv);
}

}  // namespace

constinit const Command kInspectCommand = {
    .name = "inspect",
    .summary = "show what a checkpoint holds and whether it is whole, or compare two",
    .run = run_inspect,
    .synopsis = "CHECKPOINT [CHECKPOINT] [options]",
    .details =
        "CHECKPOINT is a step's folder, or a folder of checkpoints, of which the newest complete\n"
        "one is taken. Two are compared: training state, arithmetic, config, tensors, and every\n"
        "element. Exit code 0: whole, or equal (but for config that decides no bits); 1: broken\n"
        "or different; 65: not a checkpoint. docs/checkpoint.md explains the output.",
    .options = shown<kInspect>,
};

constinit const Command kExportCommand = {
    .name = "export",
    .summary = "write a checkpoint's weights for other programs",
    .run = run_export,
    .synopsis = "CHECKPOINT OUT [options]",
    .details =
        "CHECKPOINT is a step's folder, or a folder of checkpoints, of which the newest complete\n"
        "one is taken. OUT is made: config.json and model.safetensors, whole or not at all, with "
        "a\n"
        "few pieces in memory at a time. Names and layouts are those of Hugging Face's gpt2 and\n"
        "llama.",
    .options = shown<kExport>,
};

constinit const Command kAverageCommand = {
    .name = "average",
    .summary = "make a checkpoint of the mean of several checkpoints' weights",
    .run = run_average,
    .synopsis = "CHECKPOINT... --out DIR",
    .details =
        "Each weight is the mean in double of the f32 master weights, rounded once. The result is\n"
        "a checkpoint without moments, of the last one's step and config: "
        "checkpoint.load=weights,\n"
        "inspect and export take it. Different models are refused.",
    .options = shown<kAverage>,
};

}  // namespace ds::launcher
