// Tests of ChunkWriter and Pace: places of pieces, messages for disk errors, the rate.
#include "engine/checkpoint/chunk_writer.h"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "engine/base/error.h"
#include "engine/checkpoint/disk_error.h"
#include "unit/checkpoint/folder.h"

using namespace ds;
using namespace ds::test;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

std::vector<std::byte> pattern(std::size_t size, int seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(seed));
  }
  return bytes;
}

std::string message(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::system);
    return error.what();
  }
  return {};
}

/// Limits the files of this process to `bytes`: first a short write, then EFBIG.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before_) == 0);
    const rlimit limit{bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE(
    "pieces begin at multiples of 64, long ones at multiples of 4096, with zeros between them") {
  const Folder folder;
  const std::string path = folder.file("a.chunk");
  write_text(path, std::string(5000, 'x'));  // an older file is replaced
  ChunkWriter writer({.path = path});
  const auto one = pattern(100, 1), two = pattern(3 << 20, 2), three = pattern(1, 3);
  CHECK(writer.append(one).at == 0);
  CHECK(writer.append(two).at == 4096);
  CHECK(writer.append(three).at == 4096 + (3 << 20));
  const ChunkWriter::Place last = writer.append(three);
  CHECK(last.at == 4096 + (3 << 20) + 64);
  CHECK(writer.finish() == last.at + 1);
  const std::string text = read_text(path);
  REQUIRE(text.size() == static_cast<std::size_t>(last.at) + 1);
  CHECK(std::memcmp(text.data(), one.data(), one.size()) == 0);
  CHECK(text.substr(100, 3996) == std::string(3996, '\0'));
  CHECK(std::memcmp(text.data() + 4096, two.data(), two.size()) == 0);
  CHECK(text.back() == static_cast<char>(three[0]));
}

TEST_CASE(
    "long pieces from page-aligned memory, with and without a partial page, between short ones") {
  const Folder folder;
  const std::string path = folder.file("a.chunk");
  const std::size_t sizes[] = {3 << 20, (1 << 20) + 12, 8 << 20, 4096, 70, (2 << 20) + 4095, 5};
  constexpr std::size_t kMost = std::size_t{8} << 20;
  const std::unique_ptr<void, decltype(&std::free)> pages(std::aligned_alloc(4096, kMost),
                                                          &std::free);
  const std::span memory(static_cast<std::byte*>(pages.get()), kMost);
  for (const std::int64_t rate : {std::int64_t{0}, std::int64_t{1} << 40}) {
    ChunkWriter writer({.path = path, .rate = rate});
    std::vector<std::int64_t> places;
    std::int64_t end = 0;
    for (int i = 0; i < 7; ++i) {
      const auto bytes = pattern(sizes[i], i);
      std::ranges::copy(bytes, memory.begin());
      places.push_back(writer.append(memory.first(sizes[i])).at);
      const std::int64_t alignment = sizes[i] >= 1 << 20 ? 4096 : 64;
      CHECK(places.back() == (end + alignment - 1) / alignment * alignment);
      end = places.back() + std::ssize(bytes);
    }
    CHECK(writer.finish() == end);
    const std::string text = read_text(path);
    REQUIRE(std::ssize(text) == end);
    for (int i = 0; i < 7; ++i)
      CHECK(std::memcmp(text.data() + places[static_cast<std::size_t>(i)],
                        pattern(sizes[i], i).data(), sizes[i]) == 0);
  }
}

TEST_CASE("checksums are XXH3-64") {
  const Folder folder;
  ChunkWriter writer({.path = folder.file("a")});
  const std::string text = "dslaunch";
  // From the Python module xxhash: xxh3_64_hexdigest(b"dslaunch").
  CHECK(writer.append(std::as_bytes(std::span(text))).checksum == 0x3a643a0cecc2b7d5);
}

TEST_CASE("an older file is replaced, never written through") {
  const Folder folder;
  write_text(folder.file("theirs"), "theirs");
  std::filesystem::create_symlink(folder.file("theirs"), folder.file("a"));
  ChunkWriter writer({.path = folder.file("a")});
  writer.append(pattern(10, 0));
  writer.finish();
  CHECK(read_text(folder.file("theirs")) == "theirs");
  CHECK(read_text(folder.file("a")).size() == 10);
}

TEST_CASE("a file that cannot grow: short writes are continued, then the error says why") {
  const Folder folder;
  const auto bytes = pattern(1 << 20, 5);
  std::string said;
  {
    ChunkWriter writer({.path = folder.file("a")});
    const FileLimit limit((1 << 20) + 1000);
    writer.append(bytes);
    said = message([&] { writer.append(bytes); });
  }
  CHECK(said ==
        folder.file("a") +
            " cannot be written after 1.0 MiB of it: the file exceeds the limit of file sizes "
            "(File too large)");
  CHECK(read_text(folder.file("a")).size() == (1 << 20) + 1000);
}

TEST_CASE("a missing folder, and a path that is not a folder") {
  const Folder folder;
  CHECK(message([&] { ChunkWriter({.path = folder.file("b/a")}); }) ==
        folder.file("b/a") + " cannot be created: No such file or directory");
  write_text(folder.file("c"), "");
  CHECK(has(message([&] { ChunkWriter({.path = folder.file("c/a")}); }), "Not a directory"));
  std::filesystem::create_directory(folder.file("d"));
  CHECK(has(message([&] { ChunkWriter({.path = folder.file("d")}); }), "cannot be created"));
}

TEST_CASE("disk errors in plain words") {
  const std::pair<int, const char*> kWords[] = {{ENOSPC, "the disk is full"},
                                                {EDQUOT, "quota"},
                                                {EIO, "broken"},
                                                {EACCES, "no permission"},
                                                {EROFS, "read-only"}};
  for (const auto& [number, word] : kWords) {
    const Error error = disk_error("/x/a", "cannot be written", number);
    CHECK(has(error.what(), "/x/a cannot be written: "));
    CHECK(has(error.what(), word));
    CHECK_FALSE(error.hint().empty());
  }
}

TEST_CASE("after cancel the next write throws, and so does finish()") {
  const Folder folder;
  std::atomic<bool> cancel{false};
  ChunkWriter writer({.path = folder.file("a"), .rate = 1, .cancel = &cancel});
  cancel = true;
  CHECK(has(message([&] { writer.append(pattern(10, 0)); }), "the save is canceled"));
  CHECK(has(message([&] { writer.finish(); }), "the save is canceled"));
}

TEST_CASE("hurry lifts the rate limit") {
  const Folder folder;
  const std::atomic<bool> hurry{true};
  ChunkWriter writer({.path = folder.file("a"), .rate = 1, .hurry = &hurry});
  writer.append(pattern(1 << 20, 0));  // takes 12 days at that rate
  CHECK(writer.finish() == 1 << 20);
}

TEST_CASE("Pace: bytes divided by rate, and no burst after a pause") {
  const Clock::time_point start{seconds(1000)};
  Pace pace(1000);
  CHECK(pace.after(500, start) == start + milliseconds(500));
  CHECK(pace.after(500, start + milliseconds(100)) == start + seconds(1));
  CHECK(pace.after(1000, start + seconds(50)) == start + seconds(51));
  CHECK(Pace(0).after(1 << 30, start) == start);
  CHECK(Pace(1).after(INT64_MAX, start) > start);
}
