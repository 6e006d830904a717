// Reads standard input from a thread of its own, as much as it is asked for: nothing of the
// descriptor is changed, since others may share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace ds::launcher {

class InputReader {
 public:
  /// Called from the reading thread; the last call says so, with or without bytes.
  using OnInput = std::function<void(std::vector<std::byte> bytes, bool last)>;

  InputReader(int fd, OnInput on_input);
  /// Does not wait for the thread: nobody may ever write to the descriptor.
  ~InputReader();
  InputReader(const InputReader&) = delete;
  InputReader& operator=(const InputReader&) = delete;

  /// At most so many bytes may come from now on.
  void allow(std::uint64_t bytes);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace ds::launcher
