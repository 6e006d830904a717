// Cuts the bytes of a PMI connection into requests: a command and its attributes. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ds::launcher {

/// A request of PMI-1: the line "cmd=put kvsname=k key=a value=b", or a spawn request, which has
/// several lines. A request of PMI-2: the length of the rest in 6 characters, and the rest:
/// "    28cmd=kvs-put;key=a;value=b;".
struct PmiRequest {
  bool of_pmi2 = false;
  std::string command{};
  std::vector<std::pair<std::string, std::string>> attributes{};
  /// Returns the value of an attribute; null if the request does not have it.
  [[nodiscard]] const std::string* find(std::string_view name) const;
};

/// Tells requests of PMI-1 and PMI-2 apart by their first byte, as Hydra does.
/// Promise: any bytes give requests, or one problem, whatever pieces they come in. Memory is at
///          most kMaxFrame plus one feed; the attributes of a spawn request of PMI-1 are not kept.
class PmiReader {
 public:
  /// A longer line is a problem. MPICH writes at most 1,024 bytes, later versions 4,096.
  static constexpr std::size_t kMaxLine = 8192;
  /// A longer request of PMI-2 is a problem. MPICH writes at most as many bytes.
  static constexpr std::size_t kMaxFrame = std::size_t{64} << 10;

  void feed(std::string_view bytes) { buffer_ += bytes; }
  /// Returns the next whole request; nothing if more bytes are needed or problem() is set.
  std::optional<PmiRequest> next();
  /// Returns what is wrong with the bytes; follows the name of a rank.
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }
  /// Returns whether a request has begun and is not whole.
  [[nodiscard]] bool is_inside() const { return at_ < buffer_.size() || in_spawn_; }

 private:
  std::optional<PmiRequest> next_line(std::string_view rest);
  std::optional<PmiRequest> next_frame(std::string_view rest);
  std::optional<PmiRequest> parse(std::string_view line);
  std::optional<PmiRequest> parse_frame(std::string_view frame);
  std::optional<PmiRequest> parse_spawn(std::string_view line);
  std::optional<PmiRequest> fail(std::string_view what, std::string_view line);

  std::string buffer_;
  std::size_t at_ = 0;       // the next request
  bool needs_more_ = false;  // the rest of the buffer is not a whole request or line
  bool in_spawn_ = false;
  int spawns_ = 0;  // of `totspawns`, so far
  int total_spawns_ = 1;
  std::optional<std::string> problem_;
};

/// Returns the number that a text is; nothing if it is not a whole number of 32 bits.
std::optional<int> pmi_number(std::string_view text);

}  // namespace ds::launcher
