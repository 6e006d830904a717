// Component: an object of tokenizer.json with a "type", read key by key with errors that name it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ds {

class Component {
 public:
  using Json = nlohmann::json;

  /// `place`: "tokenizer.json: pre_tokenizer". Errors of this and all others: Error{config}.
  Component(const Json& json, std::string place);

  /// Returns the word of the key "type"; empty if it has none.
  [[nodiscard]] std::string type() const;
  [[nodiscard]] const std::string& place() const { return place_; }
  /// Returns whether the key is there and not null.
  [[nodiscard]] bool has(const char* key) const;
  [[nodiscard]] std::string text(const char* key) const;
  [[nodiscard]] std::string text(const char* key, std::string otherwise) const;
  [[nodiscard]] bool flag(const char* key, bool otherwise) const;
  [[nodiscard]] std::int64_t number(const char* key, std::int64_t otherwise) const;
  /// Returns a member that must be there.
  [[nodiscard]] const Json& member(const char* key) const;
  [[nodiscard]] Component child(const char* key) const;
  /// Returns the elements of a list of components.
  [[nodiscard]] std::vector<Component> children(const char* key) const;
  /// Returns the regular expression of a "pattern", which is {"String": ...} or {"Regex": ...}.
  [[nodiscard]] std::string pattern() const;

  [[noreturn]] void refuse(const std::string& why) const;
  /// Refuses a type that is not built.
  [[noreturn]] void refuse_type() const;

 private:
  [[nodiscard]] std::string checked(std::string expression) const;

  const Json* json_;
  std::string place_;
};

}  // namespace ds
