// The table, and reading words by it.
#include "engine/base/tool_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/base/whole_number.h"

namespace ds {
namespace {

using Kind = ToolOption::Kind;

constexpr std::int64_t kMostNodes = 100'000, kMostSlots = 1024;

constexpr ToolOption kPlan[] = {
    {"--nodes", Kind::number, "N", "Nodes of the job (default: 1)", "The job", 1, kMostNodes},
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

/// "fp32, bf16, fp16"
std::string listed(std::string_view choices) {
  std::string list;
  for (const char c : choices) list += c == '|' ? std::string(", ") : std::string(1, c);
  return list;
}

bool is_choice(std::string_view choices, std::string_view value) {
  return !value.empty() && value.find('|') == std::string_view::npos &&
         fmt::format("|{}|", choices).find(fmt::format("|{}|", value)) != std::string::npos;
}

[[noreturn]] void refuse(const ToolOption& option, std::string_view form, std::string_view value) {
  throw Error(ErrorKind::usage, fmt::format("{} must be {}, not '{}'", option.name, form, value));
}

}  // namespace

std::span<const ToolOption> tool_options(std::string_view tool) {
  if (tool == "plan") return kPlan;
  if (tool == "inspect") return kInspect;
  if (tool == "export") return kExport;
  DS_ASSERT(tool == "average");
  return kAverage;
}

void check_tool_value(const ToolOption& option, std::string_view value) {
  switch (option.kind) {
    case Kind::flag:
      return;
    case Kind::text:
      if (value.empty())
        throw Error(ErrorKind::usage, fmt::format("{} needs a value", option.name));
      return;
    case Kind::number: {
      const std::optional<std::int64_t> number = whole_number<std::int64_t>(value);
      if (number && *number >= option.least && *number <= option.most) return;
      refuse(option, fmt::format("an integer from {} to {}", option.least, option.most), value);
    }
    case Kind::bytes:
      if (parse_bytes(value) && value.find(' ') == std::string_view::npos) return;
      refuse(option, "a size such as 80G or 512GiB", value);
    case Kind::choice:
      if (is_choice(option.argument, value)) return;
      refuse(option, listed(option.argument), value);
  }
}

ToolWords::ToolWords(std::string_view tool, const std::vector<std::string>& words) {
  const std::span<const ToolOption> table = tool_options(tool);
  for (std::size_t index = 0; index < words.size(); ++index) {
    const std::string_view word = words[index];
    if (!word.starts_with("--")) {
      others.emplace_back(word);
      continue;
    }
    const std::size_t equal = word.find('=');
    const std::string_view name = word.substr(0, equal);
    const bool has_value = equal != std::string_view::npos;
    const auto option = std::ranges::find(table, name, &ToolOption::name);
    const bool is_flag = option != table.end() && option->kind == Kind::flag;
    if (option == table.end() || (is_flag && has_value))
      throw Error(ErrorKind::usage, fmt::format("unknown option '{}'", word),
                  fmt::format("dslaunch {} --help lists them", tool));
    std::string value;
    if (has_value) {
      value = word.substr(equal + 1);
    } else if (!is_flag) {
      if (index + 1 == words.size())
        throw Error(ErrorKind::usage, fmt::format("{} needs a value", name));
      value = words[++index];
    }
    check_tool_value(*option, value);
    if (!options_.emplace(name, std::move(value)).second)
      throw Error(ErrorKind::usage, fmt::format("{} is given twice", name));
  }
}

std::string ToolWords::value(std::string_view option) const {
  const auto found = options_.find(option);
  return found == options_.end() ? std::string() : found->second;
}

std::int64_t ToolWords::number(std::string_view option, std::int64_t otherwise) const {
  return has(option) ? whole_number<std::int64_t>(value(option)).value_or(otherwise) : otherwise;
}

std::int64_t ToolWords::bytes(std::string_view option, std::int64_t otherwise) const {
  return has(option) ? parse_bytes(value(option)).value_or(otherwise) : otherwise;
}

}  // namespace ds
