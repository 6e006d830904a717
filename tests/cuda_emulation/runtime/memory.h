// Memory: device memory and registered host memory, with detection of writes around them.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "cuda_runtime_api.h"

namespace emulation {

/// Not thread-safe: callers hold the runtime's lock.
class Memory {
 public:
  /// Returns memory between guard bytes, filled with 0xFF. Null if the device's memory is
  /// exhausted.
  void* allocate(std::size_t bytes, std::size_t capacity);
  /// Returns pinned memory for the runtime: not counted, zeroed by the system.
  void* allocate_host(std::size_t bytes);
  /// Frees a piece. `complaint` receives a description of writes around it. Returns false if no
  /// piece starts there.
  bool release(void* data, cudaMemoryType type, std::string* complaint);
  cudaError_t enlist(void* data, std::size_t bytes);
  cudaError_t strike_off(void* data);

  /// Returns the kind of memory at `data`; a piece includes its end.
  [[nodiscard]] cudaMemoryType type_of(const void* data) const;
  /// Returns whether [data, data + bytes) is within one piece that the device can access.
  [[nodiscard]] bool reachable(const void* data, std::size_t bytes) const;
  [[nodiscard]] std::size_t used() const { return used_; }
  /// Describes writes around any piece; empty if none. Reports each piece once.
  std::string check_guards();

  /// Forbids access to device memory by the host from now on, as with a GPU.
  void hide();
  /// Allows access while the device works.
  void show();
  void set_hides(bool hides);

 private:
  struct Piece {
    std::size_t bytes = 0;
    cudaMemoryType type = cudaMemoryTypeDevice;
    std::byte* mapped = nullptr;  // null: mapped by the caller
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
