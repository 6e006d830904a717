// Corpus: pieces of mapped files, their lookup and their fingerprint.
#include "engine/data/corpus.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace ds {

void Corpus::add(std::shared_ptr<const MappedFile> file, std::int64_t begin, std::int64_t end) {
  DS_ASSERT(begin >= 0 && end <= static_cast<std::int64_t>(file->bytes().size()));
  if (begin >= end) return;
  const auto bytes =
      file->bytes().subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
  pieces_.push_back({std::move(file), bytes, size_});
  size_ += end - begin;
}

const Corpus::Piece& Corpus::piece_at(std::int64_t offset) const {
  DS_ASSERT(offset >= 0 && offset < size_);
  return *std::prev(std::ranges::upper_bound(pieces_, offset, {}, &Piece::begin));
}

std::span<const std::uint8_t> Corpus::run_at(std::int64_t offset, std::int64_t count) const {
  const Piece& piece = piece_at(offset);
  const auto inside = static_cast<std::size_t>(offset - piece.begin);
  return piece.bytes.subspan(
      inside, std::min(static_cast<std::size_t>(count), piece.bytes.size() - inside));
}

std::string Corpus::identity() const {
  constexpr std::int64_t kBlocks = 64;
  constexpr std::int64_t kBlockBytes = 4096;
  XXH3_state_t* state = XXH3_createState();
  XXH3_64bits_reset(state);
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    // Small corpora are hashed completely: their blocks overlap.
    const std::int64_t begin =
        std::max<std::int64_t>(0, size_ - kBlockBytes) * block / (kBlocks - 1);
    const std::int64_t end = std::min(size_, begin + kBlockBytes);
    for (std::int64_t at = begin; at < end;) {
      const auto run = run_at(at, end - at);
      XXH3_64bits_update(state, run.data(), run.size());
      at += static_cast<std::int64_t>(run.size());
    }
  }
  const XXH64_hash_t hash = XXH3_64bits_digest(state);
  XXH3_freeState(state);
  return fmt::format("{} bytes, xxh3 {:016x}", size_, hash);
}

}  // namespace ds
