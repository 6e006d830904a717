// NodeFiles: what the agent of one node holds for its ranks, in this process.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/keep/node_store.h"

namespace ds::test {

/// Threads: any.
class NodeFiles {
 public:
  std::vector<KeptFile> kept() {
    const std::lock_guard lock(mutex_);
    if (is_silent) throw Error(ErrorKind::system, "no answer");
    std::vector<KeptFile> files;
    for (const KeptFile& file : files_)
      files.push_back({file.name, file.bytes, UniqueFd(::dup(file.fd.get()))});
    return files;
  }
  void keep(const KeptFile& file) {
    const std::lock_guard lock(mutex_);
    if (refuses) return;
    std::erase_if(files_, [&](const KeptFile& held) { return held.name == file.name; });
    files_.push_back({file.name, file.bytes, UniqueFd(::dup(file.fd.get()))});
  }
  void require(std::string_view name) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::count(files_, name, &KeptFile::name) == 0)
      throw Error(ErrorKind::system, fmt::format("the agent of this node does not hold {}", name));
  }
  void drop(std::string_view name) {
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [&](const KeptFile& file) { return file.name == name; });
  }
  /// Drops the files whose names do not begin so.
  void keep_only(std::string_view prefix) {
    const std::lock_guard lock(mutex_);
    std::erase_if(files_, [&](const KeptFile& file) { return !file.name.starts_with(prefix); });
  }
  [[nodiscard]] std::size_t count() const { return files_.size(); }
  bool is_silent = false;  // kept() fails
  bool refuses = false;    // it takes no more files

 private:
  std::mutex mutex_;
  std::vector<KeptFile> files_;
};

/// The way of one rank to the agent of its node.
class RankStore final : public NodeStore {
 public:
  explicit RankStore(NodeFiles& files) : files_(files) {}
  std::vector<KeptFile> kept(Deadline /*deadline*/) override { return files_.kept(); }
  void keep(const KeptFile& file) override { files_.keep(file); }
  void await_held(std::string_view name, Deadline /*deadline*/) override { files_.require(name); }
  void drop(std::string_view name) override { files_.drop(name); }

 private:
  NodeFiles& files_;
};

}  // namespace ds::test
