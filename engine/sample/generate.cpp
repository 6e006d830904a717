#include "engine/sample/generate.h"

#include <algorithm>
#include <chrono>

#include "engine/base/error.h"

namespace ds {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point begun) {
  return std::chrono::duration<double>(SteadyClock::now() - begun).count();
}

/// Prompts that are continued together.
class Batch {
 public:
  /// `first`: the number of the first prompt.
  Batch(Decoder& decoder, const GenerateRequest& request, TokenChooser& chooser, std::size_t first,
        std::span<Continuation> out)
      : decoder_(decoder), request_(request), chooser_(chooser), first_(first), out_(out) {
    texts_.resize(out.size());
    next_.resize(decoder.sequences());
    given_.resize(decoder.sequences());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::vector<std::int32_t>& prompt = request.prompts[first + i];
      DS_ASSERT(!prompt.empty());
      const std::size_t most = prompt.size() + static_cast<std::size_t>(request.length);
      texts_[i].tokens.reserve(most);
      texts_[i].tokens = prompt;
      texts_[i].prompt = prompt.size();
      DS_ASSERT(request.slides || seen(texts_[i]) + request.length - 1 <= decoder.room());
    }
  }

  void run(GenerateTimes& times) {
    auto begun = SteadyClock::now();
    read();
    times.prompts += seconds_since(begun);
    begun = SteadyClock::now();
    for (std::int64_t index = 0; choose(index); ++index) {
      ++times.steps;
      if (std::ranges::any_of(texts_, [&](const Text& text) { return is_full(text); })) {
        read();
      } else {
        decoder_.add(next_);
      }
    }
    times.tokens += seconds_since(begun);
    for (std::size_t i = 0; i < out_.size(); ++i) {
      const auto& tokens = texts_[i].tokens;
      out_[i].tokens.assign(tokens.begin() + static_cast<std::ptrdiff_t>(texts_[i].prompt),
                            tokens.end());
    }
  }

 private:
  struct Text {
    std::vector<std::int32_t> tokens{};  // prompt and continuation
    std::size_t prompt = 0;              // its tokens
    std::size_t begin = 0;               // the first token that the model still sees
    bool is_over = false;
  };

  /// Returns how many tokens the cache has to hold: of an encoder's model not those of the prompt,
  /// but the one that starts the text.
  [[nodiscard]] std::int64_t seen(const Text& text) const {
    const std::size_t all = text.tokens.size() - text.begin;
    return static_cast<std::int64_t>(decoder_.has_encoder() ? all - text.prompt + 1 : all);
  }
  [[nodiscard]] bool is_full(const Text& text) const { return seen(text) > decoder_.room(); }

  void read() {
    DS_ASSERT(!request_.slides || texts_.size() == 1);
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      Text& text = texts_[i];
      if (is_full(text))
        text.begin = text.tokens.size() -
                     static_cast<std::size_t>(std::max<std::int64_t>(decoder_.room() / 2, 1));
      given_[i] = std::span(text.tokens).subspan(text.begin);
    }
    decoder_.read(given_);
  }

  /// Adds token `index` to every continuation. Returns whether one goes on.
  bool choose(std::int64_t index) {
    bool goes_on = false;
    std::ranges::fill(next_, -1);
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      Text& text = texts_[i];
      if (text.is_over) continue;
      const int token = chosen(i, index);
      text.tokens.push_back(token);
      out_[i].ended = std::ranges::find(request_.ends, token) != request_.ends.end();
      text.is_over = out_[i].ended || index + 1 == request_.length;
      if (text.is_over) continue;
      next_[i] = token;
      goes_on = true;
    }
    return goes_on;
  }

  int chosen(std::size_t i, std::int64_t index) {
    const std::size_t prompt = first_ + i;
    try {
      return chooser_.choose(
          decoder_.logits(i).first(static_cast<std::size_t>(request_.valid_vocab)), request_.choice,
          uniform_number(request_.seed, static_cast<std::uint32_t>(prompt),
                         static_cast<std::uint32_t>(index)));
    } catch (const Error& error) {
      throw error.with_context(fmt::format("prompt {}, new token {}", prompt + 1, index + 1));
    }
  }

  Decoder& decoder_;
  const GenerateRequest& request_;
  TokenChooser& chooser_;
  std::size_t first_;
  std::span<Continuation> out_;
  std::vector<Text> texts_;
  std::vector<std::int32_t> next_;      // by sequence of the decoder
  std::vector<Decoder::Tokens> given_;  // by sequence of the decoder
};

}  // namespace

std::vector<Continuation> generate(Decoder& decoder, const GenerateRequest& request,
                                   GenerateTimes* times) {
  DS_ASSERT(request.length > 0 && request.valid_vocab > 0);
  std::vector<Continuation> all(request.prompts.size());
  TokenChooser chooser(request.valid_vocab);
  GenerateTimes unused;
  for (std::size_t first = 0; first < all.size(); first += decoder.sequences()) {
    const std::size_t count = std::min(decoder.sequences(), all.size() - first);
    Batch(decoder, request, chooser, first, std::span(all).subspan(first, count))
        .run(times != nullptr ? *times : unused);
  }
  return all;
}

}  // namespace ds
