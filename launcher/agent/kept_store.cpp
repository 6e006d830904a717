#include "launcher/agent/kept_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ds::launcher {

std::string KeptStore::keep(const std::string& name, StoredFile file) {
  if (!file.fd) return fmt::format("file {} came without a descriptor; see `ulimit -n`", name);
  if (file.bytes < 0) return fmt::format("file {} has {} bytes", name, file.bytes);
  if (const auto earlier = files_.find(name); earlier != files_.end()) files_.erase(earlier);
  const auto own = std::ranges::count_if(files_, [&](const auto& other) {
    return other.second.rank == file.rank && other.second.epoch == file.epoch;
  });
  if (static_cast<std::size_t>(own) >= kMaxOfRank)
    return fmt::format("file {} is one more than the {} that a rank may keep", name, kMaxOfRank);
  if (files_.size() >= most_)
    return fmt::format("file {} is one more than the {} that this node can keep; see `ulimit -n`",
                       name, most_);
  files_.emplace(name, std::move(file));
  return {};
}

void KeptStore::drop(std::string_view name) {
  if (const auto file = files_.find(name); file != files_.end()) files_.erase(file);
}

void KeptStore::drop_before(std::uint32_t epoch) {
  std::erase_if(files_, [&](const auto& file) { return file.second.epoch < epoch; });
}

}  // namespace ds::launcher
