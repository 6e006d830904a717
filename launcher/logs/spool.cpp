#include "launcher/logs/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace ds::launcher {
namespace {

std::uint64_t lines_of(std::span<const std::byte> bytes) {
  return static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), std::byte{'\n'}));
}

/// Reads or writes all of `bytes`; returns false if that fails.
template <class Call>
bool moves_all(Call call, std::byte* bytes, std::size_t size, std::size_t at) {
  while (size > 0) {
    const ssize_t moved = call(bytes, size, static_cast<off_t>(at));
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    bytes += moved;
    size -= static_cast<std::size_t>(moved);
    at += static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

void Spool::push(const Output& output) {
  const std::size_t needed = sizeof(Header) + output.bytes.size();
  while (drop_ && !chunks_.empty() && size_ + needed > limit_) drop_oldest();
  if (chunks_.empty() || chunks_.back().size + needed > kChunk || chunks_.back().slot) {
    // The oldest chunk stays in memory, since it is read next.
    if (chunks_.size() > 1 && in_memory_ > memory_) put_on_disk(chunks_.back());
    chunks_.emplace_back().bytes.reserve(std::max(std::min(kChunk, std::size_t{64} << 10), needed));
  }
  Chunk& chunk = chunks_.back();
  const Header header{.size = static_cast<std::uint32_t>(output.bytes.size()),
                      .rank = output.rank,
                      .time = output.time,
                      .stream = output.stream,
                      .flags = output.flags};
  const auto head = std::as_bytes(std::span(&header, 1));
  chunk.bytes.insert(chunk.bytes.end(), head.begin(), head.end());
  chunk.bytes.insert(chunk.bytes.end(), output.bytes.begin(), output.bytes.end());
  chunk.size += needed;
  chunk.lines += lines_of(output.bytes);
  size_ += needed;
  in_memory_ += needed;
}

std::optional<Output> Spool::front() {
  if (empty()) return std::nullopt;
  Chunk& chunk = chunks_.front();
  if (chunk.slot) fetch(chunk);
  if (empty()) return std::nullopt;  // the chunk could not be read back
  Header header;
  std::memcpy(&header, chunks_.front().bytes.data() + read_, sizeof header);
  const std::byte* text = chunks_.front().bytes.data() + read_ + sizeof header;
  return Output{.rank = header.rank,
                .stream = header.stream,
                .flags = header.flags,
                .time = header.time,
                .bytes = {text, header.size}};
}

void Spool::pop() {
  const std::optional<Output> first = front();
  if (!first) return;
  const std::size_t whole = sizeof(Header) + first->bytes.size();
  lines_read_ += lines_of(first->bytes);
  read_ += whole;
  size_ -= whole;
  if (read_ == chunks_.front().size) forget_front();
}

void Spool::forget_front() {
  Chunk& chunk = chunks_.front();
  if (chunk.slot)
    free_slots_.push_back(*chunk.slot);
  else
    in_memory_ -= chunk.size;
  chunks_.pop_front();
  read_ = 0;
  lines_read_ = 0;
  if (chunks_.empty()) disk_failed_ = false;  // the disk may have room by now
}

void Spool::drop_oldest() {
  const Chunk& chunk = chunks_.front();
  dropped_lines_ += chunk.lines - lines_read_;
  size_ -= chunk.size - read_;
  forget_front();
}

void Spool::discard() {
  while (!chunks_.empty()) drop_oldest();
}

std::uint64_t Spool::take_dropped() { return std::exchange(dropped_lines_, 0); }

bool Spool::open_file() {
  if (file_) return true;
  const char* folder = std::getenv("TMPDIR");
  std::string name = (folder == nullptr || *folder == '\0' ? "/tmp" : std::string(folder)) +
                     "/dslaunch-spool-XXXXXX";
  file_.reset(::mkostemp(name.data(), O_CLOEXEC));
  if (file_) ::unlink(name.c_str());
  return static_cast<bool>(file_);
}

void Spool::put_on_disk(Chunk& chunk) {
  // A record larger than a chunk is a chunk of its own and stays in memory.
  if (chunk.size > kChunk) return;
  disk_failed_ = disk_failed_ || !open_file();
  if (disk_failed_) return;
  if (free_slots_.empty()) free_slots_.push_back(slots_++);
  const std::size_t slot = free_slots_.back();
  const auto write = [this](std::byte* from, std::size_t count, off_t at) {
    return ::pwrite(file_.get(), from, count, at);
  };
  disk_failed_ = !moves_all(write, chunk.bytes.data(), chunk.size, slot * kChunk);
  if (disk_failed_) return;
  free_slots_.pop_back();
  in_memory_ -= chunk.size;
  chunk.bytes = {};
  chunk.slot = slot;
}

void Spool::fetch(Chunk& chunk) {
  chunk.bytes.resize(chunk.size);
  const auto read = [this](std::byte* to, std::size_t count, off_t at) {
    return ::pread(file_.get(), to, count, at);
  };
  if (!moves_all(read, chunk.bytes.data(), chunk.size, *chunk.slot * kChunk)) return drop_oldest();
  free_slots_.push_back(*std::exchange(chunk.slot, std::nullopt));
  in_memory_ += chunk.size;
}

}  // namespace ds::launcher
