// Tests of BlockLane on a scripted queue in memory: short transfers, interruptions, errors,
// timeouts, wrong bytes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>

#include "engine/base/error.h"
#include "engine/storage/block_lane.h"

using namespace ds;

namespace {

constexpr std::int64_t kPage = kTileAlignment;

/// Ends the n-th start with the n-th scripted result (kAll: everything) and moves that many bytes.
/// The block started last ends first.
class ScriptedQueue final : public BlockQueue {
 public:
  static constexpr std::int64_t kAll = 1'000'000'000;
  static constexpr std::int64_t kSilent = 2'000'000'000;

  struct Disk {
    std::vector<std::vector<std::byte>> files;
    std::deque<std::int64_t> script;  // empty: kAll
    std::vector<FileBlock> seen;
    int most_at_once = 0;
  };
  ScriptedQueue(Disk& disk, Direction direction) : disk_(disk), direction_(direction) {}

  void start(int slot, const FileBlock& block) override {
    disk_.seen.push_back(block);
    std::int64_t result = kAll;
    if (!disk_.script.empty()) {
      result = disk_.script.front();
      disk_.script.pop_front();
    }
    if (result == kSilent) return;
    if (result > 0) {
      result = std::min(result, block.size);
      std::byte* const stored =
          disk_.files.at(static_cast<std::size_t>(block.file)).data() + block.offset;
      const bool reads = direction_ == Direction::read;
      std::memcpy(reads ? block.memory : stored, reads ? stored : block.memory,
                  static_cast<std::size_t>(result));
    }
    ends_.push_back({slot, result});
    disk_.most_at_once = std::max(disk_.most_at_once, static_cast<int>(ends_.size()));
  }

  int wait(std::span<BlockEnd> ends, Deadline) override {
    if (ends_.empty()) return 0;
    ends[0] = ends_.back();
    ends_.pop_back();
    return 1;
  }

 private:
  Disk& disk_;
  Direction direction_;
  std::vector<BlockEnd> ends_;
};

struct Rig {
  static constexpr std::int64_t kBytes = 16 * kPage;
  explicit Rig(int files = 1) {
    spec.folders.assign(static_cast<std::size_t>(files), "/fast");
    spec.bytes = kBytes;
    spec.block = 2 * kPage;
    spec.depth = 3;
    spec.rank = 5;
    spec.label = "optimizer state";
    for (int i = 0; i < kBytes; ++i) memory.push_back(static_cast<std::byte>(i / kPage + 3 * i));
    disk.files.assign(static_cast<std::size_t>(files), std::vector<std::byte>(kBytes));
    open->folders = spec.folders;
  }

  BlockLane lane(Direction direction) {
    return {{.direction = direction,
             .stripes = {.files = static_cast<int>(spec.folders.size()), .block = spec.block},
             .files = open,
             .queue = std::make_unique<ScriptedQueue>(disk, direction),
             .checksums = &sums},
            spec};
  }
  void write_all() { lane(Direction::write).run(0, memory.data(), kBytes); }
  std::vector<std::byte> read_all() {
    std::vector<std::byte> result(kBytes);
    lane(Direction::read).run(0, result.data(), kBytes);
    return result;
  }
  Error error_of(Direction direction) {
    try {
      std::vector<std::byte> other = memory;
      lane(direction).run(0, other.data(), kBytes);
    } catch (const Error& error) {
      return error;
    }
    FAIL("no error");
    return {ErrorKind::bug, ""};
  }

  TileFilesSpec spec;
  ScriptedQueue::Disk disk;
  Checksums sums;
  std::shared_ptr<OpenFiles> open = std::make_shared<OpenFiles>();
  std::vector<std::byte> memory;
};

bool says(const Error& error, std::string_view text) {
  return std::string_view(error.what()).find(text) != std::string_view::npos;
}

}  // namespace

TEST_CASE("data reads back as written, over one file and over three, with a full queue") {
  for (const int files : {1, 3}) {
    Rig rig(files);
    rig.write_all();
    CHECK(rig.read_all() == rig.memory);
    CHECK(rig.disk.seen.size() == 16);  // 8 blocks written, 8 read
    CHECK(rig.disk.most_at_once == std::min(8, 3 * files));
  }
}

TEST_CASE("a short transfer is continued at the last whole page") {
  Rig rig;
  rig.disk.script = {kPage + 512, 100};
  rig.write_all();
  CHECK(rig.disk.seen.size() == 10);
  const auto resumed = std::count_if(rig.disk.seen.begin(), rig.disk.seen.end(),
                                     [](const FileBlock& b) { return b.size == kPage; });
  CHECK(resumed ==
        1);  // one page of the first block was left; the second block started from its beginning
  for (const FileBlock& block : rig.disk.seen) {
    CHECK(block.offset % kPage == 0);
    CHECK(block.size % kPage == 0);
  }
  rig.disk.script = {kPage, kPage, 1};
  CHECK(rig.read_all() == rig.memory);
}

TEST_CASE("EINTR and EAGAIN are retried") {
  Rig rig;
  rig.disk.script = {-EINTR, -EAGAIN, -EAGAIN};
  rig.write_all();
  rig.disk.script = {-EAGAIN, -EINTR};
  CHECK(rig.read_all() == rig.memory);
}

TEST_CASE("an error names direction, folder, rank, purpose and both offsets, and says what to do") {
  Rig rig(2);
  rig.disk.script = {ScriptedQueue::kAll, ScriptedQueue::kAll, ScriptedQueue::kAll, -EIO};
  const Error error = rig.error_of(Direction::write);
  CHECK(error.kind() == ErrorKind::system);
  CHECK(std::string(error.what()) ==
        "writing /fast's file (rank 5, optimizer state) at byte 8192 (tile byte 24576): "
        "Input/output error");
  CHECK(error.hint().find("dmesg") != std::string::npos);
  Rig full;
  full.disk.script = {-ENOSPC};
  CHECK(full.error_of(Direction::write).hint().find("free some") != std::string::npos);
}

TEST_CASE("after an error no block is started, and all blocks in flight have ended") {
  Rig rig;
  rig.disk.script = {ScriptedQueue::kAll, ScriptedQueue::kAll, -EIO};
  rig.error_of(Direction::read);
  CHECK(rig.disk.seen.size() == 3);
  Rig retried;
  retried.disk.script = {-EAGAIN, kPage, -EIO};  // the others are not retried either
  retried.error_of(Direction::read);
  CHECK(retried.disk.seen.size() == 3);
}

TEST_CASE("a file that ends early is an error, not an endless retry") {
  Rig rig;
  rig.disk.script = {0};
  CHECK(says(rig.error_of(Direction::read), "the file ends here"));
}

TEST_CASE("no response within the patience is an error") {
  Rig rig;
  rig.spec.patience = std::chrono::milliseconds(5);
  rig.disk.script = {ScriptedQueue::kAll, ScriptedQueue::kSilent};
  const Error error = rig.error_of(Direction::read);
  CHECK(error.kind() == ErrorKind::deadline);
  CHECK(says(error, "no response for"));
}

TEST_CASE("transfers without progress time out too") {
  Rig rig;
  rig.spec.depth = 1;
  rig.disk.script.assign(2'000'000, 100);
  rig.spec.patience = std::chrono::milliseconds(5);
  CHECK(rig.error_of(Direction::read).kind() == ErrorKind::deadline);
}

TEST_CASE("a tile that changed on the disk is reported; one never written is not checked") {
  Rig rig;
  CHECK_NOTHROW(rig.read_all());
  rig.write_all();
  rig.disk.files[0][5 * kPage + 17] ^= std::byte{1};
  const Error error = rig.error_of(Direction::read);
  CHECK(error.kind() == ErrorKind::system);
  CHECK(std::string(error.what()) ==
        "reading /fast's file (rank 5, optimizer state) at byte 16384 (tile byte 16384): checksum "
        "mismatch: the 8.0 KiB read differ from the data written");
  CHECK(error.hint().find("smartctl") != std::string::npos);
}
