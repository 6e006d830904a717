// Joins the key tables and lists reserved names. The order is that of docs/config.md and of the
// resolved config.toml.
#include "engine/config/keys.h"

#include <algorithm>
#include <array>

namespace ds {
namespace {

std::vector<Key> joined_tables() {
  std::vector<Key> keys;
  for (const std::span<const Key> table :
       {model_keys(), lora_keys(), optim_keys(), memory_keys(), checkpoint_keys(), run_keys()}) {
    keys.insert(keys.end(), table.begin(), table.end());
  }
  return keys;
}

constexpr std::array<std::string_view, 12> kReserved{"model.rope_scaling",
                                                     "data.drop_last",
                                                     "optimizer.bias_correction",
                                                     "optimizer.onebit",
                                                     "optimizer.zeroone",
                                                     "optimizer.onebit_lamb",
                                                     "optimizer.muon",
                                                     "precision.moments",
                                                     "log.jsonl",
                                                     "comm",
                                                     "parallel",
                                                     "zero.persist_total"};

}  // namespace

std::span<const Key> all_keys() {
  static const std::vector<Key> keys = joined_tables();
  return keys;
}

const Key* find_key(std::string_view name) {
  const std::span<const Key> keys = all_keys();
  const auto found = std::ranges::find(keys, name, &Key::name);
  return found == keys.end() ? nullptr : &*found;
}

bool is_reserved(std::string_view name) {
  return std::ranges::any_of(kReserved, [name](std::string_view reserved) {
    return name.starts_with(reserved) &&
           (name.size() == reserved.size() || name[reserved.size()] == '.');
  });
}

std::vector<std::string_view> split_words(std::string_view words) {
  std::vector<std::string_view> split;
  while (!words.empty()) {
    const std::size_t end = words.find('|');
    split.push_back(words.substr(0, end));
    words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
  }
  return split;
}

}  // namespace ds
