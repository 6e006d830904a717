// WindowPart: copies the tokens of a window and finds the documents in it.
#include "engine/data/window_part.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/units.h"
#include "engine/data/sampler.h"

namespace ds {

WindowPart::WindowPart(TokenStream stream, std::int64_t seq_len, bool apart)
    : stream_(std::move(stream)),
      seq_len_(seq_len),
      apart_(apart),
      buffer_(Task::next_token, seq_len, 0) {}

std::string WindowPart::size_text() const {
  if (!stream_.has_index()) return stream_.size_text();
  return fmt::format("{} of {}", stream_.size_text(), counted(stream_.documents(), "document"));
}

std::int64_t WindowPart::epoch() const { return Sampler(size(), seq_len_, 0).windows(); }

std::int64_t WindowPart::place_of(std::int64_t sample, std::uint64_t seed) const {
  return Sampler(size(), seq_len_, seed).offset(sample);
}

std::int64_t WindowPart::validation_place(std::int64_t index, std::int64_t count) const {
  return validation_offset(size(), seq_len_, index, count);
}

void WindowPart::will_need(SamplePlace sample) const {
  stream_.will_need(sample.place, seq_len_ + 1);
}

SampleRow WindowPart::row(SamplePlace sample) const {
  DS_ASSERT(sample.place >= 0 && sample.place + 1 < size());
  const std::int64_t count = std::min(seq_len_ + 1, size() - sample.place);
  buffer_.clear();
  buffer_.begin_document();
  std::int64_t document = -1;
  for (std::int64_t done = 0; done < count;) {
    const TokenRun run = stream_.run_at(sample.place + done, count - done);
    if (apart_ && done > 0 && run.document != document) buffer_.begin_document();
    document = run.document;
    buffer_.append(*run.file, run.begin, run.count, run.is_trained);
    done += run.count;
  }
  return buffer_.row(apart_ || count < seq_len_ + 1);  // documents also say what is padding
}

std::string WindowPart::describe(SamplePlace sample, const RowError& error) const {
  const std::int64_t target = error.field == Field::targets ? 1 : 0;
  return stream_.place_of(sample.place + std::max<std::int64_t>(error.column, 0) + target);
}

}  // namespace ds
