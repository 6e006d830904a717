#include "engine/train/own_facts.h"

#include <fmt/format.h>

#include <string_view>

#include "engine/base/rank_message.h"
#include "engine/base/split.h"
#include "engine/base/training_facts.h"
#include "engine/config/keys.h"
#include "engine/config/print.h"
#include "engine/train/build_id.h"

namespace ds {
namespace {

constexpr std::size_t kLongestValue = 80;
/// Of the lines; the message escapes some bytes of them.
constexpr std::size_t kLongestFacts = kMaxRankMessage / 2;

std::string identity_of(const DataSet& data) {
  std::string text = data.train->identity() + "/" + data.validation->identity();
  for (const auto& [name, part] : data.validation_sets)
    text += fmt::format("/{}={}", name, part->identity());
  return text;
}

}  // namespace

std::string arithmetic_of(const TrainConfig& config, const Backend& backend, const DataSet& data) {
  return arithmetic_list(config, {.kernels = backend.kernels->arithmetic(),
                                  .libraries = library_versions(),
                                  .data = identity_of(data),
                                  .tokenizer = data.tokenizer_hash});
}

std::string short_facts(const std::string& lines) {
  std::string keys, others;
  for (const std::string_view line : split(lines, '\n')) {
    const std::size_t equals = line.find(" = ");
    if (equals == std::string_view::npos) continue;
    const std::string name(line.substr(0, equals));
    std::string value(line.substr(equals + 3));
    if (value.size() > kLongestValue) value = digest_of(value);
    (find_key(name) != nullptr ? keys : others) += fmt::format("{} = {}\n", name, value);
  }
  if (keys.size() + others.size() <= kLongestFacts) return others + keys;
  return others + fmt::format("settings = {}\n", digest_of(keys));
}

std::string own_facts(const TrainConfig& config, const Backend& backend, const DataSet& data) {
  const std::string_view keeps = config.elastic.keeps ? "yes" : "no";
  std::string_view saves = "no";
  if (config.checkpoint.saves()) saves = config.checkpoint.on_signal ? "yes" : kNotOnSignals;
  return one_line_of_facts(
      short_facts(fmt::format("build = {}\n{} = {}\n{} = {}\n", build_id(), kKeepsFact, keeps,
                              kSavesFact, saves) +
                  arithmetic_of(config, backend, data)));
}

}  // namespace ds
