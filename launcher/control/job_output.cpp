#include "launcher/control/job_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/units.h"
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

/// Returns the offset from which `text` has the last `lines` lines, and subtracts those found from
/// `lines`.
std::size_t start_of_last(std::string_view text, std::size_t& lines) {
  std::size_t at = text.size();
  while (at > 0) {
    // Find the newline of the previous line, not the one that ends this line.
    const std::size_t newline = at < 2 ? std::string_view::npos : text.rfind('\n', at - 2);
    at = newline == std::string_view::npos ? 0 : newline + 1;
    if (--lines == 0) return at;
  }
  return 0;
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

TailView::TailView(int ranks, std::size_t lines, bool one_screen)
    : ranks_(ranks), lines_(lines), relay_(ranks, one_screen) {}

void TailView::output(const RankOutput& piece, RelayOutput to) {
  if (live_) return relay(piece, to);
  relay(piece, {kept_out_, kept_err_});
  keep(1, kept_out_);
  keep(2, kept_err_);
}

void TailView::relay(const RankOutput& piece, RelayOutput to) {
  if (piece.rank >= 0 && piece.rank < ranks_ && (piece.stream == 1 || piece.stream == 2)) {
    if (ranks_ == 1 && piece.prefix.empty())  // pass the bytes unchanged
      return relay_.batch(piece.rank, piece.stream, piece.flags, piece.bytes, to);
    return relay_.batch(piece.rank, piece.stream, piece.flags, piece.bytes, piece.prefix, to);
  }
  if (piece.rank != -1) return;
  const std::string_view text{reinterpret_cast<const char*>(piece.bytes.data()),
                              piece.bytes.size()};
  relay_.own_line(text, to);
}

void TailView::keep(int stream, OutputBuffer& text) {
  if (text.empty()) return;
  if (kept_.empty() || kept_.back().stream != stream) kept_.push_back({stream, {}});
  kept_.back().text += text.view();
  text.clear();
}

void TailView::skipped(const Skipped& gap, RelayOutput to) {
  if (!live_) return;  // the gap is older than the output to show
  relay_.own_line(fmt::format("dslaunch: {} of output skipped: this terminal is slower than the "
                              "job",
                              format_bytes(static_cast<std::int64_t>(gap.bytes))),
                  to);
}

void TailView::caught(RelayOutput to) {
  live_ = true;
  std::size_t left = lines_;
  std::size_t first = kept_.size();
  std::size_t offset = 0;
  while (first > 0 && left > 0) offset = start_of_last(kept_[--first].text, left);
  for (std::size_t i = first; i < kept_.size(); ++i) {
    const std::string_view text = std::string_view(kept_[i].text).substr(i == first ? offset : 0);
    (kept_[i].stream == 1 ? to.out : to.err).append(text);
  }
  kept_ = {};
}

}  // namespace ds::launcher
