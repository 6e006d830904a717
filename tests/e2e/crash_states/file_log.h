// What a piece of code did to the files below one folder, and the disk that it may leave when the
// machine stops in between.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace ds::test {

/// One operation on nodes (files and folders, by number; 0 is the folder that is watched).
struct FileOp {
  enum class Kind {
    make,    // an entry of `folder`: name -> node
    remove,  // an entry of `folder`
    rename,  // name of `folder` -> to_name of `to_folder`; what had that name loses it
    write,   // bytes of `node` at `offset`
    resize,  // `node` has `offset` bytes
    sync     // of a file: its bytes and size are on disk; of a folder: its entries
  };
  Kind kind = Kind::sync;
  int node = -1;  // of all but remove
  bool is_folder = false;
  int folder = -1, to_folder = -1;
  std::string name{}, to_name{}, bytes{};
  std::int64_t offset = 0;
};

/// From `ops_before` operations on, the newest checkpoint is of a step in [floor, ceiling]; floor
/// -1: maybe there is none.
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

/// Files as they are on a disk.
class Disk {
 public:
  Disk() { nodes_[0].is_folder = true; }
  void apply(const FileOp& op);
  [[nodiscard]] const Node& node(int number) { return nodes_[number]; }
  /// All of it as real files in a real folder that is empty.
  void write_to(const std::string& folder, int node = 0) const;
  /// Path, kind and bytes of all, one text.
  [[nodiscard]] std::string text(int node = 0) const;

 private:
  std::map<int, Node> nodes_;
};

using Random = std::mt19937_64;

/// Whether the machine is supposed to have ignored this sync, by its place in the log: to see that
/// it was needed.
using Ignored = std::function<bool(std::size_t place, const FileOp& sync)>;

/// What the first `count` operations may leave: those that a later sync covers, and of the others
/// any subset, with writes in part. Rename is one operation. `share`: of the others that are done;
/// 0 and 1: none and all of them, whole.
Disk crash_state(const FileLog& log, std::size_t count, double share, Random& random,
                 const Ignored& ignored = {});

/// What is in a real folder, as Disk::text tells it.
std::string folder_text(const std::string& folder);

}  // namespace ds::test
