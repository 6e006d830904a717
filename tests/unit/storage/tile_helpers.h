// Temporary folders, aligned memory and access to nameless files, for tests of engine/storage.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/unique_fd.h"
#include "engine/storage/tile_files.h"

namespace ds::test {

inline constexpr std::int64_t kMiB = 1 << 20;

/// A new folder that is removed with the test.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "tilesXXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Memory {
 public:
  explicit Memory(std::int64_t size)
      : bytes_(static_cast<std::byte*>(std::aligned_alloc(4096, static_cast<std::size_t>(size))),
               static_cast<std::size_t>(size)) {
    REQUIRE(bytes_.data() != nullptr);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { std::free(bytes_.data()); }
  void fill(int seed) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      bytes_[i] = static_cast<std::byte>(static_cast<std::size_t>(seed) + i * 7 + i / 4096);
    }
  }
  [[nodiscard]] std::span<std::byte> all() const { return bytes_; }
  [[nodiscard]] std::span<std::byte> part(std::int64_t at, std::int64_t size) const {
    return bytes_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
  }

 private:
  std::span<std::byte> bytes_;
};

inline bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

inline TileFilesSpec spec_in(std::vector<std::string> folders, std::int64_t bytes) {
  return {.folders = std::move(folders),
          .bytes = bytes,
          .engine = TileEngine::threads,
          .block = 64 * 1024,
          .label = "test"};
}

inline bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Returns the /proc path of this process's nameless file in `folder`.
inline std::string file_in(const std::string& folder) {
  std::string found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code none;
    const std::string target = std::filesystem::read_symlink(entry.path(), none);
    if (target.starts_with(folder + "/")) found = entry.path();
  }
  REQUIRE_FALSE(found.empty());
  return found;
}

inline void flip_byte(const std::string& folder, std::int64_t offset) {
  const UniqueFd file(::open(file_in(folder).c_str(), O_RDWR | O_CLOEXEC));
  char byte = 0;
  REQUIRE(::pread(file.get(), &byte, 1, offset) == 1);
  byte = static_cast<char>(byte ^ 1);
  REQUIRE(::pwrite(file.get(), &byte, 1, offset) == 1);
}

}  // namespace ds::test
