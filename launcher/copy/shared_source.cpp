// The files that the root sends to all nodes: keeps blocks and digests of what it has read.
#include <algorithm>
#include <utility>

#include "launcher/copy/copy_source.h"

namespace ds::launcher::copy {
namespace {

constexpr std::size_t kBlocksKept = 64;
constexpr std::size_t kFilesOpen = 64;
constexpr std::size_t kHashAtOnce = 4 * SharedSource::kBlock;
const Bytes kNoBytes;

}  // namespace

SourceFile& SharedSource::open(std::uint32_t id) {
  File& file = files_[id];
  if (file.open) return *file.open;
  if (opened_.size() == kFilesOpen) {
    files_[opened_.front()].open.reset();
    opened_.pop_front();
  }
  file.open = std::make_unique<SourceFile>(list_.entries[id], list_.places[id]);
  opened_.push_back(id);
  return *file.open;
}

const Bytes& SharedSource::block(std::uint32_t id, std::uint64_t number) {
  if (const auto known = blocks_.find({id, number}); known != blocks_.end()) return known->second;
  File& file = files_[id];
  const std::uint64_t offset = number * kBlock;
  const std::uint64_t size = list_.entries[id].size;
  if (!file.problem.empty() || offset >= size) return kNoBytes;
  SourceFile& opened = open(id);
  Bytes bytes = opened.read(offset, std::min<std::uint64_t>(kBlock, size - offset));
  if (!opened.problem().empty()) {
    file.problem = opened.problem();
    return kNoBytes;
  }
  if (!file.hashed) file.hashed.emplace(seed_);
  if (file.hashed->done == offset) {
    file.hashed->hasher.add(bytes);
    file.hashed->done += bytes.size();
  }
  if (order_.size() == kBlocksKept) {
    blocks_.erase(order_.front());
    order_.pop_front();
  }
  order_.emplace_back(id, number);
  return blocks_.emplace(Place{id, number}, std::move(bytes)).first->second;
}

std::span<const std::byte> SharedSource::piece(std::uint32_t id, std::uint64_t offset) {
  const std::span<const std::byte> whole = block(id, offset / kBlock);
  const std::size_t begin = offset % kBlock;
  if (begin >= whole.size()) return {};
  return whole.subspan(begin, std::min(kPieceBytes, whole.size() - begin));
}

std::optional<Digest> SharedSource::digest(std::uint32_t id, std::uint64_t size) {
  File& file = files_[id];
  const bool whole = size == list_.entries[id].size;
  if (!file.problem.empty()) return Digest{};
  if (whole && file.digest) return file.digest;
  std::size_t budget = kHashAtOnce;
  if (whole) {
    if (!file.hashed) file.hashed.emplace(seed_);
    while (file.hashed->done < size && budget > 0 && file.problem.empty()) {
      blocks_.erase({id, file.hashed->done / kBlock});  // read again if it came out of order
      std::erase(order_, Place{id, file.hashed->done / kBlock});
      block(id, file.hashed->done / kBlock);
      budget -= kBlock;
    }
    if (file.hashed->done < size && file.problem.empty()) return std::nullopt;
    file.digest = file.hashed->hasher.digest();
    return file.digest;
  }
  Progress& known = file.beginnings.try_emplace(size, seed_).first->second;
  while (known.done < size && budget > 0 && file.problem.empty()) {
    const Bytes& bytes = block(id, known.done / kBlock);
    const std::size_t count = std::min<std::uint64_t>(bytes.size(), size - known.done);
    known.hasher.add(std::span(bytes).first(count));
    known.done += count;
    budget -= kBlock;
  }
  if (known.done < size && file.problem.empty()) return std::nullopt;
  return known.hasher.digest();
}

std::optional<Digest> SharedSource::end(std::uint32_t id) {
  File& file = files_[id];
  const std::uint64_t size = list_.entries[id].size;
  const std::optional<Digest> sent = digest(id, size);
  if (!sent || !file.problem.empty()) return sent;
  SourceFile& opened = open(id);
  opened.check();
  if (opened.grown() && !std::exchange(file.grown, true)) file.again.emplace(seed_);
  if (file.again) {
    const std::uint64_t from = file.again->done;
    file.again->done = std::min<std::uint64_t>(size, from + kHashAtOnce);
    opened.hash(from, file.again->done, file.again->hasher);
    if (file.again->done < size && opened.problem().empty()) return std::nullopt;
    opened.compare(*sent, file.again->hasher.digest());
    file.again.reset();
  }
  file.problem = opened.problem();
  return sent;
}

}  // namespace ds::launcher::copy
