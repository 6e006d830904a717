// tool_options(): a table of options for each command of dsrunner.
#include "engine/base/error.h"
#include "engine/base/tool_options.h"

namespace ds {
namespace {

using Kind = ToolOption::Kind;

constexpr std::int64_t kMostNodes = 100'000, kMostSlots = 1024;

constexpr ToolOption kPlan[] = {
    {"--nodes", Kind::text, "N|MIN:MAX",
     "Nodes of the job (default: 1). MIN:MAX: plan the largest size, and\n"
     "list what each size needs",
     "The job"},
    {"--slots", Kind::number, "N", "Ranks on each node (default: 1)", "The job", 1, kMostSlots},
    {"--device-memory", Kind::bytes, "SIZE",
     "Memory that a rank may use on its device, as 80G; without it the\n"
     "device's memory is the node's, as on a CPU",
     "Limits"},
    {"--host-memory", Kind::bytes, "SIZE",
     "Memory that the ranks of a node may use together, as 512G (default\n"
     "for one node: what is free here, limits of cgroups counted)",
     "Limits"},
    {"--rates", Kind::text, "RATES",
     "Rates for the least time of a step: flops=800T (a rank), link=400G (a\n"
     "rank to others on its node), net=50G (a node to others), pcie=55G (a\n"
     "rank), device=4T (its memory), host=200G and nvme=12G/6G (a node),\n"
     "bytes a second each way",
     "Times"},
    {"--measure", Kind::flag, "", "Measure flops and host on this machine, unless --rates has them",
     "Times"},
    {"--print", Kind::text, "PASS",
     "Print the program of one rank after a pass: build, differentiate,\n"
     "recompute, offload_activations, shard, offload, rotate, place; or\n"
     "config: every key with its value",
     "Output"},
    {"--rank", Kind::number, "R", "Rank whose program --print shows (default: 0)", "Output", 0,
     kMostNodes* kMostSlots - 1},
    {"--deepspeed-estimate", Kind::flag, "",
     "Print what DeepSpeed's memory estimators say, beside the plan", "Output"},
    {"--json", Kind::flag, "", "Print the plan as JSON", "Output"},
};

constexpr ToolOption kInspect[] = {
    {"--no-verify", Kind::flag, "", "Skip the checksums: print facts and the tree, at once"},
    {"--all", Kind::flag, "", "Print every block and every line, also those that are equal"},
    {"--json", Kind::flag, "", "Print JSON, with every tensor"},
};

constexpr ToolOption kExport[] = {
    {"--format", Kind::choice, "hf",
     "Format of the weights: hf: a folder that Hugging Face's transformers\n"
     "loads (default: hf)"},
    {"--dtype", Kind::choice, "fp32|bf16|fp16", "Type of the weights written (default: fp32)"},
    {"--adapter", Kind::flag, "",
     "Write only the adapters ([lora]), as a folder of PEFT (default: the\n"
     "model with its adapters merged)"},
    {"--shard-size", Kind::bytes, "SIZE", "Most bytes of tensors in one file (default: 5G)"},
    {"--vocab", Kind::number, "N",
     "Rows of the embedding to write (default: as many as the folder of\n"
     "--like has, else as the tokenizer has tokens; more are padding)",
     "Options", 1, 1 << 24},
    {"--like", Kind::text, "FOLDER",
     "Hugging Face folder whose tokenizer, generation_config.json and\n"
     "special tokens are copied (default: model.from of the training)"},
};

constexpr ToolOption kAverage[] = {
    {"--out", Kind::text, "DIR", "Folder to make for the mean; an existing one is refused"},
    {"--last", Kind::number, "N", "Take the newest N checkpoints of one folder", "Options", 2,
     1000},
};

constexpr ToolOption kSample[] = {
    {.name = "--tokens",
     .kind = Kind::tokens,
     .argument = "NUMBERS",
     .help = "Prompt of token numbers, as 464,3139,286 (several times: several\n"
             "prompts)",
     .section = "Prompts",
     .repeats = true},
    {.name = "--prompt",
     .kind = Kind::text,
     .argument = "TEXT",
     .help = "Prompt as text, for folders with a tokenizer and models whose\n"
             "tokens are bytes (several times: several prompts)",
     .section = "Prompts",
     .repeats = true},
    {"--chat", Kind::text, "NAME",
     "Write each prompt of text as a question, by this chat template (auto:\n"
     "the folder's; docs/chat.md), and print the answer alone",
     "Prompts"},
    {"--prompts", Kind::text, "FILE",
     "File with a prompt on each line: text where --prompt may be used, else\n"
     "token numbers",
     "Prompts"},
    {"--length", Kind::number, "N", "Most tokens to add to each prompt (default: 64)", "Tokens", 1,
     1 << 24},
    {"--temperature", Kind::decimal, "X",
     "Draw tokens by their probabilities at this temperature; 0 takes the\n"
     "likeliest token (default: 0)",
     "Tokens", 0, 1000},
    {"--top-k", Kind::number, "N", "Draw only among the N likeliest tokens", "Tokens", 1, 1 << 24},
    {"--top-p", Kind::decimal, "X",
     "Draw only among the fewest likeliest tokens whose probabilities add\n"
     "up to X",
     "Tokens", 0, 1, true},
    {"--seed", Kind::number, "N", "Seed of the random numbers (default: 1)", "Tokens", 0,
     (std::int64_t{1} << 53) - 1},
    {"--end", Kind::tokens, "NUMBERS",
     "Tokens that end a text (default: eos_token_id of the folder's\n"
     "generation_config.json or config.json; a checkpoint has none)",
     "Tokens"},
    {"--ignore-end", Kind::flag, "", "Go on after a token that ends a text", "Tokens"},
    {"--mask", Kind::number, "N",
     "Token to fill in, for BERT and RoBERTa (default: the mask token of the\n"
     "folder's tokenizer; a checkpoint has none)",
     "Masks", 0, (1 << 24) - 1},
    {"--candidates", Kind::number, "N",
     "Also list the N likeliest tokens of every mask with their probabilities", "Masks", 1,
     1 << 24},
    {"--dtype", Kind::choice, "fp32|bf16|fp16", "Type of weights and activations (default: fp32)",
     "Work"},
    {"--device", Kind::choice, "auto|cpu|cuda",
     "What computes (default: auto: a GPU if there is one)", "Work"},
    {"--threads", Kind::number, "N", "Threads on a CPU (default: as many as cores)", "Work", 1,
     1024},
    {"--batch", Kind::number, "N", "Most prompts that run together (default: 8)", "Work", 1, 8},
    {"--json", Kind::flag, "", "Print JSON", "Output"},
};

constexpr ToolOption kEval[] = {
    {.name = "--data",
     .kind = Kind::text,
     .argument = "FILES",
     .help = "Files to evaluate on, or NAME=FILES for a set with a name (several\n"
             "times); their endings give data.format",
     .section = "Data",
     .repeats = true},
    {"--config", Kind::text, "FILE",
     "Read data.validation of this train.toml (default: that of the\n"
     "checkpoint's own config)",
     "Data"},
    {"--rows", Kind::number, "N",
     "Evaluate N rows of each set, evenly spaced; 0: all (default: all of\n"
     "FILES, else those that a validation in training reads)",
     "Data", 0, INT64_MAX},
    {"--dtype", Kind::choice, "fp32|bf16|fp16",
     "Type of weights and activations (default: that of the config; fp32\n"
     "for a folder)",
     "Work"},
    {"--device", Kind::choice, "auto|cpu|cuda",
     "What computes (default: auto: a GPU if there is one)", "Work"},
    {"--threads", Kind::number, "N", "Threads on a CPU (default: as many as cores)",
     "Work", 1, 1024},
    {"--batch", Kind::number, "N",
     "Rows that run together (default: batch.micro; 8 for a folder)", "Work", 1, 1 << 16},
    {"--json", Kind::flag, "", "Print JSON", "Output"},
};

constexpr ToolOption kConvert[] = {
    {"--hidden", Kind::number, "N",
     "Width of the model, on which some values \"auto\" depend (default: the\n"
     "plan chooses these values)",
     "Options", 1, 1 << 20},
    {"--json", Kind::flag, "", "Print JSON"},
};

constexpr ToolOption kData[] = {
    {"--out", Kind::text, "NAME",
     "Write NAME.bin and NAME.idx (pack), or make the folder NAME\n"
     "(train-tokenizer), which must not exist or be empty",
     "pack and train-tokenizer"},
    {"--threads", Kind::number, "N", "Threads of computation (default: as many as cores)",
     "pack and train-tokenizer", 1, 1024},
    {"--vocab", Kind::number, "N", "Tokens to make, with special ones and the 256 bytes",
     "train-tokenizer", 1, 1 << 24},
    {"--kind", Kind::choice, "gpt2|bert|roberta|t5",
     "Models that it is for: their special tokens, and what stands around a\n"
     "text (default: gpt2)",
     "train-tokenizer"},
    {"--special", Kind::text, "TOKENS",
     "More special tokens, with commas between: <|im_start|>,<|im_end|>", "train-tokenizer"},
    {"--pattern", Kind::choice, "gpt2|llama3|qwen2|o200k",
     "How a text is cut into the pieces that tokens lie in (default: gpt2)", "train-tokenizer"},
    {"--min-frequency", Kind::number, "N",
     "Merge only pairs that occur at least N times (default: 2)", "train-tokenizer", 1,
     std::int64_t{1} << 53},
    {"--fields", Kind::text, "NAMES", "Fields of lines of JSON, or columns of Parquet (default: text)",
     "train-tokenizer"},
    {"--step", Kind::number, "N", "The step to show, from 1 (default: 1)", "show", 1,
     std::int64_t{1} << 40},
    {"--ranks", Kind::number, "N",
     "The ranks of the job, by which a step has its samples (default: 1, or\n"
     "as many as determinism.virtual_ranks says)",
     "show", 1, 1 << 20},
    {"--json", Kind::flag, "", "Print the numbers that the model reads", "show"},
    {"--set", Kind::text, "NAME",
     "Take a set of data.validation instead of data.train (one without a\n"
     "name: validation)",
     "pack and show"},
};

constexpr ToolOption kReport[] = {
    {"--out", Kind::text, "FILE",
     "Page to write; an older report is replaced, any other file is refused\n"
     "(default: report.html)"},
    {"--names", Kind::text, "A,B",
     "Names of the runs in the page, one for each, separated by commas\n"
     "(default: the names of their folders)"},
    {"--json", Kind::flag, "", "Print the data of the page as JSON, and write no page"},
};

}  // namespace

std::span<const ToolOption> tool_options(std::string_view tool) {
  if (tool == "plan") return kPlan;
  if (tool == "inspect") return kInspect;
  if (tool == "export") return kExport;
  if (tool == "sample") return kSample;
  if (tool == "eval") return kEval;
  if (tool == "convert") return kConvert;
  if (tool == "data") return kData;
  if (tool == "report") return kReport;
  DS_ASSERT(tool == "average");
  return kAverage;
}

}  // namespace ds
