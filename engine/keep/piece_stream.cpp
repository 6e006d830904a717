// Walks along the places of a stream and moves bytes by pread and pwrite.
#include "engine/keep/piece_stream.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/base/error.h"

namespace ds {

template <class Action>
void PieceStream::advance(std::size_t size, const Action& action) {
  DS_ASSERT(static_cast<std::int64_t>(size) <= left_);
  for (std::size_t offset = 0; offset < size;) {
    const Place& place = places_[next_];
    const auto bytes = static_cast<std::size_t>(
        std::min(place.bytes - done_, static_cast<std::int64_t>(size - offset)));
    action(place.file, place.at + done_, offset, bytes);
    offset += bytes;
    done_ += static_cast<std::int64_t>(bytes);
    if (done_ < place.bytes) continue;
    ++next_;
    done_ = 0;
  }
  left_ -= static_cast<std::int64_t>(size);
}

bool PieceStream::read(std::span<std::byte> into) {
  bool is_whole = true;
  advance(into.size(), [&](int file, std::int64_t at, std::size_t offset, std::size_t bytes) {
    std::span<std::byte> rest = into.subspan(offset, bytes);
    while (!rest.empty()) {
      const ssize_t got = ::pread(file, rest.data(), rest.size(), at);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      rest = rest.subspan(static_cast<std::size_t>(got));
      at += got;
    }
    is_whole = is_whole && rest.empty();
    std::ranges::fill(rest, std::byte{0});
  });
  return is_whole;
}

int PieceStream::write(std::span<const std::byte> from) {
  int problem = 0;
  advance(from.size(), [&](int file, std::int64_t at, std::size_t offset, std::size_t bytes) {
    std::span<const std::byte> rest = from.subspan(offset, bytes);
    while (!rest.empty() && problem == 0) {
      const ssize_t sent = ::pwrite(file, rest.data(), rest.size(), at);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) problem = sent < 0 ? errno : ENOSPC;
      if (sent <= 0) break;
      rest = rest.subspan(static_cast<std::size_t>(sent));
      at += sent;
    }
  });
  return problem;
}

}  // namespace ds
