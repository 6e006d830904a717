#include "launcher/control/output_ring.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "engine/base/error.h"
#include "launcher/logs/line_batcher.h"

namespace ds::launcher {
namespace {

/// Returns the size of the next piece of `bytes`: whole lines if there are any.
std::size_t cut(std::span<const std::byte> bytes) {
  if (bytes.size() <= OutputRing::kMaxPiece) return bytes.size();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), OutputRing::kMaxPiece);
  const std::size_t newline = text.rfind('\n');
  return newline == std::string_view::npos ? text.size() : newline + 1;
}

}  // namespace

void OutputRing::append(OutputPiece piece, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t size = cut(bytes);
    OutputPiece part = piece;
    if (size < bytes.size())
      part.flags = bytes[size - 1] == std::byte{'\n'} ? std::uint8_t{0} : kOutputMore;
    append_piece(part, bytes.first(size));
    bytes = bytes.subspan(size);
  }
}

void OutputRing::append_piece(OutputPiece piece, std::span<const std::byte> bytes) {
  if (!buffer_) buffer_ = std::make_unique_for_overwrite<std::byte[]>(capacity_);
  const std::size_t needed = sizeof(Header) + bytes.size();
  DS_ASSERT(needed <= capacity_);
  while (end_ + needed > begin_ + capacity_) begin_ += sizeof(Header) + header_at(begin_).size;
  const Header header{piece, static_cast<std::uint32_t>(bytes.size())};
  put(std::as_bytes(std::span(&header, 1)));
  put(bytes);
}

void OutputRing::put(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto at = static_cast<std::size_t>(end_ % capacity_);
    const std::size_t count = std::min(bytes.size(), capacity_ - at);
    std::memcpy(buffer_.get() + at, bytes.data(), count);
    end_ += count;
    bytes = bytes.subspan(count);
  }
}

std::span<const std::byte> OutputRing::view(std::uint64_t position, std::size_t count) const {
  const auto at = static_cast<std::size_t>(position % capacity_);
  return {buffer_.get() + at, std::min(count, capacity_ - at)};
}

OutputRing::Header OutputRing::header_at(std::uint64_t position) const {
  DS_ASSERT(position >= begin_ && position < end_);
  Header header;
  auto* to = reinterpret_cast<std::byte*>(&header);
  const std::span<const std::byte> first = view(position, sizeof header);
  std::memcpy(to, first.data(), first.size());
  std::memcpy(to + first.size(), buffer_.get(), sizeof header - first.size());
  return header;
}

OutputRing::Read OutputRing::at(std::uint64_t position) const {
  const Header header = header_at(position);
  const std::uint64_t text = position + sizeof header;
  Read read;
  read.piece = header.piece;
  read.first = view(text, header.size);
  read.second = {buffer_.get(), header.size - read.first.size()};
  read.next = text + header.size;
  return read;
}

}  // namespace ds::launcher
