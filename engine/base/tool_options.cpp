// Reads and checks words by the tables of tool_tables.cpp.
#include "engine/base/tool_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/base/error.h"
#include "engine/base/token_numbers.h"
#include "engine/base/units.h"
#include "engine/base/whole_number.h"

namespace ds {
namespace {

using Kind = ToolOption::Kind;

/// "fp32, bf16, fp16"
std::string listed(std::string_view choices) {
  std::string list;
  for (const char c : choices) list += c == '|' ? std::string(", ") : std::string(1, c);
  return list;
}

bool is_choice(std::string_view choices, std::string_view value) {
  return !value.empty() && value.find('|') == std::string_view::npos &&
         fmt::format("|{}|", choices).find(fmt::format("|{}|", value)) != std::string::npos;
}

[[noreturn]] void refuse(const ToolOption& option, std::string_view form, std::string_view value) {
  throw Error(ErrorKind::usage, fmt::format("{} must be {}, not '{}'", option.name, form, value));
}

/// Returns a decimal number such as 0.9 or 1e-3; nothing if the text is anything else.
std::optional<double> decimal_number(std::string_view text) {
  const std::optional<double> value = whole_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

std::vector<std::int32_t> given_tokens(std::string_view what, std::string_view text) {
  const auto is_negative = [](std::int32_t number) { return number < 0; };
  std::optional<std::vector<std::int32_t>> numbers = token_numbers(text);
  if (numbers && !numbers->empty() && std::ranges::none_of(*numbers, is_negative)) return *numbers;
  throw Error(ErrorKind::usage, fmt::format("{}: '{}' are not token numbers", what, text),
              "write numbers with commas between, as 464,3139,286");
}

void check_tool_value(const ToolOption& option, std::string_view value) {
  switch (option.kind) {
    case Kind::flag:
      return;
    case Kind::text:
      if (value.empty())
        throw Error(ErrorKind::usage, fmt::format("{} needs a value", option.name));
      return;
    case Kind::number: {
      const std::optional<std::int64_t> number = whole_number<std::int64_t>(value);
      if (number && *number >= option.least && *number <= option.most) return;
      refuse(option, fmt::format("an integer from {} to {}", option.least, option.most), value);
    }
    case Kind::decimal: {
      const std::optional<double> number = decimal_number(value);
      const auto least = static_cast<double>(option.least);
      const bool is_large = number && (option.above ? *number > least : *number >= least);
      if (is_large && *number <= static_cast<double>(option.most)) return;
      refuse(option,
             fmt::format("a number {} {} {} {}", option.above ? "above" : "from", option.least,
                         option.above ? "and at most" : "to", option.most),
             value);
    }
    case Kind::tokens:
      static_cast<void>(given_tokens(option.name, value));
      return;
    case Kind::bytes:
      if (parse_bytes(value) && value.find(' ') == std::string_view::npos) return;
      refuse(option, "a size such as 80G or 512GiB", value);
    case Kind::choice:
      if (is_choice(option.argument, value)) return;
      refuse(option, listed(option.argument), value);
  }
}

ToolWords::ToolWords(std::string_view tool, const std::vector<std::string>& words) {
  const std::span<const ToolOption> table = tool_options(tool);
  for (std::size_t index = 0; index < words.size(); ++index) {
    const std::string_view word = words[index];
    if (!word.starts_with("--")) {
      others.emplace_back(word);
      continue;
    }
    const std::size_t equal = word.find('=');
    const std::string_view name = word.substr(0, equal);
    const bool has_value = equal != std::string_view::npos;
    const auto option = std::ranges::find(table, name, &ToolOption::name);
    const bool is_flag = option != table.end() && option->kind == Kind::flag;
    if (option == table.end() || (is_flag && has_value))
      throw Error(ErrorKind::usage, fmt::format("unknown option '{}'", word),
                  fmt::format("dslaunch {} --help lists them", tool));
    std::string value;
    if (has_value) {
      value = word.substr(equal + 1);
    } else if (!is_flag) {
      if (index + 1 == words.size())
        throw Error(ErrorKind::usage, fmt::format("{} needs a value", name));
      value = words[++index];
    }
    check_tool_value(*option, value);
    std::vector<std::string>& given = options_[std::string(name)];
    given.push_back(std::move(value));
    if (given.size() > 1 && !option->repeats)
      throw Error(ErrorKind::usage, fmt::format("{} is given twice", name));
  }
}

std::string ToolWords::value(std::string_view option) const {
  const auto found = options_.find(option);
  return found == options_.end() ? std::string() : found->second.front();
}

std::vector<std::string> ToolWords::values(std::string_view option) const {
  const auto found = options_.find(option);
  return found == options_.end() ? std::vector<std::string>() : found->second;
}

double ToolWords::decimal(std::string_view option, double otherwise) const {
  return has(option) ? decimal_number(value(option)).value_or(otherwise) : otherwise;
}

std::int64_t ToolWords::number(std::string_view option, std::int64_t otherwise) const {
  return has(option) ? whole_number<std::int64_t>(value(option)).value_or(otherwise) : otherwise;
}

std::int64_t ToolWords::bytes(std::string_view option, std::int64_t otherwise) const {
  return has(option) ? parse_bytes(value(option)).value_or(otherwise) : otherwise;
}

}  // namespace ds
