// cut_spans(): T5's task: spans of a text are cut out of what the encoder reads, and are predicted.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/row_buffer.h"

namespace ds {

/// How much of a text is cut out.
struct SpanShape {
  double share = 0.15;  // of its tokens
  double mean = 3;      // tokens of a span
};

struct SpanCounts {
  std::int64_t hidden = 0, spans = 0;  // tokens that are cut out, and in how many spans
};
/// Returns the counts of a text, which depend on its length alone; 0 for less than 2 tokens. Halves
/// are rounded to even, as T5 does. Source: random_spans_noise_mask() in t5/data/preprocessors.py
/// of text-to-text-transfer-transformer (Raffel et al., arXiv:1910.10683, section 3.3.4). There are
/// never more spans than tokens that stay, because a text begins with a kept token.
SpanCounts span_counts(const SpanShape& shape, std::int64_t tokens);

struct SpanColumns {
  std::int64_t encoder = 0, decoder = 0;
};
/// Returns the tokens that the encoder reads of a text and that the decoder predicts, with a
/// sentinel for each span and an end token on both sides.
SpanColumns span_columns(const SpanShape& shape, std::int64_t tokens);

/// Returns the most tokens of a text that fit both rows. With rows of the encoder alone these are
/// the tokens of T5's random_spans_helper() (as span_counts()).
std::int64_t most_span_tokens(const SpanShape& shape, const SpanColumns& rows);

struct SpanRule {
  SpanShape shape{};
  std::int64_t most = 0;                  // tokens of a text that fit a row
  std::int32_t end = 0;                   // the end token
  std::vector<std::int32_t> sentinels{};  // at least as many as a text of `most` tokens has spans
  std::uint64_t seed = 0;
};

/// A text: tokens [begin, begin + count) of a file, without an end token.
struct SpanText {
  const TokenFile& file;
  std::int64_t begin = 0, count = 0;
};

/// Appends the text to the row's current document. Texts begin with kept tokens and end with a
/// span; beside that every choice of spans with span_counts() is as likely as any other. Draws
/// depend on the seed, the number of the sample, and the document's number in the row.
void cut_spans(const SpanRule& rule, std::int64_t sample, const SpanText& text, RowBuffer& row);

}  // namespace ds
