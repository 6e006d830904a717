// Prints configs and the reference page from the key table.
#include "engine/config/print.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "engine/config/keys.h"

namespace ds {
namespace {

/// Returns "offload.optimizer" for "offload.optimizer.device".
std::string_view section_of(const Key& key) { return key.name.substr(0, key.name.rfind('.')); }
std::string_view field_of(const Key& key) { return key.name.substr(key.name.rfind('.') + 1); }

/// Returns whether the value is a choice that was not made. It has no TOML word and is left out.
bool is_unset(const Key& key, const ConfigValue& value) {
  const auto* text = std::get_if<std::string>(&value.held);
  return key.kind == KeyKind::choice && text != nullptr && text->empty();
}

/// Returns whether ranks that differ in this non-arithmetic key would issue different collectives.
bool orders_messages(const Key& key) {
  if (key.arithmetic) return false;
  if (key.name == "log.samples") return true;  // all ranks learn rank 0's folder
  if (key.name == "log.trace") return true;    // all ranks send their parts to rank 0
  constexpr std::string_view kSections[] = {"zero", "train", "sample", "recompute", "checkpoint"};
  constexpr std::string_view kOfOffload[] = {"device", "update", "tile"};
  if (std::ranges::find(kSections, section_of(key)) != std::end(kSections)) return true;
  return section_of(key).starts_with("offload.") &&
         std::ranges::find(kOfOffload, field_of(key)) != std::end(kOfOffload);
}

std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace

std::string to_toml(const TrainConfig& config) {
  std::string text;
  std::string_view section;
  for (const Key& key : all_keys()) {
    const ConfigValue value = key.get(config);
    if (is_unset(key, value)) continue;
    if (section_of(key) != section) {
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section_of(key));
      section = section_of(key);
    }
    text += fmt::format("{} = {}\n", field_of(key), to_toml(value));
  }
  return text;
}

std::string arithmetic_list(const TrainConfig& config, const ArithmeticFacts& facts) {
  std::string text;
  for (const Key& key : all_keys()) {
    if (key.arithmetic) text += fmt::format("{} = {}\n", key.name, to_toml(key.get(config)));
  }
  if (!facts.tokenizer.empty()) text += fmt::format("tokenizer = {}\n", facts.tokenizer);
  return text + fmt::format("data = {}\nkernels = {}\nlibraries = {}\n", facts.data, facts.kernels,
                            facts.libraries);
}

std::string message_order_list(const TrainConfig& config) {
  std::string text;
  for (const Key& key : all_keys()) {
    if (orders_messages(key)) text += fmt::format("{} = {}\n", key.name, to_toml(key.get(config)));
  }
  return text;
}

std::string config_reference() {
  std::string text =
      "# train.toml\n\n"
      "To set a key, write it under its section in `train.toml`, or override it in the command:\n\n"
      "    dslaunch train.toml train.steps=20 data.seq_len=128\n\n"
      "Relative paths start at the folder of the file that contains them (in overrides: at the "
      "working directory);\n"
      "`~` is the home folder. *Arithmetic* keys decide the bits of the result; the others never "
      "do.\n"
      "The key `deepspeed = \"ds_config.json\"`, above all sections, takes what a DeepSpeed "
      "configuration says ([deepspeed.md](deepspeed.md)).\n"
      "This page is generated from the tables in `engine/config/keys_*.cpp`; a test compares the "
      "two.\n";
  std::string_view section;
  for (const Key& key : all_keys()) {
    if (only_default_built(key)) continue;
    if (section_of(key) != section) {
      section = section_of(key);
      text += fmt::format(
          "\n## [{}]\n\n| key | value | default | meaning | arithmetic |\n|---|---|---|---|---|\n",
          section);
    }
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", field_of(key), cell(describe_range(key)),
                        cell(key.default_text), cell(key.help), key.arithmetic ? "yes" : "no");
  }
  return text;
}

}  // namespace ds
