// LineReader: reads blocks and cuts them into lines.
#include "engine/packing/line_reader.h"

#include <algorithm>

namespace ds {
namespace {

constexpr std::size_t kBlock = 1 << 18;

}  // namespace

LineReader::LineReader(const std::string& path, std::int64_t begin, std::int64_t end)
    : path_(path), source_(open_bytes(path, std::max<std::int64_t>(begin - 1, 0))), end_(end) {
  if (begin == 0) return;
  // A line that begins before `begin` belongs to the stretch before.
  first_ = begin - 1;
  std::string_view ignored;
  end_ = first_ + 1;
  next(ignored);
  end_ = end;
}

bool LineReader::fill() {
  held_.erase(0, from_);
  first_ += static_cast<std::int64_t>(from_);
  from_ = 0;
  const std::size_t before = held_.size();
  held_.resize(before + kBlock);
  const std::size_t got = source_->read(std::span(held_).subspan(before));
  held_.resize(before + got);
  is_over_ = got == 0;
  return got > 0;
}

bool LineReader::next(std::string_view& line) {
  std::size_t searched = from_;
  for (;;) {
    const std::size_t found = held_.find('\n', searched);
    if (found == std::string::npos && !is_over_) {
      const std::size_t length = held_.size() - from_;
      fill();
      searched = from_ + length;
      continue;
    }
    line_at_ = first_ + static_cast<std::int64_t>(from_);
    if (line_at_ >= end_ || from_ == held_.size()) return false;
    const std::size_t stop = found == std::string::npos ? held_.size() : found;
    line = std::string_view(held_).substr(from_, stop - from_);
    if (line.ends_with('\r')) line.remove_suffix(1);
    from_ = std::min(stop + 1, held_.size());
    return true;
  }
}

std::int64_t LineReader::line_number() const {
  const std::unique_ptr<ByteSource> source = open_bytes(path_);
  std::string block(kBlock, '\0');
  std::int64_t number = 1, at = 0;
  while (at < line_at_) {
    const std::size_t got = source->read(block);
    if (got == 0) break;
    const auto counted = std::min<std::int64_t>(static_cast<std::int64_t>(got), line_at_ - at);
    number += std::count(block.begin(), block.begin() + counted, '\n');
    at += counted;
  }
  return number;
}

}  // namespace ds
