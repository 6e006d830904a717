// Device memory and registered host memory: what exists, and whether anybody wrote around it.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "cuda_runtime_api.h"

namespace emulation {

/// Not thread-safe: the runtime's lock is held.
class Memory {
 public:
  /// Between guard bytes, filled with 0xFF. Null when the device's memory is used up.
  void* allocate(std::size_t bytes, std::size_t capacity);
  /// Pinned memory of the runtime's own: not counted, zeroed by the system.
  void* allocate_host(std::size_t bytes);
  /// `complaint` gets what was written around it. False: nothing starts there.
  bool release(void* data, cudaMemoryType type, std::string* complaint);
  cudaError_t enlist(void* data, std::size_t bytes);
  cudaError_t strike_off(void* data);

  /// Which kind of memory `data` lies in; the end of a piece counts to it.
  [[nodiscard]] cudaMemoryType type_of(const void* data) const;
  /// Whether [data, data + bytes) lies in one piece that the device can reach.
  [[nodiscard]] bool reachable(const void* data, std::size_t bytes) const;
  [[nodiscard]] std::size_t used() const { return used_; }
  /// What was written around any piece; empty if nothing. Complains once about each.
  std::string check_guards();

  /// From now on the host must not touch device memory: as on a GPU, it has no such addresses.
  void hide();
  /// The device is at work.
  void show();
  void set_hides(bool hides);

 private:
  struct Piece {
    std::size_t bytes = 0;
    cudaMemoryType type = cudaMemoryTypeDevice;
    std::byte* mapped = nullptr;  // null: not ours
    std::size_t mapped_bytes = 0;
    bool reported = false;
  };
  using Pieces = std::map<std::byte*, Piece>;
  void* map_piece(std::size_t bytes, cudaMemoryType type);
  [[nodiscard]] Pieces::const_iterator find(const void* data) const;
  static std::string complaint_of(std::byte* data, const Piece& piece);

  void protect(int rights);

  Pieces pieces_;
  bool hides_ = false, hidden_ = false;
  std::size_t used_ = 0;
};

}  // namespace emulation
