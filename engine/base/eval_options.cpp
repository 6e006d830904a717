#include "engine/base/eval_options.h"

namespace ds {
namespace {

constexpr ToolOption kEvalOptions[] = {
    {.name = "--data",
     .kind = ToolOption::Kind::text,
     .argument = "FILES",
     .help = "Files to evaluate on, or NAME=FILES for a set with a name (several\n"
             "times); their endings give data.format",
     .section = "Data",
     .repeats = true},
    {"--config", ToolOption::Kind::text, "FILE",
     "train.toml whose data.validation is evaluated (default: the\n"
     "checkpoint's own config)",
     "Data"},
    {"--rows", ToolOption::Kind::number, "N",
     "Evaluate N rows of each set, evenly spaced; 0: all (default: all of\n"
     "FILES, else those that a validation in training reads)",
     "Data", 0, INT64_MAX},
    {"--dtype", ToolOption::Kind::choice, "fp32|bf16|fp16",
     "Type of weights and activations (default: that of the config; fp32\n"
     "for a folder)",
     "Work"},
    {"--device", ToolOption::Kind::choice, "auto|cpu|cuda",
     "What computes (default: auto: a GPU if there is one)", "Work"},
    {"--threads", ToolOption::Kind::number, "N", "Threads on a CPU (default: as many as cores)",
     "Work", 1, 1024},
    {"--batch", ToolOption::Kind::number, "N",
     "Rows that run together (default: batch.micro; 8 for a folder)", "Work", 1, 1 << 16},
    {"--json", ToolOption::Kind::flag, "", "Print JSON", "Output"},
};

}  // namespace

std::span<const ToolOption> eval_options() { return kEvalOptions; }

}  // namespace ds
