// Options of the subcommands that dsrunner does (plan, inspect, export, average, sample, eval,
// convert): the one
// table that dsrunner reads its words by, and that dslaunch shows in help, manual and completion.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds {

struct ToolOption {
  enum class Kind { flag, text, number, decimal, tokens, bytes, choice };
  std::string_view name;  // "--out"
  Kind kind = Kind::flag;
  std::string_view argument{};  // "DIR"; a choice lists its words: "fp32|bf16|fp16"
  std::string_view help{};      // lines of at most 72 columns, separated by '\n'
  std::string_view section = "Options";
  std::int64_t least = 0, most = 0;  // of a number or a decimal
  bool above = false;                // a decimal must be above `least`
  bool repeats = false;              // may be given several times
};

/// Returns the options of `tool` ("plan"), in the order in which help shows them.
std::span<const ToolOption> tool_options(std::string_view tool);

/// Checks one value as it was typed. Errors: Error{usage} naming the option, the accepted form and
/// the value.
void check_tool_value(const ToolOption& option, std::string_view value);

/// Returns the numbers of "1,2,3" or "1 2 3", at least one. Errors: Error{usage} naming `what` and
/// the text.
std::vector<std::int32_t> given_tokens(std::string_view what, std::string_view text);

/// The words behind `dsrunner TOOL`, checked.
class ToolWords {
 public:
  /// Options are --NAME=VALUE or --NAME VALUE and may stand anywhere.
  /// Errors: Error{usage}: an option that is not in the table, one given twice that does not
  /// repeat, a missing value, a value that check_tool_value refuses.
  ToolWords(std::string_view tool, const std::vector<std::string>& words);

  /// The words that are not options, in order.
  std::vector<std::string> others{};

  [[nodiscard]] bool has(std::string_view option) const { return options_.contains(option); }
  /// Returns the text of an option; empty when it was not given.
  [[nodiscard]] std::string value(std::string_view option) const;
  /// Returns the texts of an option in the order in which they were given.
  [[nodiscard]] std::vector<std::string> values(std::string_view option) const;
  /// Returns a number, a decimal or bytes; `otherwise` when the option was not given.
  [[nodiscard]] double decimal(std::string_view option, double otherwise) const;
  [[nodiscard]] std::int64_t number(std::string_view option, std::int64_t otherwise = 0) const;
  [[nodiscard]] std::int64_t bytes(std::string_view option, std::int64_t otherwise = 0) const;

 private:
  std::map<std::string, std::vector<std::string>, std::less<>> options_;
};

}  // namespace ds
