// TextPart::fill(): copies windows and widens bytes to token numbers.
#include "engine/data/text_part.h"

#include <algorithm>
#include <numeric>

#include "engine/base/error.h"
#include "engine/base/units.h"

namespace ds {
namespace {

void widen(const Corpus& corpus, std::int64_t offset, std::span<std::int32_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto at = offset + static_cast<std::int64_t>(done);
    const auto run = corpus.run_at(at, static_cast<std::int64_t>(out.size() - done));
    for (const std::uint8_t byte : run) out[done++] = byte;
  }
}

/// Checks tokens that begin at `offset`.
void require_below(std::int64_t limit, const Corpus& corpus, std::int64_t offset,
                   std::span<const std::int32_t> tokens) {
  const auto wrong =
      std::ranges::find_if(tokens, [&](std::int32_t token) { return token >= limit; });
  if (wrong == tokens.end()) return;
  throw Error(ErrorKind::config,
              fmt::format("token {} at {} is out of range (0 to {})", *wrong,
                          corpus.place_of(offset + (wrong - tokens.begin())), limit - 1),
              "use the tokenizer that the model's vocabulary belongs to");
}

void fill_input(const Corpus& corpus, std::int64_t offset, const BatchInput& input,
                std::span<std::int32_t> out) {
  const bool is_targets = input.name == input::kTargets;
  if (is_targets || input.name == input::kTokens) {
    const std::int64_t first = offset + (is_targets ? 1 : 0);
    widen(corpus, first, out);
    require_below(input.limit, corpus, first, out);
  } else if (input.name == input::kPositions) {
    std::iota(out.begin(), out.end(), static_cast<std::int32_t>(input.first));
  } else if (input.name == input::kDocuments || input.name == input::kTokenTypes) {
    std::ranges::fill(out, 0);
  } else {
    throw Error(ErrorKind::config,
                fmt::format("data.format = \"text\" has no {}, which this model reads", input.name),
                "give them in files of data.format = \"samples\"");
  }
}

}  // namespace

std::string TextPart::size_text() const { return format_bytes(corpus_.size()); }

void TextPart::fill(std::span<const std::int64_t> places,
                    std::span<const BatchInput> inputs) const {
  for (const BatchInput& input : inputs) {
    if (!input.memory || input.name == input::kSamples) continue;
    const std::span all(static_cast<std::int32_t*>(input.memory.data),
                        static_cast<std::size_t>(input.memory.elements()));
    const std::size_t each = all.size() / places.size();
    for (std::size_t b = 0; b < places.size(); ++b) {
      DS_ASSERT(places[b] >= 0 && places[b] + seq_len_ + 1 <= corpus_.size());
      fill_input(corpus_, places[b], input, all.subspan(b * each, each));
    }
  }
}

}  // namespace ds
