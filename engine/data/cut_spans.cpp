// cut_spans(): the lengths of spans and of what stands between them, each a random composition.
#include "engine/data/cut_spans.h"

#include <algorithm>
#include <cmath>

#include "engine/base/error.h"
#include "engine/data/sampler.h"

namespace ds {
namespace {

/// Cuts `items` into `segments` of at least one item each; every way is equally likely. The way is
/// drawn one gap after the other (Knuth, The Art of Computer Programming, volume 2, algorithm S).
class Segments {
 public:
  Segments(std::int64_t items, std::int64_t segments, std::uint64_t state)
      : gaps_(items - 1), cuts_(segments - 1), state_(state) {}

  /// Returns the length of the next segment.
  std::int64_t next() {
    std::int64_t length = 1;
    for (; gaps_ > 0; ++length) {
      state_ = mix_bits(state_);
      const bool cuts =
          static_cast<std::int64_t>(state_ % static_cast<std::uint64_t>(gaps_)) < cuts_;
      --gaps_;
      if (!cuts) continue;
      --cuts_;
      break;
    }
    return length;
  }

 private:
  std::int64_t gaps_, cuts_;  // that are left
  std::uint64_t state_;
};

std::int64_t rounded(double value) { return static_cast<std::int64_t>(std::nearbyint(value)); }

}  // namespace

SpanCounts span_counts(const SpanShape& shape, std::int64_t tokens) {
  if (tokens < 2) return {};
  const std::int64_t hidden =
      std::clamp<std::int64_t>(rounded(static_cast<double>(tokens) * shape.share), 1, tokens - 1);
  const std::int64_t spans = rounded(static_cast<double>(hidden) / shape.mean);
  return {hidden, std::clamp<std::int64_t>(spans, 1, std::min(hidden, tokens - hidden))};
}

SpanColumns span_columns(const SpanShape& shape, std::int64_t tokens) {
  const auto [hidden, spans] = span_counts(shape, tokens);
  return {tokens - hidden + spans + 1, hidden + spans + 1};
}

std::int64_t most_span_tokens(const SpanShape& shape, const SpanColumns& rows) {
  // Both lengths never fall while a text grows.
  std::int64_t tokens = 0;
  for (SpanColumns next = span_columns(shape, 1);
       next.encoder <= rows.encoder && next.decoder <= rows.decoder;
       next = span_columns(shape, tokens + 1))
    ++tokens;
  return tokens;
}

void cut_spans(const SpanRule& rule, std::int64_t sample, const SpanText& text, RowBuffer& row) {
  const auto [hidden, spans] = span_counts(rule.shape, text.count);
  DS_ASSERT(spans > 0 && spans <= std::ssize(rule.sentinels));
  const std::uint64_t key =
      mix_bits(mix_bits(rule.seed ^ mix_bits(static_cast<std::uint64_t>(sample))) ^
               mix_bits(static_cast<std::uint64_t>(row.document())));
  Segments kept(text.count - hidden, spans, key), cut(hidden, spans, ~key);
  std::int64_t at = text.begin;
  for (std::int64_t i = 0; i < spans; ++i) {
    const std::int64_t read = kept.next(), predicted = cut.next();
    row.append_source(text.file, at, read);
    row.append_source(rule.sentinels[static_cast<std::size_t>(i)]);
    row.append_target(rule.sentinels[static_cast<std::size_t>(i)]);
    row.append_target(text.file, at + read, predicted);
    at += read + predicted;
  }
  DS_ASSERT(at == text.begin + text.count);
  row.append_source(rule.end);
  row.append_target(rule.end);
}

}  // namespace ds
