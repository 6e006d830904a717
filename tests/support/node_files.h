// NodeFiles: what the agent of one node holds for its ranks, in this process.
#pragma once

#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.h"
#include "engine/keep/kept_store.h"

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
    std::erase_if(files_, [&](const KeptFile& held) { return held.name == file.name; });
    files_.push_back({file.name, file.bytes, UniqueFd(::dup(file.fd.get()))});
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

 private:
  std::mutex mutex_;
  std::vector<KeptFile> files_;
};

/// The way of one rank to the agent of its node.
class RankStore final : public KeptStore {
 public:
  explicit RankStore(NodeFiles& files) : files_(files) {}
  std::vector<KeptFile> kept(Deadline /*deadline*/) override { return files_.kept(); }
  void keep(const KeptFile& file) override { files_.keep(file); }
  void drop(std::string_view name) override { files_.drop(name); }

 private:
  NodeFiles& files_;
};

}  // namespace ds::test
