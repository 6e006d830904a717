// Wire: the file that all ranks of one fake communicator map, in threads and processes alike, with
// a ring of bytes for each pair and direction.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace fake_nccl {

inline constexpr int kMaxRanks = 16;
inline constexpr std::size_t kRing = std::size_t{1} << 18;

/// One writer, one reader.
struct Ring {
  std::atomic<std::uint64_t> written, taken;
  std::byte bytes[kRing];
};

class Wire {
 public:
  /// Returns the name of a new file in TMPDIR for the other ranks. Empty: creation failed.
  static std::string make_name();
  /// Returns null if the file cannot be opened. The last rank to join removes the name.
  static std::unique_ptr<Wire> join(const std::string& name, int rank, int ranks);
  ~Wire();
  Wire(const Wire&) = delete;

  [[nodiscard]] bool all_came() const;
  /// Write or read as many bytes as fit or are available; return their number.
  std::size_t push(int to, const std::byte* data, std::size_t bytes);
  std::size_t pull(int from, std::byte* data, std::size_t bytes);

 private:
  struct Shared;
  Wire(Shared* shared, int rank, int ranks) : shared_(shared), rank_(rank), ranks_(ranks) {}
  [[nodiscard]] Ring& ring(int from, int to) const;
  Shared* const shared_;
  const int rank_, ranks_;
};

}  // namespace fake_nccl
