#include "launcher/logs/line_relay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "engine/base/error.h"
#include "launcher/logs/line_batcher.h"

namespace ds::launcher {
namespace {

const char* find(const char* from, const char* end, char letter) {
  return static_cast<const char*>(std::memchr(from, letter, static_cast<std::size_t>(end - from)));
}

/// Copies one line, with its newline if it has one, in which '\r' occurs.
void copy_line_with_cr(std::string_view line, std::string_view prefix, OutputBuffer& to) {
  while (!line.empty()) {
    const std::size_t cr = line.find('\r');
    const std::size_t until = cr == std::string_view::npos ? line.size() : cr + 1;
    to.append(line.substr(0, until));
    line.remove_prefix(until);
    const bool goes_on = !line.empty() && line.front() != '\n' && line.front() != '\r';
    if (cr != std::string_view::npos && goes_on) to.append(prefix);
  }
}

}  // namespace

void copy_prefixed(std::string_view text, std::string_view prefix, bool at_start,
                   OutputBuffer& to) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const bool has_cr = !text.empty() && find(at, end, '\r') != nullptr;
  while (at != end) {
    const char* newline = find(at, end, '\n');
    const char* const line_end = newline == nullptr ? end : newline + 1;
    const auto length = static_cast<std::size_t>(line_end - at);
    if (has_cr) {
      if (at_start) to.append(prefix);
      copy_line_with_cr({at, length}, prefix, to);
    } else {
      char* room = to.room(prefix.size() + length);
      const std::size_t prefix_length = at_start ? prefix.size() : 0;
      std::memcpy(room, prefix.data(), prefix_length);
      std::memcpy(room + prefix_length, at, length);
      to.commit(prefix_length + length);
    }
    at = line_end;
    at_start = true;
  }
}

LineRelay::LineRelay(int world_size, bool one_screen)
    : untouched_(world_size == 1), one_screen_(one_screen) {
  for (int rank = 0; rank < world_size; ++rank)
    for (int stream = 1; stream <= 2; ++stream) prefixes_.push_back(fmt::format("[{}] ", rank));
  unfinished_.resize(prefixes_.size());
}

void LineRelay::set_prefixes(std::vector<std::string> prefixes) {
  DS_ASSERT(prefixes.size() == prefixes_.size());
  prefixes_ = std::move(prefixes);
  untouched_ = prefixes_.size() == 2 && std::ranges::all_of(prefixes_, &std::string::empty);
}

std::size_t LineRelay::stream_index(int rank, int stream) const {
  DS_ASSERT(rank >= 0 && static_cast<std::size_t>(rank) < prefixes_.size() / 2);
  return static_cast<std::size_t>(rank) * 2 + (stream == 1 ? 0 : 1);
}

void LineRelay::batch(int rank, int stream, std::uint8_t flags, std::span<const std::byte> bytes,
                      RelayOutput to) {
  batch(rank, stream, flags, bytes, prefixes_[stream_index(rank, stream)], to);
}

void LineRelay::batch(int rank, int stream, std::uint8_t flags, std::span<const std::byte> bytes,
                      std::string_view prefix, RelayOutput to) {
  const std::size_t index = stream_index(rank, stream);
  const std::string_view text{reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  OutputBuffer& target = stream == 1 ? to.out : to.err;
  if (untouched_) return emit(index, text, prefix, target);
  std::optional<OutputBuffer>& unfinished = unfinished_[index];
  if ((flags & kOutputMore) != 0 && held_ + text.size() <= kMaxHeld) {
    if (!unfinished) unfinished.emplace();
    unfinished->append(text);
    held_ += text.size();
    return;
  }
  if (unfinished) {
    held_ -= unfinished->size();
    emit(index, unfinished->view(), prefix, target);
    unfinished.reset();
  }
  emit(index, text, prefix, target);
}

void LineRelay::line(int rank, int stream, std::string_view text, std::string_view prefix,
                     RelayOutput to) {
  const std::size_t several = prefixes_.size() + (stream == 1 ? 0 : 1);
  emit(rank < 0 ? several : stream_index(rank, stream), text, prefix,
       stream == 1 ? to.out : to.err);
}

void LineRelay::emit(std::size_t index, std::string_view text, std::string_view prefix,
                     OutputBuffer& to) {
  if (text.empty()) return;
  const std::size_t screen = screen_of(index % 2 == 0 ? 1 : 2);
  std::optional<Open>& open = open_[screen];
  if (untouched_) {
    to.append(text);
  } else {
    const bool goes_on = open && open->stream == index;
    if (open && !goes_on) close_line(screen, to);
    const bool over_progress =
        goes_on && open->last == '\r' && text.front() != '\n' && text.front() != '\r';
    copy_prefixed(text, prefix, !goes_on || over_progress, to);
  }
  open.reset();
  if (text.back() != '\n') open = Open{index, text.back()};
}

void LineRelay::close_line(std::size_t screen, OutputBuffer& to) {
  if (!open_[screen]) return;
  open_[screen].reset();
  to.append("\n");
}

void LineRelay::own_line(std::string_view line, RelayOutput to) {
  close_line(screen_of(2), to.err);
  to.err.append(line);
  to.err.append("\n");
}

void LineRelay::finish(RelayOutput to) {
  for (std::size_t index = 0; index < unfinished_.size(); ++index) {
    if (!unfinished_[index]) continue;
    emit(index, unfinished_[index]->view(), prefixes_[index], index % 2 == 0 ? to.out : to.err);
    unfinished_[index].reset();
  }
  if (untouched_) return;
  for (std::size_t screen = 0; screen < 2; ++screen)
    if (open_[screen]) close_line(screen, open_[screen]->stream % 2 == 0 ? to.out : to.err);
}

}  // namespace ds::launcher
