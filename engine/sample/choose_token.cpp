#include "engine/sample/choose_token.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/error.h"
#include "engine/tensor/philox.h"

namespace ds {
namespace {

int likeliest_of(std::span<const float> logits) {
  int best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == HUGE_VALF)
      throw Error(ErrorKind::config, fmt::format("the logit of token {} is not a finite number", i),
                  "the model's weights hold NaN, or values too large for this type; try fp32");
    if (logits[i] > logits[static_cast<std::size_t>(best)]) best = static_cast<int>(i);
  }
  return best;
}

}  // namespace

double uniform_number(std::uint64_t seed, std::uint32_t prompt, std::uint32_t index) {
  const auto words =
      philox({index, prompt, 0, 0x5A4D504CU},
             {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  return words[0] * 0x1p-32;
}

TokenChooser::TokenChooser(std::int64_t tokens) {
  weights_.reserve(static_cast<std::size_t>(tokens));
  order_.reserve(static_cast<std::size_t>(tokens));
}

bool TokenChooser::is_before(int a, int b) const {
  const float x = logits_[static_cast<std::size_t>(a)], y = logits_[static_cast<std::size_t>(b)];
  return x != y ? x > y : a < b;
}

int TokenChooser::choose(std::span<const float> logits, const TokenChoice& how, double uniform) {
  DS_ASSERT(!logits.empty() && how.top_p > 0);
  const int best = likeliest_of(logits);
  if (how.temperature <= 0) return best;
  logits_ = logits;
  const double largest = logits[static_cast<std::size_t>(best)];
  weights_.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    weights_[i] = std::exp((logits[i] - largest) / how.temperature);
  order_.resize(logits.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::size_t count = logits.size();
  if (how.top_k > 0 && how.top_k < std::ssize(logits)) {
    count = static_cast<std::size_t>(how.top_k);
    std::nth_element(order_.begin(), order_.begin() + how.top_k - 1, order_.end(),
                     [this](int a, int b) { return is_before(a, b); });
  }
  if (how.top_p < 1) count = fewest_reaching(count, how.top_p);
  return draw(uniform, count);
}

// Halves the range in which the last candidate lies, so that no list is sorted whole.
std::size_t TokenChooser::fewest_reaching(std::size_t count, double top_p) {
  const auto begin = order_.begin();
  const auto sum = [&](std::size_t from, std::size_t to) {
    double total = 0;
    for (std::size_t i = from; i < to; ++i) total += weights_[static_cast<std::size_t>(order_[i])];
    return total;
  };
  const double needed = top_p * sum(0, count);
  double before = 0;  // the sum of the first `least`, which do not reach it
  std::size_t least = 0, most = count;
  while (most - least > 1) {
    const std::size_t middle = least + (most - least) / 2;
    const auto at = [begin](std::size_t i) { return begin + static_cast<std::ptrdiff_t>(i); };
    std::nth_element(at(least), at(middle), at(most),
                     [this](int a, int b) { return is_before(a, b); });
    const double part = sum(least, middle);
    if (before + part >= needed) {
      most = middle;
    } else {
      before += part;
      least = middle;
    }
  }
  return most;
}

// Candidates are summed by number, so that their order in the list changes no draw.
int TokenChooser::draw(double uniform, std::size_t count) const {
  const auto before = [this](int a, int b) { return is_before(a, b); };
  const int last = *std::max_element(order_.begin(),
                                     order_.begin() + static_cast<std::ptrdiff_t>(count), before);
  const auto for_candidates = [&](const auto& act) {
    for (int token = 0; token < std::ssize(weights_); ++token)
      if (!is_before(last, token) && act(token)) return token;
    return last;
  };
  double total = 0;
  for_candidates([&](int token) {
    total += weights_[static_cast<std::size_t>(token)];
    return false;
  });
  double upto = 0;
  return for_candidates([&](int token) {
    upto += weights_[static_cast<std::size_t>(token)];
    return upto > uniform * total;
  });
}

}  // namespace ds
