// Clues: numbers in variables and names, and the own name among peers.
#include "launcher/sources/peer_clues.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "engine/base/error.h"
#include "engine/base/text_error.h"

namespace ds::launcher {
namespace {

// The first five are set by orchestrators for this purpose and must not differ.
constexpr std::array<const char*, 5> kSureIndexes = {
    "JOB_COMPLETION_INDEX", "LWS_WORKER_INDEX", "PET_NODE_RANK", "VC_TASK_INDEX", "VK_TASK_INDEX"};
constexpr std::array<const char*, 2> kOtherIndexes = {"NODE_RANK", "SLURM_NODEID"};

std::optional<int> only_match(const std::vector<std::string>& names, auto matches) {
  std::optional<int> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!matches(names[i])) continue;
    if (found) return std::nullopt;
    found = static_cast<int>(i);
  }
  return found;
}

}  // namespace

std::optional<NumberClue> number_variable(const World& world, const std::string& name) {
  const std::optional<std::string> text = world.variable(name);
  if (!text) return std::nullopt;
  int value = 0;
  const auto [stop, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || stop != text->data() + text->size() || value < 0)
    throw Error(ErrorKind::config,
                fmt::format("{}={} is not an integer", name, printable_text(*text, 40)),
                "the creator of this pod sets it; override it with --node-rank or --nnodes");
  return NumberClue{value, name};
}

NodeCount node_count_variable(const std::string& name, const std::string& text) {
  try {
    return parse_node_count(name, text);
  } catch (const Error& error) {
    throw Error(ErrorKind::config, error.what(),
                fmt::format("for example {}=4, or {}=2:4 for 2 to 4 nodes; --nnodes overrides it",
                            name, name));
  }
}

std::optional<Numbered> split_number(std::string_view label) {
  const std::size_t dash = label.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::nullopt;
  const std::string_view digits = label.substr(dash + 1);
  int value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool plain = error == std::errc() && stop == digits.data() + digits.size() && value >= 0 &&
                     digits == std::to_string(value);
  if (!plain) return std::nullopt;
  return Numbered{std::string(label.substr(0, dash + 1)), value};
}

std::optional<NumberClue> find_index(const World& world) {
  std::optional<NumberClue> sure;
  for (const char* name : kSureIndexes) {
    const std::optional<NumberClue> clue = number_variable(world, name);
    if (!clue) continue;
    if (sure && sure->value != clue->value)
      throw Error(ErrorKind::config,
                  fmt::format("the index of this node is ambiguous: {} is {}, {} is {}",
                              sure->source, sure->value, clue->source, clue->value),
                  "give it with --node-rank N");
    if (!sure) sure = clue;
  }
  if (sure) return sure;
  for (const char* name : kOtherIndexes)
    if (const auto clue = number_variable(world, name)) return clue;
  return std::nullopt;
}

std::vector<std::string> Naming::name_all(int count) const {
  if (!names.empty()) return names;
  std::vector<std::string> all;
  const int each = jobs > 1 ? count / jobs : count;
  for (int j = 0; j < jobs; ++j)
    for (int i = 0; i < each; ++i)
      all.push_back(jobs > 1 ? fmt::format("{}{}-{}{}", start, j, i, end)
                             : fmt::format("{}{}{}", start, i, end));
  if (first && !all.empty()) all.front() = *first;
  return all;
}

std::optional<int> find_own_name(const World& world, const std::optional<PodName>& pod,
                                 const std::vector<std::string>& names) {
  const std::string host = name_as_compared(world.hostname);
  const std::string label(first_label(host));
  if (label.empty()) return std::nullopt;
  if (pod) {
    const std::string full = fmt::format("{}.{}.", pod->host, pod->tail());
    const auto is_start = [&](const std::string& name) {
      return !is_address(name) && full.starts_with(name_as_compared(name) + ".");
    };
    if (const auto found = only_match(names, is_start)) return found;
  }
  const auto is_host = [&](const std::string& name) { return name_as_compared(name) == host; };
  if (const auto found = only_match(names, is_host)) return found;
  const auto is_label = [&](const std::string& name) {
    return name_as_compared(first_label(name)) == label;
  };
  if (const auto found = only_match(names, is_label)) return found;
  const std::string ip = world.variable("POD_IP").value_or("");
  const auto is_ip = [&](const std::string& name) { return name == ip; };
  if (const auto found = only_match(names, is_ip)) return found;
  const auto is_own_address = [&](const std::string& name) {
    return std::find(world.addresses.begin(), world.addresses.end(), name) != world.addresses.end();
  };
  return only_match(names, is_own_address);
}

}  // namespace ds::launcher
