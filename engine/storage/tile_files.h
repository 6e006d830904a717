// TileFiles: files of one rank on fast disks for state that does not fit in memory, used by tiles.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ds {

/// Offsets, sizes and memory addresses of all transfers are multiples of this (for O_DIRECT).
inline constexpr std::int64_t kTileAlignment = 4096;

/// automatic: the fastest engine that works; uring: registered or plain io_uring, or an error.
enum class TileEngine : std::uint8_t { automatic, uring, threads };

struct TileFilesSpec {
  std::vector<std::string> folders;  // block b is in folder b % folders
  std::int64_t bytes = 0;            // total over all folders; a multiple of kTileAlignment
  TileEngine engine = TileEngine::automatic;
  std::int64_t block = 1 << 20;  // one request to the kernel; a multiple of kTileAlignment
  int depth = 32;                // requests in flight per folder and direction
  int beside_depth = 0;          // requests in flight of read_beside(); 0: no such lane
  bool checksum = true;
  int rank = 0;                                // for messages
  std::string label;                           // content, for messages: "optimizer state"
  std::chrono::milliseconds patience{30'000};  // an error once no request has ended for this time

  /// Returns the requests in flight in one direction, over all folders; io_uring allows no more
  /// than 32,768.
  [[nodiscard]] int requests() const {
    return std::min(depth * static_cast<int>(folders.size()), 32'768);
  }
};

/// Bytes per second.
struct DiskRates {
  double read = 0;
  double write = 0;
};

/// Reserved space on disks in files without a name, which vanish with the process however it ends.
/// Threads: one that reads, one that writes and one that uses read_beside() may run at the same
///          time on different bytes.
/// Memory:  a transfer of bytes that were transferred before allocates nothing.
/// Errors:  Error{config} from `open`; later Error{system} (an I/O error, a checksum mismatch) and
///          Error{deadline}. After an error the object can only be destroyed.
class TileFiles {
 public:
  /// Creates the files and reserves the space. Errors: Error{config} that names the folder:
  /// missing, not writable, too small (with the needed and the free bytes), or io_uring is required
  /// but forbidden.
  static std::unique_ptr<TileFiles> open(const TileFilesSpec& spec);
  virtual ~TileFiles() = default;

  /// Returns when the bytes are in `into`.
  virtual void read(std::int64_t offset, std::span<std::byte> into) = 0;
  /// Returns when the kernel has the bytes; the disk's own cache may still hold them.
  virtual void write(std::int64_t offset, std::span<const std::byte> from) = 0;
  /// Reads through a third lane with the lowest priority in the disk's queue, for a thread beside
  /// the other two. Its errors do not affect the other lanes; after Error{deadline} it must not be
  /// called again. Requires a beside_depth.
  virtual void read_beside(std::int64_t offset, std::span<std::byte> into) = 0;

  /// Offers memory that transfers will use, so that io_uring can register it. Optional; may be
  /// called several times before the first transfer. The memory outlives the object. A refused
  /// registration is not an error; description() reports it.
  virtual void register_memory(std::span<std::byte> arena) = 0;

  /// Returns the engine (registered io_uring, plain io_uring, threads) and why not a faster one.
  [[nodiscard]] virtual const std::string& description() const = 0;

  /// Measures for about 0.3 s. Only before the first write, because it overwrites the files.
  virtual DiskRates probe() = 0;
};

}  // namespace ds
