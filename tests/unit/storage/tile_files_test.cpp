// Tests of TileFiles on real files in a temporary folder: refusals, reserved space, damage found.
#include "engine/storage/tile_files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/base/error.h"
#include "unit/storage/tile_helpers.h"

using namespace ds;
using namespace ds::test;
namespace fs = std::filesystem;

namespace {

std::string refusal(const TileFilesSpec& spec) {
  try {
    TileFiles::open(spec);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.for_people();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the files have reserved space and no name; the folder may be removed") {
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
  CHECK(has(refusal(spec_in({folder.path() + "/none"}, kMiB)),
            "none: does not exist\n  hint: create"));
  CHECK(has(refusal(spec_in({file}, kMiB)), "is not a folder"));
  CHECK(has(refusal(spec_in({}, kMiB)), "no folder for offloaded state is given"));
  CHECK(has(refusal(spec_in({"/proc"}, kMiB)), "/proc: cannot create a file there"));
}

TEST_CASE("more space than a disk has is refused with the needed and the free bytes") {
  const Folder folder;
  const std::int64_t available = static_cast<std::int64_t>(fs::space(folder.path()).available);
  // What other programs of this machine see meanwhile.
  std::atomic<bool> over{false};
  std::int64_t least = available;
  std::thread other([&] {
    while (!over) {
      least = std::min(least, static_cast<std::int64_t>(fs::space(folder.path()).available));
    }
  });
  const std::string text = refusal(spec_in({folder.path()}, (available / kMiB + 1024) * 2 * kMiB));
  over = true;
  other.join();
  CHECK(has(text, folder.path() + ": needs "));
  CHECK(has(text, " free"));
  CHECK(has(text, "hint: free some space"));
  CHECK(least > available / 2);
}

TEST_CASE("files of 0 bytes can be opened") {
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

TEST_CASE("bytes changed on the disk are detected when read") {
  const Folder folder;
  const auto files = TileFiles::open(spec_in({folder.path()}, kMiB));
  Memory memory(kMiB);
  memory.fill(1);
  files->write(0, memory.all());
  flip_byte(folder.path(), 300'000);
  files->read(0, memory.part(0, 256 * 1024));
  CHECK_THROWS_WITH(files->read(256 * 1024, memory.part(256 * 1024, 256 * 1024)),
                    doctest::Contains("at byte 262144 (tile byte 262144): checksum mismatch: the "
                                      "64.0 KiB read differ"));
  TileFilesSpec trusting = spec_in({folder.path()}, kMiB);
  trusting.checksum = false;
  const auto unchecked = TileFiles::open(trusting);
  unchecked->write(0, memory.all());
  flip_byte(folder.path(), 300'000);
  CHECK_NOTHROW(unchecked->read(0, memory.all()));
}

TEST_CASE("a file that was truncated is an error") {
  const Folder folder;
  const auto files = TileFiles::open(spec_in({folder.path()}, kMiB));
  Memory memory(kMiB);
  REQUIRE(::truncate(file_in(folder.path()).c_str(), 100 * 4096) == 0);
  CHECK_THROWS_WITH(files->read(0, memory.all()), doctest::Contains("the file ends here"));
}
