// FileLog: file operations of a program below one folder, and the disk states that a crash between
// them can leave.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace ds::test {

/// One operation on nodes (numbered files and folders; 0 is the watched folder).
struct FileOp {
  enum class Kind {
    make,    // an entry of `folder`: name -> node
    remove,  // an entry of `folder`
    rename,  // name in `folder` -> to_name in `to_folder`, replacing what had that name
    write,   // bytes of `node` at `offset`
    resize,  // `node` has `offset` bytes
    sync     // for a file: its bytes and size are on disk; for a folder: its entries
  };
  Kind kind = Kind::sync;
  int node = -1;  // for all but remove
  bool is_folder = false;
  int folder = -1, to_folder = -1;
  std::string name{}, to_name{}, bytes{};
  std::int64_t offset = 0;
};

/// From `ops_before` operations on, the step of the newest checkpoint is in [floor, ceiling]; floor
/// -1: there may be none.
struct Promise {
  std::size_t ops_before = 0;
  std::int64_t floor = -1, ceiling = -1;
};

struct FileLog {
  std::vector<FileOp> ops{};
  std::vector<Promise> promises{};
};

struct Node {
  bool is_folder = false;
  std::string bytes{};
  std::map<std::string, int> names{};
};

/// The files on a disk.
class Disk {
 public:
  Disk() { nodes_[0].is_folder = true; }
  void apply(const FileOp& op);
  [[nodiscard]] const Node& node(int number) { return nodes_[number]; }
  /// Writes everything as real files into an empty real folder.
  void write_to(const std::string& folder, int node = 0) const;
  /// Returns path, kind and bytes of all files as one text.
  [[nodiscard]] std::string text(int node = 0) const;

 private:
  std::map<int, Node> nodes_;
};

using Random = std::mt19937_64;

/// Returns whether the machine ignores this sync (by its place in the log), to show that the sync
/// is needed.
using Ignored = std::function<bool(std::size_t place, const FileOp& sync)>;

/// Returns a disk state after the first `count` operations: all that a later sync covers, and a
/// subset of the others, with partial writes. A rename is atomic. `share` is the fraction of the
/// others that are done; 0 and 1 mean none and all of them, whole.
Disk crash_state(const FileLog& log, std::size_t count, double share, Random& random,
                 const Ignored& ignored = {});

/// Returns the content of a real folder in the form of Disk::text.
std::string folder_text(const std::string& folder);

}  // namespace ds::test
