// Prints a converted DeepSpeed configuration as TOML and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/config/deepspeed_file.h"
#include "engine/config/keys.h"

namespace ds {
namespace {

constexpr std::size_t kCommentColumn = 28;

struct Line {
  const DsSetting* setting;
  std::string value;
};

/// Returns the value as the key stores it, so that 1 becomes 1.0 for a number. Paths stay as given.
std::string value_text(const Key& key, const Entry& entry) {
  const bool has_paths = key.kind == KeyKind::folders || key.kind == KeyKind::place;
  return to_toml(has_paths ? entry.value : check_value(key, entry));
}

/// Returns the settings in the order of the table of train.toml's keys.
std::vector<Line> ordered_lines(const DeepSpeedFile& file) {
  std::vector<Entry> entries = file.defaults;
  entries.insert(entries.end(), file.given.begin(), file.given.end());
  std::vector<Line> lines;
  for (const Key& key : all_keys()) {
    const auto entry = std::ranges::find(entries, key.name, &Entry::key);
    if (entry == entries.end()) continue;
    lines.push_back({file.conversion.find(key.name), value_text(key, *entry)});
  }
  return lines;
}

/// Returns the note that only some numbers of ranks fit, or "".
std::string batch_note(const DsConversion& conversion) {
  const auto size = [&](std::string_view key) -> std::int64_t {
    const DsSetting* setting = conversion.find(key);
    if (setting == nullptr || setting->is_default) return 0;
    const auto* value = std::get_if<std::int64_t>(&setting->value);
    return value == nullptr ? 0 : *value;
  };
  const std::int64_t global = size("batch.global"), micro = size("batch.micro"),
                     accum = size("batch.accum");
  if (global == 0 || micro == 0 || accum == 0) return "";
  const std::int64_t ranks = global / micro / accum;
  return fmt::format(
      "# {} = {} * {} * {}: this batch is that of {} {}; delete one of the three for others.\n",
      global, micro, accum, ranks, ranks, ranks == 1 ? "rank" : "ranks");
}

}  // namespace

std::vector<std::string> passed_over(const DsConversion& conversion) {
  std::vector<std::string> lines;
  for (const DsPassed& passed : conversion.passed)
    lines.push_back(fmt::format("{} = {}: {}", passed.from, passed.value, passed.why));
  return lines;
}

std::string deepspeed_toml(const DeepSpeedFile& file) {
  std::string text = fmt::format(
      "# Converted from {}. Add the model, the data and the number of steps, which it does not "
      "contain.\n{}",
      std::filesystem::path(file.path).filename().string(), batch_note(file.conversion));
  std::string_view section;
  for (const auto& [setting, value] : ordered_lines(file)) {
    const std::string_view name = setting->key;
    const std::size_t dot = name.rfind('.');
    if (name.substr(0, dot) != section) {
      section = name.substr(0, dot);
      text += fmt::format("\n[{}]\n", section);
    }
    std::string line = fmt::format("{} = {}", name.substr(dot + 1), value);
    if (line.size() < kCommentColumn) line.resize(kCommentColumn, ' ');
    text += fmt::format("{} # {}\n", line, setting->from);
  }
  const std::vector<std::string> passed = passed_over(file.conversion);
  if (!passed.empty()) text += "\n# Passed over:\n";
  for (const std::string& line : passed) text += fmt::format("#   {}\n", line);
  return text;
}

std::string deepspeed_json(const DeepSpeedFile& file) {
  nlohmann::ordered_json settings = nlohmann::ordered_json::array();
  for (const auto& [setting, value] : ordered_lines(file)) {
    nlohmann::ordered_json json{{"key", setting->key}};
    std::visit([&json](const auto& held) { json["value"] = held; }, setting->value);
    json["toml"] = value;
    json["from"] = setting->from;
    json["default"] = setting->is_default;
    settings.push_back(std::move(json));
  }
  nlohmann::ordered_json passed = nlohmann::ordered_json::array();
  for (const DsPassed& each : file.conversion.passed)
    passed.push_back({{"from", each.from}, {"value", each.value}, {"why", each.why}});
  return nlohmann::ordered_json{{"settings", std::move(settings)},
                                {"passed_over", std::move(passed)}}
             .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace ds
