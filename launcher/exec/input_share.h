// Standard input for many nodes: how much each has received, and the bytes that some still need.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "launcher/wire/frame.h"

namespace ds::launcher::exec {

/// The slowest running command sets the pace. Commands that have ended and lost nodes never hold up
/// the others.
class InputShare {
 public:
  /// `waiting_count`: nodes that have not started also set the pace. False with a fan-out: they
  /// wait for commands to end, and those may wait for the end of the input.
  InputShare(int nodes, bool waiting_count)
      : nodes_(static_cast<std::size_t>(nodes)), waiting_count_(waiting_count) {}

  /// Marks the command of a node as running; it gets all input from the first byte.
  void started(int node) {
    if (stage(node) == Stage::waiting) stage(node) = Stage::running;
  }
  /// Marks a node as ended or lost; it receives nothing more.
  void left(int node) { stage(node) = Stage::left; }
  /// Counts `bytes` that the command of a node has read or discarded.
  void taken(int node, std::uint64_t bytes) {
    Node& known = this->node(node);
    known.taken += std::min(bytes, known.sent - known.taken);
  }
  /// Counts `bytes` read from standard input; `last`: the file ends after them.
  void read(std::uint64_t bytes, bool last) {
    end_ += bytes;
    ended_ = ended_ || last;
  }

  struct Piece {
    std::uint64_t from = 0;
    std::uint64_t count = 0;
    bool last = false;  // the file ends with this piece
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  /// Returns the piece that a node may be sent now, and marks it as sent.
  std::optional<Piece> next(int index) {
    Node& node = this->node(index);
    if (node.stage != Stage::running || node.told_end) return std::nullopt;
    const std::uint64_t to = std::min(end_, node.taken + Stdin::kWindow);
    Piece piece{.from = node.sent, .count = to - node.sent, .last = ended_ && to == end_};
    if (piece.count == 0 && !piece.last) return std::nullopt;
    node.sent = to;
    node.told_end = piece.last;
    return piece;
  }

  /// Returns the number of bytes that may be read now.
  [[nodiscard]] std::uint64_t room() const {
    if (ended_) return 0;
    std::uint64_t slowest = end_;
    bool wanted = false;
    for (const Node& node : nodes_) {
      if (node.stage == Stage::left) continue;
      wanted = true;
      if (node.stage == Stage::running || waiting_count_) slowest = std::min(slowest, node.taken);
    }
    return wanted ? Stdin::kWindow - std::min(end_ - slowest, Stdin::kWindow) : 0;
  }
  /// Returns the position before which no node needs input any more.
  [[nodiscard]] std::uint64_t needed_from() const {
    std::uint64_t from = end_;
    for (const Node& node : nodes_)
      if (node.stage != Stage::left) from = std::min(from, node.sent);
    return from;
  }

 private:
  enum class Stage { waiting, running, left };
  struct Node {
    Stage stage = Stage::waiting;
    std::uint64_t sent = 0;
    std::uint64_t taken = 0;
    bool told_end = false;
  };
  [[nodiscard]] Node& node(int index) { return nodes_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] Stage& stage(int index) { return node(index).stage; }

  std::vector<Node> nodes_;
  bool waiting_count_;
  std::uint64_t end_ = 0;  // number of bytes read
  bool ended_ = false;
};

/// Positions count from the first byte that was added.
class InputStore {
 public:
  /// Larger amounts go to a file in TMPDIR, else /tmp.
  static constexpr std::size_t kInMemory = std::size_t{1} << 20;

  /// Errors:  Error{system} if the file cannot be written.
  void add(std::span<const std::byte> bytes) {
    if (!file_ && bytes_.size() + bytes.size() > kInMemory) move_to_disk();
    if (file_) return write(bytes);
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  /// Allows the store to drop all bytes before `position`.
  void forget(std::uint64_t position) {
    if (position <= begin_) return;
    if (file_) return forget_in_file(position - begin_);
    const auto count = std::min<std::uint64_t>(position - begin_, bytes_.size());
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(count));
    begin_ += count;
  }
  /// Errors:  Error{system} if the file cannot be read.
  [[nodiscard]] std::vector<std::byte> get(std::uint64_t from, std::uint64_t count) const {
    DS_ASSERT(from >= begin_);
    const auto offset = static_cast<std::ptrdiff_t>(from - begin_);
    if (!file_)
      return {bytes_.begin() + offset,
              bytes_.begin() + offset + static_cast<std::ptrdiff_t>(count)};
    std::vector<std::byte> bytes(count);
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t got = ::pread(file_.get(), bytes.data() + done, bytes.size() - done,
                                  offset + static_cast<off_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) throw_errno("cannot read back standard input", got == 0 ? EIO : errno);
      done += static_cast<std::size_t>(got);
    }
    return bytes;
  }
  [[nodiscard]] bool on_disk() const { return static_cast<bool>(file_); }
  /// Returns the number of bytes that the file takes on its disk.
  [[nodiscard]] std::uint64_t disk_bytes() const {
    struct stat known {};
    return ::fstat(file_.get(), &known) == 0 ? static_cast<std::uint64_t>(known.st_blocks) * 512
                                             : 0;
  }

 private:
  static std::string temporary_folder() {
    const char* const folder = std::getenv("TMPDIR");
    return folder == nullptr || *folder == '\0' ? "/tmp" : folder;
  }
  [[noreturn]] static void fail() {
    throw_errno("cannot keep standard input in " + temporary_folder(), errno,
                "nodes that start later (-f) need it; set TMPDIR to a folder with enough space");
  }
  void move_to_disk() {
    std::string name = temporary_folder() + "/dslaunch-stdin-XXXXXX";
    file_.reset(::mkostemp(name.data(), O_CLOEXEC));
    if (!file_) fail();
    ::unlink(name.c_str());
    write(bytes_);
    bytes_ = {};
  }
  /// Frees the space of all bytes before `offset`, at most once per kInMemory bytes. A file system
  /// that cannot do that keeps them.
  void forget_in_file(std::uint64_t offset) {
    if (offset < freed_ + kInMemory) return;
    const auto count = static_cast<off_t>(offset - freed_);
    ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(freed_),
                count);
    freed_ = offset;
  }
  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t wrote =
          ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(file_size_));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) fail();
      file_size_ += static_cast<std::uint64_t>(wrote);
      bytes = bytes.subspan(static_cast<std::size_t>(wrote));
    }
  }

  std::vector<std::byte> bytes_;  // from begin_ on; empty once the file exists
  std::uint64_t begin_ = 0;
  std::uint64_t file_size_ = 0;  // the file begins at begin_
  std::uint64_t freed_ = 0;      // of the file, from its beginning
  UniqueFd file_;
};

}  // namespace ds::launcher::exec
