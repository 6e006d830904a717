// Reads standard input from a thread of its own, as much as was allowed. The descriptor's flags
// stay as they are, since other processes may share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace ds::launcher {

class InputReader {
 public:
  /// Called from the reading thread. `last` is set in the last call, which may have no bytes.
  using OnInput = std::function<void(std::vector<std::byte> bytes, bool last)>;

  InputReader(int fd, OnInput on_input);
  /// Does not wait for the thread, since input may never arrive.
  ~InputReader();
  InputReader(const InputReader&) = delete;
  InputReader& operator=(const InputReader&) = delete;

  /// Allows this many more bytes to be read.
  void allow(std::uint64_t bytes);

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace ds::launcher
