// Computes crash states. The model is stricter than any file system: operations that no sync covers
// reach the disk in any order or not at all, even within one folder.
#include "e2e/crash_states/file_log.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace ds::test {
namespace {

namespace fs = std::filesystem;
using Kind = FileOp::Kind;

constexpr std::size_t kSector = 64;  // small, so that small files can be torn too

bool covers(const FileOp& sync, const FileOp& op) {
  switch (op.kind) {
    case Kind::write:
    case Kind::resize:
      return sync.node == op.node;
    case Kind::make:
    case Kind::remove:
      return sync.node == op.folder;
    case Kind::rename:
      return sync.node == op.folder || sync.node == op.to_folder;
    case Kind::sync:
      return true;
  }
  return false;
}

bool chance(Random& random, double share) {
  return std::uniform_real_distribution<double>(0, 1)(random) < share;
}

/// Applies some sectors of a write; missing ones read as zeros or as the old content.
void apply_torn(Disk& disk, const FileOp& write, double share, Random& random) {
  for (std::size_t at = 0; at < write.bytes.size(); at += kSector) {
    if (!chance(random, share)) continue;
    FileOp sector = write;
    sector.bytes = write.bytes.substr(at, kSector);
    sector.offset += static_cast<std::int64_t>(at);
    disk.apply(sector);
  }
}

}  // namespace

void Disk::apply(const FileOp& op) {
  switch (op.kind) {
    case Kind::make:
      nodes_[op.node].is_folder = op.is_folder;
      nodes_[op.folder].names[op.name] = op.node;
      break;
    case Kind::remove:
      nodes_[op.folder].names.erase(op.name);
      break;
    case Kind::rename: {
      auto& names = nodes_[op.folder].names;
      // Compare the node, not the name: a name that never reached the disk may still be renamed.
      if (names.contains(op.name) && names[op.name] == op.node) names.erase(op.name);
      nodes_[op.to_folder].names[op.to_name] = op.node;
      nodes_[op.node].is_folder = op.is_folder;
      break;
    }
    case Kind::write: {
      std::string& bytes = nodes_[op.node].bytes;
      const auto end = static_cast<std::size_t>(op.offset) + op.bytes.size();
      if (bytes.size() < end) bytes.resize(end);
      bytes.replace(static_cast<std::size_t>(op.offset), op.bytes.size(), op.bytes);
      break;
    }
    case Kind::resize:
      nodes_[op.node].bytes.resize(static_cast<std::size_t>(op.offset));
      break;
    case Kind::sync:
      break;
  }
}

void Disk::write_to(const std::string& folder, int node) const {
  for (const auto& [name, number] : nodes_.at(node).names) {
    const std::string path = folder + "/" + name;
    const Node& child = nodes_.at(number);
    if (child.is_folder) {
      fs::create_directory(path);
      write_to(path, number);
    } else {
      std::ofstream(path, std::ios::binary) << child.bytes;
    }
  }
}

std::string Disk::text(int node) const {
  std::string text;
  for (const auto& [name, number] : nodes_.at(node).names) {
    const Node& child = nodes_.at(number);
    text += name + (child.is_folder ? "/ {" + this->text(number) + "}" : ": " + child.bytes) + "\n";
  }
  return text;
}

std::string folder_text(const std::string& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::string text;
  for (const fs::path& path : paths) {
    std::ostringstream bytes;
    if (fs::is_directory(path)) {
      bytes << "/ {" << folder_text(path) << "}";
    } else {
      bytes << ": ";
      if (fs::file_size(path) > 0) bytes << std::ifstream(path, std::ios::binary).rdbuf();
    }
    text += path.filename().string() + bytes.str() + "\n";
  }
  return text;
}

Disk crash_state(const FileLog& log, std::size_t count, double share, Random& random,
                 const Ignored& ignored) {
  std::vector<bool> is_safe(count, false);
  for (std::size_t i = 0; i < count; ++i) {
    const FileOp& sync = log.ops[i];
    if (sync.kind != Kind::sync || (ignored && ignored(i, sync))) continue;
    for (std::size_t before = 0; before < i; ++before) {
      if (covers(sync, log.ops[before])) is_safe[before] = true;
    }
  }
  Disk disk;
  for (std::size_t i = 0; i < count; ++i) {
    const FileOp& op = log.ops[i];
    if (is_safe[i]) {
      disk.apply(op);
    } else if (op.kind == Kind::write && share > 0 && share < 1) {
      apply_torn(disk, op, share, random);
    } else if (chance(random, share)) {
      disk.apply(op);
    }
  }
  return disk;
}

}  // namespace ds::test
