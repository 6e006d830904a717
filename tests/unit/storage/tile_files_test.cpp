// Real files in a temporary folder, on every step of the ladder.
#include "engine/storage/tile_files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/base/error.h"

using namespace ds;

namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kMiB = 1 << 20;

/// A new folder that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string name = fs::temp_directory_path() / "tilesXXXXXX";
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }
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

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

TileFilesSpec spec_in(std::vector<std::string> folders, std::int64_t bytes) {
  return {.folders = std::move(folders),
          .bytes = bytes,
          .engine = "threads",
          .block = 64 * 1024,
          .label = "test"};
}

std::string refusal(const TileFilesSpec& spec) {
  try {
    TileFiles::open(spec);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.for_people();
  }
  return "no error";
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("tiles come back as written, from one folder and from three") {
  const Folder a, b, c;
  for (const auto& folders : {std::vector{a.path()}, std::vector{a.path(), b.path(), c.path()}}) {
    const auto files = TileFiles::open(spec_in(folders, 4 * kMiB + 4096));
    Memory out(4 * kMiB + 4096), in(4 * kMiB + 4096);
    files->register_memory(out.all());
    out.fill(1);
    files->write(0, out.all());
    files->read(0, in.all());
    CHECK(same(out.all(), in.all()));
    out.fill(2);
    files->write(kMiB + 4096, out.part(kMiB + 4096, 300 * 4096));
    files->read(kMiB + 4096, in.part(kMiB + 4096, 300 * 4096));
    CHECK(same(out.part(kMiB + 4096, 300 * 4096), in.part(kMiB + 4096, 300 * 4096)));
    files->read(kMiB, in.part(kMiB, 4096));  // a part of a tile
    CHECK_FALSE(same(out.part(kMiB, 4096), in.part(kMiB, 4096)));
  }
}

TEST_CASE("one thread reads while another writes") {
  const Folder folder;
  const auto files = TileFiles::open(spec_in({folder.path()}, 8 * kMiB));
  Memory first(4 * kMiB), second(4 * kMiB), in(4 * kMiB);
  first.fill(1);
  second.fill(2);
  files->write(0, first.all());
  std::thread writer([&] {
    for (int i = 0; i < 8; ++i) files->write(4 * kMiB, second.all());
  });
  for (int i = 0; i < 8; ++i) files->read(0, in.all());
  writer.join();
  CHECK(same(first.all(), in.all()));
  files->read(4 * kMiB, in.all());
  CHECK(same(second.all(), in.all()));
}

TEST_CASE("the files have their space and no name; the folder may go away") {
  Folder folder;
  const auto files = TileFiles::open(spec_in({folder.path()}, 4 * kMiB));
  CHECK(fs::is_empty(folder.path()));
  Memory memory(4 * kMiB);
  memory.fill(3);
  fs::remove_all(folder.path());
  files->write(0, memory.all());
  files->read(0, memory.all());
  CHECK(has(files->description(), "1 folder,"));
}

TEST_CASE("a folder that cannot be used is refused with its name and what to do") {
  const Folder folder;
  const std::string file = folder.path() + "/file";
  std::ofstream(file) << "x";
  CHECK(
      has(refusal(spec_in({folder.path() + "/none"}, kMiB)), "none: does not exist\n  hint: make"));
  CHECK(has(refusal(spec_in({file}, kMiB)), "is no folder"));
  CHECK(has(refusal(spec_in({}, kMiB)), "no folder for files is given"));
  CHECK(has(refusal(spec_in({"/proc"}, kMiB)), "/proc: no file can be made there"));
  TileFilesSpec spec = spec_in({folder.path()}, kMiB);
  spec.engine = "libaio";
  CHECK(has(refusal(spec), "engine \"libaio\""));
}

TEST_CASE("more than a disk has is refused at once, with what is needed and what is free") {
  const Folder folder;
  const std::int64_t available = static_cast<std::int64_t>(fs::space(folder.path()).available);
  const std::string text = refusal(spec_in({folder.path()}, (available / kMiB + 1024) * 2 * kMiB));
  CHECK(has(text, folder.path() + ": needs "));
  CHECK(has(text, " free"));
  CHECK(has(text, "hint: free some space"));
  // What the attempt took is free again.
  CHECK(static_cast<std::int64_t>(fs::space(folder.path()).available) > available / 2);
}

TEST_CASE("an empty store is opened like any other") {
  const Folder folder;
  const auto files = TileFiles::open(spec_in({folder.path()}, 0));
  files->write(0, {});
  CHECK(files->probe().read == 0);
}

TEST_CASE("the probe gives rates") {
  const Folder folder;
  const auto files = TileFiles::open(spec_in({folder.path()}, 8 * kMiB));
  const DiskRates rates = files->probe();
  CHECK(rates.read > 0);
  CHECK(rates.write > 0);
}
