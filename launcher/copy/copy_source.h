// Sending end of a copy: the list of files, folders and links below the sources, and the bytes and
// digests of files.
#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/unique_fd.h"
#include "launcher/copy/copy_frames.h"
#include "launcher/copy/hasher.h"

namespace ds::launcher::copy {

/// Where an entry lies on this machine. What is at its path later is only copied if it is the same
/// file: somebody else may put a link there, to a file that only the user of the copy can read.
struct SourcePlace {
  std::string path{};
  dev_t device = 0;
  ino_t inode = 0;
  std::shared_ptr<const Bytes> content{};  // set for a file that did not tell its size
};

struct SourceList {
  std::vector<CopyEntry> entries;    // a folder before its content
  std::vector<SourcePlace> places;   // of each entry
  std::string problem{};            // the first source that cannot be copied, and how many others
  std::string skipped{};            // the first device, pipe or socket in a folder, as problem
};

/// Lists the sources. `recursive`: folders with their content, and links as links; otherwise a link
/// stands for its file, and a folder is a problem. Files of /proc and /sys, which do not tell their
/// size, are read here.
SourceList list_sources(const std::vector<std::string>& paths, bool recursive);

/// One file of the list, open for reading.
class SourceFile {
 public:
  SourceFile(const CopyEntry& entry, const SourcePlace& place);
  /// Reads up to `count` bytes at `offset`; fewer only with a problem.
  Bytes read(std::uint64_t offset, std::size_t count);
  /// Adds bytes [from, to) to a digest; fewer only with a problem.
  void hash(std::uint64_t from, std::uint64_t to, Hasher& hasher);
  /// Returns why the file cannot be copied: it cannot be read, or has changed since it was listed.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Looks once more whether the file has changed. A larger file may be a log that grew, of which
  /// the bytes that were listed are copied, or another file that was written over this one: only
  /// its bytes tell, so callers then hash these once more and compare().
  void check();
  /// Returns whether the last check found the file larger than it was when it was listed.
  [[nodiscard]] bool grown() const { return grown_; }
  /// Compares the digest of the bytes that were sent with that of the bytes that are there now.
  void compare(const Digest& sent, const Digest& now);

 private:
  CopyEntry entry_;
  SourcePlace place_;
  UniqueFd file_;
  std::string problem_;
  bool grown_ = false;
};

/// Sends the bytes of a file from `fetch.from` on, and its end.
void serve_file(const CopyEntry& entry, const SourcePlace& place, const CopyFetch& fetch,
                std::uint64_t seed, const std::function<void(const CopyMessage&)>& send);

/// The files that the root sends. Each is read and hashed once for nodes that run side by side:
/// blocks of the last megabytes stay in memory.
/// Threads: one.   Errors: problem() of a file.
class SharedSource {
 public:
  static constexpr std::size_t kBlock = std::size_t{1} << 20;

  SharedSource(SourceList list, std::uint64_t seed) : list_(std::move(list)), seed_(seed) {
    files_.resize(list_.entries.size());
  }
  [[nodiscard]] const std::vector<CopyEntry>& entries() const { return list_.entries; }
  /// Returns the bytes at `offset`, up to kPieceBytes; empty at the end and after a problem. Valid
  /// until the next call.
  std::span<const std::byte> piece(std::uint32_t id, std::uint64_t offset);
  [[nodiscard]] const std::string& problem(std::uint32_t id) const { return files_[id].problem; }
  /// Returns the digest of the first `size` bytes, or nothing if it takes more time: each call
  /// hashes at most a few blocks. Check problem() as well.
  std::optional<Digest> digest(std::uint32_t id, std::uint64_t size);
  /// Returns the digest of the whole file as it was sent, once it is known whether the file still
  /// has these bytes; nothing if that takes more time, as with digest(). Check problem() as well.
  std::optional<Digest> end(std::uint32_t id);
  /// Returns whether the file has grown since it was listed, as far as end() has seen.
  [[nodiscard]] bool grown(std::uint32_t id) const { return files_[id].grown; }
  [[nodiscard]] const std::string& path(std::uint32_t id) const { return list_.places[id].path; }

 private:
  struct Progress {
    explicit Progress(std::uint64_t seed) : hasher(seed) {}
    Hasher hasher;
    std::uint64_t done = 0;
  };
  struct File {
    std::unique_ptr<SourceFile> open;
    std::optional<Progress> hashed;  // from the beginning, as far as blocks were read in order
    std::map<std::uint64_t, Progress> beginnings;  // by size, of interrupted copies
    std::optional<Digest> digest;
    std::optional<Progress> again;  // as `hashed`, of the bytes that are there after the file grew
    std::string problem;
    bool grown = false;
  };
  using Place = std::pair<std::uint32_t, std::uint64_t>;  // id, number of the block
  const Bytes& block(std::uint32_t id, std::uint64_t number);
  SourceFile& open(std::uint32_t id);

  SourceList list_;
  std::uint64_t seed_;
  std::vector<File> files_;
  std::map<Place, Bytes> blocks_;
  std::deque<Place> order_;           // of blocks_, the oldest first
  std::deque<std::uint32_t> opened_;  // the oldest first
};

}  // namespace ds::launcher::copy
