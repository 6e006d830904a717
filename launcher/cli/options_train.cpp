// Options of a training: each option sets one key of train.toml.
#include "launcher/cli/options_train.h"

#include <fmt/format.h>

#include <algorithm>

#include "launcher/cli/option_values.h"

namespace ds::launcher {

namespace {

enum class Load { all, weights };
constexpr std::array<std::string_view, 2> kLoads = {"all", "weights"};

constexpr OptionDef<TrainOptions> kTrainOptions[] = {
    {{"--resume", "auto|never|PATH",
      "Point where the training continues: the newest checkpoint in\n"
      "checkpoint.dir (auto), a new start (never), or this checkpoint; only\n"
      "for a train.toml"},
     [](TrainOptions& part, const GivenOption& given) { part.resume = text_value(given); }},
    {{"--load", "all|weights",
      "What to take from --resume PATH; with weights the training starts at\n"
      "step 0 with these weights; only for a train.toml"},
     [](TrainOptions& part, const GivenOption& given) {
       part.load = kLoads[static_cast<std::size_t>(choice_value<Load>(given, kLoads))];
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

void add(const char* option, const std::string& key, const std::optional<std::string>& value,
         std::vector<std::string>& overrides) {
  if (!value) return;
  const bool twice = std::any_of(overrides.begin(), overrides.end(), [&](const std::string& word) {
    return word.starts_with(key + "=");
  });
  if (twice)
    usage_error(fmt::format("both {} and {}=... are given", option, key), "give only one of them");
  overrides.push_back(key + "=" + quoted(*value));
}

}  // namespace

std::span<const OptionDef<TrainOptions>> train_options() { return kTrainOptions; }

void add_overrides(const TrainOptions& options, std::vector<std::string>& overrides) {
  add("--resume", "checkpoint.resume", options.resume, overrides);
  add("--load", "checkpoint.load", options.load, overrides);
}

void refuse_train_options(const TrainOptions& options) {
  if (!options.resume && !options.load) return;
  usage_error(
      fmt::format("{} applies only to a train.toml", options.resume ? "--resume" : "--load"),
      "dslaunch [options] train.toml [key=value ...]");
}

}  // namespace ds::launcher
