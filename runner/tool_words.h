// Words after `dsrunner inspect`, `export` and `average`: options of a table, and the rest.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds {

struct ToolOption {
  std::string_view name;  // "--out"
  bool takes_value = false;
};

struct ToolWords {
  std::map<std::string, std::string, std::less<>> options{};  // as given; flags have no value
  std::vector<std::string> others{};

  [[nodiscard]] bool has(std::string_view option) const { return options.contains(option); }
  /// Empty when it was not given.
  [[nodiscard]] std::string value(std::string_view option) const;
};

/// `tool`: "inspect". Errors: Error{usage}: an option that is not in the table, one given twice, a
/// missing value.
ToolWords read_tool_words(std::string_view tool, const std::vector<std::string>& words,
                          std::span<const ToolOption> table);

/// On a terminal one line on standard error, drawn again at most ten times a second and removed at
/// the end; elsewhere nothing.
class ToolProgress {
 public:
  explicit ToolProgress(std::string verb);  // "verified"
  ~ToolProgress();
  ToolProgress(const ToolProgress&) = delete;
  ToolProgress& operator=(const ToolProgress&) = delete;
  void show(std::int64_t done, std::int64_t bytes);

 private:
  std::string verb_;
  bool is_terminal_;
  std::size_t shown_ = 0;  // columns
  std::int64_t last_ms_ = 0;
};

/// Threads for reading: the cores that this process may use, 16 at most.
int reading_threads();

}  // namespace ds
