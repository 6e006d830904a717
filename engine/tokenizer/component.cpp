#include "engine/tokenizer/component.h"

#include <utility>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "engine/tokenizer/pattern.h"

namespace ds {

Component::Component(const Json& json, std::string place) : json_(&json), place_(std::move(place)) {
  if (!json.is_object()) refuse("is not an object");
}

std::string Component::type() const {
  return has("type") && member("type").is_string() ? member("type").get<std::string>()
                                                   : std::string();
}

bool Component::has(const char* key) const {
  const auto found = json_->find(key);
  return found != json_->end() && !found->is_null();
}

const Component::Json& Component::member(const char* key) const {
  if (!has(key)) refuse(fmt::format("has no \"{}\"", key));
  return *json_->find(key);
}

std::string Component::text(const char* key) const {
  const Json& value = member(key);
  if (!value.is_string()) refuse(fmt::format("\"{}\" is not a string", key));
  return value.get<std::string>();
}

std::string Component::text(const char* key, std::string otherwise) const {
  return has(key) ? text(key) : std::move(otherwise);
}

bool Component::flag(const char* key, bool otherwise) const {
  if (!has(key)) return otherwise;
  const Json& value = member(key);
  if (!value.is_boolean()) refuse(fmt::format("\"{}\" is not true or false", key));
  return value.get<bool>();
}

std::int64_t Component::number(const char* key, std::int64_t otherwise) const {
  if (!has(key)) return otherwise;
  const Json& value = member(key);
  if (!value.is_number_integer() || value < 0 || value > INT32_MAX)
    refuse(fmt::format("\"{}\" is not a number from 0 to 2147483647", key));
  return value.get<std::int64_t>();
}

Component Component::child(const char* key) const {
  return {member(key), fmt::format("{}.{}", place_, key)};
}

std::vector<Component> Component::children(const char* key) const {
  const Json& list = member(key);
  if (!list.is_array()) refuse(fmt::format("\"{}\" is not a list", key));
  constexpr std::size_t kLongestPlace = 1000;
  if (place_.size() > kLongestPlace) refuse("is nested too deeply");
  std::vector<Component> all;
  for (std::size_t i = 0; i < list.size(); ++i)
    all.emplace_back(list[i], fmt::format("{}.{}[{}]", place_, key, i));
  return all;
}

/// Returns an expression that can be compiled.
std::string Component::checked(std::string expression) const {
  try {
    const Pattern compiled(expression);
  } catch (const Error& error) {
    throw error.with_context(place_);
  }
  return expression;
}

std::string Component::pattern() const {
  const Json& value = member("pattern");
  const auto of = [&](const char* kind) {
    return value.is_object() && value.contains(kind) && value[kind].is_string();
  };
  if (of("String")) return escaped(value["String"].get<std::string>());
  if (of("Regex")) return checked(value["Regex"].get<std::string>());
  if (value.is_string()) return escaped(value.get<std::string>());
  refuse("\"pattern\" is neither a String nor a Regex");
}

void Component::refuse(const std::string& why) const {
  constexpr std::size_t kMost = 300;  // of text from the file
  throw Error(ErrorKind::config, fmt::format("{}: {}", place_, printable_text(why, kMost)),
              "see docs/tokenizers.md for what is read");
}

void Component::refuse_type() const {
  refuse(fmt::format("the type \"{}\" is not supported", type()));
}

}  // namespace ds
