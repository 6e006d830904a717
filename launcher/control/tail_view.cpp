#include "launcher/control/tail_view.h"

#include <fmt/format.h>

#include "engine/base/units.h"

namespace ds::launcher {
namespace {

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

void TailView::finish(RelayOutput to) { relay_.finish(to); }

}  // namespace ds::launcher
