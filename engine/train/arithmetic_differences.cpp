// Parses arithmetic lists and compares their values as settings.
#include "engine/train/arithmetic_differences.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/config/keys.h"
#include "engine/data/byte_tokens.h"

namespace ds {
namespace {

std::map<std::string, std::string> values_of(const std::string& list) {
  std::map<std::string, std::string> values;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find('\n', at), list.size());
    const std::string line = list.substr(at, end - at);
    const std::size_t equals = line.find(" = ");
    if (equals != std::string::npos) values[line.substr(0, equals)] = line.substr(equals + 3);
    at = end + 1;
  }
  return values;
}

/// Returns the value of a setting in jobs that were saved before it had a key: the default of
/// today, except for no_decay, without which all tensors decayed, and for the number of tokens.
std::string value_before(const std::string& name) {
  if (name == "optimizer.no_decay") return "[]";
  if (name == "model.tokens") return fmt::format("{}", kByteTokens);  // of the only tokenizer
  const Key* const key = find_key(name);
  return key == nullptr ? "absent" : to_toml(key->get(TrainConfig()));
}

/// Returns the entries of a printed list, such as ["norms", "biases"].
std::set<std::string> entries_of(const std::string& list) {
  std::set<std::string> entries;
  for (std::size_t at = list.find('"'); at != std::string::npos;) {
    const std::size_t end = std::min(list.find('"', at + 1), list.size());
    entries.insert(list.substr(at, end - at));
    at = list.find('"', end + 1);
  }
  return entries;
}

/// Returns whether two printed values of a setting mean the same. no_decay is a set.
bool is_same(const std::string& name, const std::string& a, const std::string& b) {
  return name == "optimizer.no_decay" ? entries_of(a) == entries_of(b) : a == b;
}

}  // namespace

std::optional<std::string> arithmetic_value(const std::string& list, std::string_view name) {
  const auto values = values_of(list);
  const auto found = values.find(std::string(name));
  if (found == values.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> arithmetic_differences(const std::string& saved, const std::string& now) {
  const auto before = values_of(saved);
  std::vector<std::string> lines;
  for (const auto& [name, value] : values_of(now)) {
    const auto old = before.find(name);
    const std::string was = old == before.end() ? value_before(name) : old->second;
    if (!is_same(name, value, was))
      lines.push_back(fmt::format("{}: {}, was {}", name, value, was));
  }
  return lines;
}

}  // namespace ds
