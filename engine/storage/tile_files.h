// Files of one rank on fast disks, used as memory: what does not fit elsewhere is written and read
// tile by tile.
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

/// Offsets, sizes and memory addresses of all transfers are multiples of this (O_DIRECT).
inline constexpr std::int64_t kTileAlignment = 4096;

/// `automatic`: the highest step of the ladder that works; `uring`: registered or plain io_uring,
/// or an error.
enum class TileEngine : std::uint8_t { automatic, uring, threads };

struct TileFilesSpec {
  std::vector<std::string> folders;  // block b lies in folder b % folders
  std::int64_t bytes = 0;            // in all, over every folder; a multiple of kTileAlignment
  TileEngine engine = TileEngine::automatic;
  std::int64_t block = 1 << 20;  // one request to the system; a multiple of kTileAlignment
  int depth = 32;                // requests under way at once, a folder and direction
  int beside_depth = 0;          // the same, of read_beside(); 0: there is none
  bool checksum = true;
  int rank = 0;                                // for people
  std::string label;                           // what lies there, for people: "optimizer state"
  std::chrono::milliseconds patience{30'000};  // an error once no request has ended for so long

  /// Requests under way in one direction, over all folders; the kernel has no larger rings.
  [[nodiscard]] int requests() const {
    return std::min(depth * static_cast<int>(folders.size()), 32'768);
  }
};

/// Bytes per second.
struct DiskRates {
  double read = 0;
  double write = 0;
};

/// Space on disks, all of it reserved, in files without a name: they vanish with the process,
/// however it ends.
/// Threads: one that reads, one that writes and one that reads beside may work at the same time, on
///          different bytes.
/// Memory:  nothing is allocated by a transfer of bytes that were transferred before.
/// Errors:  Error{config} from `open`; later Error{system} (an I/O error, a tile that reads other
///          than it was written) and Error{deadline}. After one the object is only good to be
///          destroyed.
class TileFiles {
 public:
  /// Takes the space. Errors: Error{config} naming the folder: missing, not writable, too small
  /// (with what is needed and what is free), or `TileEngine::uring` where that is forbidden.
  static std::unique_ptr<TileFiles> open(const TileFilesSpec& spec);
  virtual ~TileFiles() = default;

  /// Returns when the bytes are there.
  virtual void read(std::int64_t offset, std::span<std::byte> into) = 0;
  /// Returns when the system has the bytes (a cache of the disk's own may still hold them).
  virtual void write(std::int64_t offset, std::span<const std::byte> from) = 0;
  /// A third lane, for a thread that reads beside the other two, behind them in the disk's queue.
  /// Its errors leave those as they are; after Error{deadline} it is not to be used again. Only
  /// with a beside_depth.
  virtual void read_beside(std::int64_t offset, std::span<std::byte> into) = 0;

  /// Offers memory that transfers will use; io_uring then registers it. Optional, before the first
  /// transfer, several times; the memory outlives the object. Refused registration is no error:
  /// `description` tells.
  virtual void register_memory(std::span<std::byte> arena) = 0;

  /// The step of the ladder (registered io_uring, plain io_uring, threads) and why no higher one.
  [[nodiscard]] virtual const std::string& description() const = 0;

  /// Measures for about 0.3 s. Only before the first write: what lies in the files is lost.
  virtual DiskRates probe() = 0;
};

}  // namespace ds
