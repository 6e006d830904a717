// Parses the template of line prefixes and fills in its fields for a rank. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// The values of the fields for one rank.
struct RankName {
  int rank = 0;
  int local_rank = 0;
  int node_rank = 0;
  std::string node{};   // as in the hostfile
  std::string host{};   // as the machine calls itself
  std::string group{};  // of the program
};

/// When a line was written, on the clock of the launcher's machine.
struct LineTime {
  std::chrono::system_clock::time_point wall{};
  std::chrono::nanoseconds elapsed{};  // since the ranks were started
};

/// A template such as `[{rank}] ` or `{time} {node}:{rank} `; `{{` and `}}` are braces.
class PrefixTemplate {
 public:
  static constexpr std::string_view kDefault = "[{rank}] ";

  /// Errors:  Error{usage} naming an unknown field, and the known ones.
  static PrefixTemplate parse(std::string_view text);

  /// Returns whether a field depends on when a line was written.
  [[nodiscard]] bool has_time() const;
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  /// Returns this template with `{time} ` before it.
  [[nodiscard]] PrefixTemplate with_time_first() const;
  /// Returns the prefix of a line of one rank or of several: numbers as ranges, names folded
  /// (`node[0-3]`). `stream` 1 or 2.
  [[nodiscard]] std::string render(std::span<const RankName* const> ranks, int stream,
                                   const LineTime& time) const;

 private:
  enum class Field {
    literal,
    rank,
    local_rank,
    node,
    node_rank,
    host,
    group,
    stream,
    time,
    elapsed
  };
  struct Part {
    Field field = Field::literal;
    std::string text{};  // of a literal
  };
  static Field field_named(std::string_view name, std::string_view whole);
  static std::string value(Field field, std::span<const RankName* const> ranks, int stream,
                           const LineTime& time);
  std::vector<Part> parts_;
};

/// Returns a time as 2026-10-01T12:34:56.789, in the local time zone.
std::string time_text(std::chrono::system_clock::time_point time);
/// Returns seconds, as 12.345.
std::string elapsed_text(std::chrono::nanoseconds elapsed);

/// Returns `prefix` inside the escape sequences of the rank's color.
std::string coloured(std::string_view prefix, int rank);

}  // namespace ds::launcher
