// fill_batch(): copies windows and widens bytes to token numbers.
#include "engine/data/batch.h"

#include <algorithm>

#include "engine/base/error.h"

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
void require_valid(const Corpus& corpus, std::int64_t offset, std::int64_t valid_vocab,
                   std::span<const std::int32_t> tokens) {
  const auto wrong = std::ranges::find_if(
      tokens, [&](std::int32_t token) { return token < 0 || token >= valid_vocab; });
  if (wrong == tokens.end()) return;
  throw Error(ErrorKind::config,
              fmt::format("token {} at {} is out of range (0 to {})", *wrong,
                          corpus.place_of(offset + (wrong - tokens.begin())), valid_vocab - 1),
              "use the tokenizer that the model's vocabulary belongs to");
}

}  // namespace

void fill_batch(const Corpus& corpus, std::span<const std::int64_t> offsets, std::int64_t seq_len,
                std::int64_t valid_vocab, std::span<std::int32_t> tokens,
                std::span<std::int32_t> targets) {
  const auto length = static_cast<std::size_t>(seq_len);
  DS_ASSERT(tokens.size() == offsets.size() * length && targets.size() == tokens.size());
  for (std::size_t b = 0; b < offsets.size(); ++b) {
    DS_ASSERT(offsets[b] >= 0 && offsets[b] + seq_len + 1 <= corpus.size());
    const auto inputs = tokens.subspan(b * length, length);
    const auto wanted = targets.subspan(b * length, length);
    widen(corpus, offsets[b], inputs);
    widen(corpus, offsets[b] + 1, wanted);
    require_valid(corpus, offsets[b], valid_vocab, inputs);
    require_valid(corpus, offsets[b] + 1, valid_vocab, wanted);
  }
}

std::vector<std::int32_t> encode_bytes(std::string_view text) {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
  return tokens;
}

std::string decode_bytes(std::span<const std::int32_t> tokens) {
  std::string text;
  text.reserve(tokens.size());
  for (const std::int32_t token : tokens) {
    text += token >= 0 && token < kByteTokens ? static_cast<char>(token) : '?';
  }
  return text;
}

}  // namespace ds
