// The keys that make a choice, one by one.
#include "engine/plan/choices.h"

#include <fmt/format.h>

namespace ds {
namespace {

std::vector<std::string> changes(const Choice& from, const Choice& to) {
  std::vector<std::string> words;
  if (from.stage != to.stage) words.push_back(fmt::format("zero.stage={}", to.stage));
  return words;
}

}  // namespace

Choice choice_of(const TrainConfig& config) { return {.stage = config.zero.stage}; }

TrainConfig with_choice(TrainConfig config, const Choice& choice) {
  config.zero.stage = choice.stage;
  return config;
}

std::vector<Choice> all_choices() { return {{.stage = 0}}; }

std::string difference(const Choice& from, const Choice& to) {
  std::string text;
  for (const std::string& word : changes(from, to)) text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "as it is" : text;
}

int distance(const Choice& from, const Choice& to) {
  return static_cast<int>(changes(from, to).size());
}

}  // namespace ds
