// HfConfigReader: reads one JSON object of a config.json into an HfConfig, and notes what is not
// built.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/config/hf_config.h"

namespace ds {

using HfJson = nlohmann::ordered_json;

/// Formats a value for messages: ASCII, cut where it is long.
inline std::string shown(const HfJson& value) {
  constexpr std::size_t kMost = 100;
  const std::string text = value.dump(-1, ' ', true);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

/// Reads one object of the file. `prefix`: of its names in messages.
class HfConfigReader {
 public:
  HfConfigReader(const HfJson& json, HfConfig& out, std::string_view prefix = "")
      : json_(json), out_(out), prefix_(prefix) {}

  /// Returns null where the key is missing or null.
  [[nodiscard]] const HfJson* find(const char* name) const {
    const auto found = json_.find(name);
    return found == json_.end() || found->is_null() ? nullptr : &*found;
  }
  /// Returns true where the key is present, also when it is null.
  [[nodiscard]] bool has(const char* name) const { return json_.contains(name); }

  std::int64_t integer(const char* name, std::string_view key, std::int64_t absent) {
    constexpr std::int64_t kMost = 1 << 30;  // products of two fit into 64 bits
    std::int64_t value = get(name, absent, &HfJson::is_number_integer, "a whole number");
    if (find(name) != nullptr && (value < 0 || value > kMost)) {
      refuse(name, shown(*find(name)), fmt::format("expected 0 to {}", kMost));
      value = absent;
    }
    if (!key.empty()) add(name, key, {value}, absent);
    return value;
  }
  double number(const char* name, std::string_view key, double absent) {
    const double value = get(name, absent, &HfJson::is_number, "a number");
    if (!key.empty()) add(name, key, {value}, absent);
    return value;
  }
  bool flag(const char* name, std::string_view key, bool absent) {
    const bool value = get(name, absent, &HfJson::is_boolean, "true or false");
    if (!key.empty()) add(name, key, {value}, absent);
    return value;
  }
  /// Refuses all values but one.
  void require(const char* name, bool wanted, std::string_view why) {
    if (flag(name, "", wanted) != wanted) refuse(name, shown(*find(name)), why);
  }
  void one_of(const char* name, const std::vector<std::string>& words) {
    const HfJson* const found = find(name);
    if (found == nullptr) return;
    if (found->is_string() &&
        std::ranges::find(words, found->get_ref<const std::string&>()) != words.end())
      return;
    refuse(name, shown(*found), fmt::format("only {} is supported", words.front()));
  }
  void refuse(const char* name, std::string_view value, std::string_view why) {
    out_.refused.push_back(fmt::format("{}{}: {}; {}", prefix_, name, value, why));
  }
  void add(const char* name, std::string_view key, ConfigValue value, const HfJson& absent) {
    const HfJson* const found = find(name);
    out_.fields.push_back(
        {fmt::format("{}{}: {}", prefix_, name,
                     found != nullptr ? shown(*found) : shown(absent) + " (not given)"),
         key, std::move(value)});
  }
  [[nodiscard]] HfConfig& out() { return out_; }
  [[nodiscard]] const HfJson& json() const { return json_; }

 private:
  template <class T>
  T get(const char* name, T absent, bool (HfJson::*is_right)() const noexcept,
        std::string_view kind) {
    const HfJson* const found = find(name);
    if (found == nullptr) return absent;
    if ((found->*is_right)()) return found->get<T>();
    refuse(name, shown(*found), fmt::format("expected {}", kind));
    return absent;
  }

  const HfJson& json_;
  HfConfig& out_;
  const std::string_view prefix_;
};

/// Reads the keys of BertConfig and RobertaConfig. `positions`: the longest sequence.
void read_bert_config(HfConfigReader& r, std::int64_t positions);
/// Reads the keys of T5Config.
void read_t5_config(HfConfigReader& r);

}  // namespace ds
