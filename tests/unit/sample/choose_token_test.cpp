// Tests the choice of the next token: ties, temperature, top-k, top-p, and what it refuses.
#include "engine/sample/choose_token.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "engine/base/error.h"

namespace ds {
namespace {

using Row = std::vector<float>;  // of logits

int choose(const Row& logits, const TokenChoice& how, double uniform) {
  TokenChooser chooser(std::ssize(logits));
  return chooser.choose(logits, how, uniform);
}

/// Returns the candidates by the definition: sorted whole, cut at k, then where the sum reaches p.
std::vector<int> candidates(const Row& logits, const TokenChoice& how) {
  std::vector<int> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  const auto at = [&](int token) { return logits[static_cast<std::size_t>(token)]; };
  std::ranges::stable_sort(order, [&](int a, int b) { return at(a) > at(b); });
  if (how.top_k > 0 && how.top_k < std::ssize(order))
    order.resize(static_cast<std::size_t>(how.top_k));
  double total = 0, sum = 0;
  const auto weight = [&](int token) { return std::exp(at(token) / how.temperature); };
  for (const int token : order) total += weight(token);
  std::size_t count = 0;
  while (count < order.size() && (count == 0 || sum < how.top_p * total * (1 - 1e-12)))
    sum += weight(order[count++]);
  order.resize(count);
  std::ranges::sort(order);
  return order;
}

/// Returns how often each token is chosen by evenly spaced numbers.
std::map<int, double> shares(const Row& logits, const TokenChoice& how, int draws = 20000) {
  TokenChooser chooser(std::ssize(logits));
  std::map<int, double> found;
  for (int i = 0; i < draws; ++i)
    found[chooser.choose(logits, how, (i + 0.5) / draws)] += 1.0 / draws;
  return found;
}

Row some_logits(std::size_t n, std::uint64_t seed) {
  Row logits(n);
  for (std::size_t i = 0; i < n; ++i) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    logits[i] = static_cast<float>(seed >> 60) / 4.0F;  // 16 values: many ties
  }
  return logits;
}

TEST_CASE("temperature 0 takes the likeliest token; of equal ones, that with the lowest number") {
  CHECK(choose({1, 3, 2}, {}, 0.99) == 1);
  CHECK(choose({1, 3, 3, 2}, {}, 0.99) == 1);
  CHECK(choose({-5}, {}, 0) == 0);
  CHECK(choose({-INFINITY, -2}, {}, 0) == 1);
}

TEST_CASE("a draw takes each token as often as its probability says") {
  const Row logits{0, std::log(2.0F), std::log(5.0F)};
  const auto plain = shares(logits, {.temperature = 1});
  CHECK(plain.at(0) == doctest::Approx(1.0 / 8).epsilon(1e-3));
  CHECK(plain.at(2) == doctest::Approx(5.0 / 8).epsilon(1e-3));
  const auto colder = shares(logits, {.temperature = 0.5});
  CHECK(colder.at(0) == doctest::Approx(1.0 / 30).epsilon(1e-2));
  CHECK(colder.at(2) == doctest::Approx(25.0 / 30).epsilon(1e-3));
  CHECK(choose(logits, {.temperature = 1e-300}, 0.999) == 2);
}

TEST_CASE("top-k and top-p keep the likeliest tokens, and of equal ones those with low numbers") {
  CHECK(shares({1, 1, 1, 1}, {.temperature = 1, .top_k = 2}).size() == 2);
  CHECK(shares({1, 1, 1, 1}, {.temperature = 1, .top_k = 2}).contains(1));
  CHECK(shares({1, 1, 1, 1}, {.temperature = 1, .top_p = 0.75}).size() == 3);
  CHECK(shares({1, 1, 1, 1}, {.temperature = 1, .top_p = 0.1}).size() == 1);
  // Temperature comes first, then k, then p of what is left.
  const Row logits{0, std::log(2.0F), std::log(4.0F), std::log(8.0F)};
  CHECK(shares(logits, {.temperature = 1, .top_k = 2, .top_p = 0.6}).size() == 1);
  CHECK(shares(logits, {.temperature = 1, .top_p = 0.6}).size() == 2);
}

TEST_CASE("the candidates are those of the definition, for many shapes") {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Row logits = some_logits(1 + seed % 37, seed);
    for (const TokenChoice& how : {TokenChoice{.temperature = 0.7},
                                   {.temperature = 1, .top_k = 5},
                                   {.temperature = 2, .top_p = 0.8},
                                   {.temperature = 1, .top_k = 9, .top_p = 0.5},
                                   {.temperature = 0.3, .top_k = 1000, .top_p = 0.999}}) {
      CAPTURE(seed);
      std::vector<int> found;
      for (const auto& [token, share] : shares(logits, how, 4000)) found.push_back(token);
      const std::vector<int> wanted = candidates(logits, how);
      // A candidate that is very unlikely may not be drawn.
      CHECK(std::ranges::includes(wanted, found));
      CHECK(choose(logits, how, 0) == wanted.front());
      CHECK(choose(logits, how, std::nextafter(1.0, 0.0)) == wanted.back());
    }
  }
}

TEST_CASE("logits that are not numbers are refused") {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), INFINITY}) {
    for (const double temperature : {0.0, 1.0})
      CHECK_THROWS_AS(choose({1, bad, 2}, {.temperature = temperature}, 0.5), Error);
  }
}

TEST_CASE("random numbers depend on seed, prompt and token") {
  CHECK(uniform_number(1, 0, 0) == uniform_number(1, 0, 0));
  std::vector<double> all;
  for (std::uint64_t seed : {1U, 2U})
    for (std::uint32_t prompt = 0; prompt < 3; ++prompt)
      for (std::uint32_t token = 0; token < 3; ++token)
        all.push_back(uniform_number(seed, prompt, token));
  std::ranges::sort(all);
  CHECK(std::ranges::adjacent_find(all) == all.end());
  CHECK((all.front() >= 0 && all.back() < 1));
}

}  // namespace
}  // namespace ds
