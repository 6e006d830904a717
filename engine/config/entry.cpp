// Formats config values as TOML and for messages, and errors at an entry.
#include "engine/config/entry.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "engine/base/text_error.h"

namespace ds {
namespace {

constexpr std::size_t kShownBytes = 80;  // of a string in a message

template <class... F>
struct Cases : F... {
  using F::operator()...;
};
template <class... F>
Cases(F...) -> Cases<F...>;  // clang 14, hence clang-tidy, does not deduce it

std::string toml_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\u{:04X}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

/// Quotes a name that TOML would not read as it is.
std::string toml_name(const std::string& name) {
  const auto is_bare = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
  return !name.empty() && std::ranges::all_of(name, is_bare) ? name : toml_text(name);
}

/// Returns the shortest digits that read back to the same double, with a point or an exponent.
std::string number_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string to_toml(const ConfigValue& value) {
  return std::visit(Cases{[](const ConfigValue::Other&) { return std::string("?"); },
                          [](bool flag) { return std::string(flag ? "true" : "false"); },
                          [](std::int64_t integer) { return fmt::format("{}", integer); },
                          [](double number) { return number_text(number); },
                          [](const std::string& text) { return toml_text(text); },
                          [](const ConfigValue::List& list) {
                            std::string text = "[";
                            for (const ConfigValue& element : list) {
                              text += (text.size() > 1 ? ", " : "") + to_toml(element);
                            }
                            return text + "]";
                          },
                          [](const ConfigValue::Table& table) {
                            std::string text = "{";
                            for (const auto& [name, each] : table)
                              text += fmt::format("{}{} = {}", text.size() > 1 ? ", " : "",
                                                  toml_name(name), to_toml(each));
                            return text + "}";
                          }},
                    value.held);
}

std::string describe(const ConfigValue& value) {
  return std::visit(
      Cases{[](const ConfigValue::Other&) { return std::string("a date or a table"); },
            [&](bool) { return to_toml(value); },
            [&](std::int64_t) { return fmt::format("the integer {}", to_toml(value)); },
            [&](double) { return fmt::format("the number {}", to_toml(value)); },
            [](const std::string& text) {
              const bool cut = text.size() > kShownBytes;
              return fmt::format("the string {}{}", toml_text(text.substr(0, kShownBytes)),
                                 cut ? "..." : "");
            },
            [](const ConfigValue::List& list) { return fmt::format("a list of {}", list.size()); },
            [](const ConfigValue::Table& table) {
              return fmt::format("a table of {}", table.size());
            }},
      value.held);
}

Error entry_error(const Place& place, Point point, std::string_view what, std::string hint) {
  return text_error({place.source, place.line, place.text},
                    point == Point::key ? place.key_offset : place.value_offset, what,
                    std::move(hint));
}

}  // namespace ds
