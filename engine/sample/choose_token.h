// TokenChooser: the next token from logits, either the likeliest or a draw that temperature, top-k
// and top-p limit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ds {

/// How the next token is chosen. Order, as in transformers: temperature, top-k, then top-p.
struct TokenChoice {
  double temperature = 0;  // divides the logits; 0: always the likeliest token
  std::int64_t top_k = 0;  // draws among the k likeliest; 0: among all
  double top_p = 1;        // draws among the fewest likeliest tokens whose probabilities reach it
};

/// Returns the uniform number in [0, 1) for token `index` of a prompt's continuation, by Philox.
/// It depends on nothing else: batches and threads change no draw.
double uniform_number(std::uint64_t seed, std::uint32_t prompt, std::uint32_t index);

class TokenChooser {
 public:
  /// `tokens`: the most logits of one choice. Later calls allocate nothing.
  explicit TokenChooser(std::int64_t tokens);

  /// Returns a token; equal logits are ordered by number. Takes time in proportion to the number of
  /// logits. Shapes: logits (V); uniform is in [0, 1). Errors: Error{config} if a logit is not a
  /// number. Source of top-p: Holtzman et al., arXiv:1904.09751.
  int choose(std::span<const float> logits, const TokenChoice& how, double uniform);

 private:
  std::size_t fewest_reaching(std::size_t count, double top_p);
  [[nodiscard]] int draw(double uniform, std::size_t count) const;
  [[nodiscard]] bool is_before(int a, int b) const;

  std::span<const float> logits_;
  std::vector<double> weights_;  // e^((logit - largest) / temperature), by token
  std::vector<int> order_;       // the first ones are the candidates
};

}  // namespace ds
