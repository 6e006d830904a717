// Deterministic mutator of byte strings: equal seeds give equal inputs on every machine.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ds::test {

/// Draws inputs from a corpus and damages them: bits, bytes, cuts, repeats, and pieces of other
/// entries.
class Mutator {
 public:
  /// `corpus` must not be empty.
  Mutator(std::vector<std::string> corpus, std::uint64_t seed)
      : corpus_(std::move(corpus)), random_(seed) {}

  /// Returns the next input, at most `max_bytes` long.
  std::string next(std::size_t max_bytes = 4096) {
    std::string input = pick();
    for (std::size_t i = 0, rounds = 1 + below(6); i < rounds; ++i) damage(input);
    if (input.size() > max_bytes) input.resize(max_bytes);
    return input;
  }

 private:
  // Plain modulo, as std::uniform_int_distribution differs between standard libraries.
  std::size_t below(std::size_t limit) {
    return limit == 0 ? 0 : static_cast<std::size_t>(random_() % limit);
  }

  const std::string& pick() { return corpus_[below(corpus_.size())]; }

  char any_byte() {
    constexpr std::string_view kTelling =
        " \t\r\n[]{}(),.:;=-+@#/%\"'\\0123456789aZ_\0\x1b\x7f\x80\xff";
    return below(4) == 0 ? static_cast<char>(below(256)) : kTelling[below(kTelling.size())];
  }

  std::string piece_of(const std::string& text) {
    const std::size_t from = below(text.size() + 1);
    return text.substr(from, below(text.size() - from + 1));
  }

  void damage(std::string& input) {
    const std::size_t at = below(input.size() + 1);
    switch (below(7)) {
      case 0:
        if (at < input.size()) input[at] = static_cast<char>(input[at] ^ (1 << below(8)));
        break;
      case 1:
        if (at < input.size()) input[at] = any_byte();
        break;
      case 2:
        input.insert(at, 1, any_byte());
        break;
      case 3:
        input.erase(at, 1 + below(8));
        break;
      case 4:
        input.insert(at, piece_of(input));
        break;
      case 5:
        input.insert(at, piece_of(pick()));
        break;
      default:
        input.resize(at);
        break;
    }
  }

  std::vector<std::string> corpus_;
  std::mt19937_64 random_;
};

}  // namespace ds::test
