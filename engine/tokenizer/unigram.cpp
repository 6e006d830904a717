// Unigram: the likeliest split of a word. Source: Kudo, arXiv:1804.10959, as in SentencePiece.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "engine/tokenizer/token_model.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

/// All tokens by their bytes. A child's edges are a sorted list.
class Trie {
 public:
  void insert(std::string_view token, std::int32_t number) {
    std::size_t node = 0;
    for (const char byte : token) {
      auto& edges = nodes_[node].edges;
      const auto at = std::ranges::lower_bound(edges, byte, {}, &Edge::byte);
      if (at != edges.end() && at->byte == byte) {
        node = at->node;
        continue;
      }
      edges.insert(at, {byte, nodes_.size()});
      node = nodes_.size();
      nodes_.emplace_back();
    }
    nodes_[node].number = number;
  }

  /// Calls see(length, number) for the tokens at the beginning of `text`, the shortest first.
  template <class See>
  void each_prefix(std::string_view text, See see) const {
    std::size_t node = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto& edges = nodes_[node].edges;
      const auto at = std::ranges::lower_bound(edges, text[i], {}, &Edge::byte);
      if (at == edges.end() || at->byte != text[i]) return;
      node = at->node;
      if (nodes_[node].number >= 0) see(i + 1, nodes_[node].number);
    }
  }

 private:
  struct Edge {
    char byte;
    std::size_t node;
  };
  struct Node {
    std::vector<Edge> edges{};
    std::int32_t number = -1;
  };
  std::vector<Node> nodes_{1};
};

class Unigram final : public TokenModel {
 public:
  explicit Unigram(const Component& component)
      : unknown_(component.has("unk_id") ? component.number("unk_id", 0) : -1),
        has_bytes_(component.flag("byte_fallback", false)) {
    const bool is_exact = component.flag("exact_scores", false);  // of a SentencePiece model
    const Component::Json& vocab = component.member("vocab");
    if (!vocab.is_array()) component.refuse("\"vocab\" is not a list");
    double least = std::numeric_limits<double>::max();
    for (const Component::Json& entry : vocab) {
      if (!entry.is_array() || entry.size() != 2 || !entry[0].is_string() || !entry[1].is_number())
        component.refuse(fmt::format("token {} is not a text and a number", scores_.size()));
      const auto token = entry[0].get<std::string>();
      const auto number = static_cast<std::int32_t>(scores_.size());
      const auto score = entry[1].get<double>();
      scores_.push_back(is_exact ? score : score_as_read(score));
      least = std::min(least, scores_.back());
      numbers_.insert_or_assign(token, number);
      if (!token.empty()) trie_.insert(token, number);
    }
    constexpr double kPenalty = 10;
    unknown_score_ = least - kPenalty;
    if (unknown_ >= std::ssize(scores_)) component.refuse("\"unk_id\" is beyond the vocabulary");
  }

  void encode(std::string_view word, std::vector<std::int32_t>& tokens) const override {
    const std::vector<Best> best = paths(word);
    std::vector<Piece> pieces;
    for (std::size_t end = word.size(); end > 0; end = best[end].from) {
      const bool joins = best[end].number == unknown_ && unknown_ >= 0 && !pieces.empty() &&
                         pieces.back().is_unknown;
      if (joins) {  // adjacent unknown parts are one
        pieces.back().first = best[end].from;
      } else {
        pieces.push_back({best[end].from, end, unknown_ >= 0 && best[end].number == unknown_});
      }
    }
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece)
      add(word.substr(piece->first, piece->end - piece->first), tokens);
  }

 private:
  /// The best split of what is before a place.
  struct Best {
    double score = 0;
    std::size_t from = 0;
    std::int64_t number = -1;
    bool is_reached = false;
  };
  struct Piece {
    std::size_t first, end;
    bool is_unknown;
  };

  /// Returns the best splits of all beginnings of the word (Viterbi).
  [[nodiscard]] std::vector<Best> paths(std::string_view word) const {
    std::vector<Best> best(word.size() + 1);
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t length = unicode::length_of(word[at]);
      bool has_character = false;
      const auto offer = [&](std::size_t end, double score, std::int64_t number) {
        if (best[end].is_reached && score <= best[end].score) return;
        best[end] = {score, at, number, true};
      };
      trie_.each_prefix(word.substr(at), [&](std::size_t size, std::int32_t number) {
        offer(at + size, best[at].score + scores_[static_cast<std::size_t>(number)], number);
        has_character |= size == length;
      });
      if (!has_character && unknown_ < 0) refuse(word.substr(at, length));
      if (!has_character) offer(at + length, best[at].score + unknown_score_, unknown_);
      at += length;
    }
    return best;
  }

  [[noreturn]] static void refuse(std::string_view piece) {
    throw Error(ErrorKind::config, fmt::format("no tokens for \"{}\"", printable_text(piece, 100)),
                "the tokenizer has no unknown token");
  }

  void add(std::string_view piece, std::vector<std::int32_t>& tokens) const {
    const std::int32_t number = number_of(piece);
    if (number >= 0) {
      tokens.push_back(number);
    } else if (!has_bytes_ || !add_bytes(piece, tokens)) {
      if (unknown_ < 0) refuse(piece);
      tokens.push_back(static_cast<std::int32_t>(unknown_));
    }
  }

  Trie trie_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  std::int64_t unknown_;
  bool has_bytes_;
};

}  // namespace

double score_as_read(double exact) {
  constexpr int kMostExponent = 308;
  std::array<char, 32> text{};  // the shortest digits that mean this number: 1.25e+01
  const auto end = std::to_chars(text.data(), text.data() + text.size(), std::abs(exact),
                                 std::chars_format::scientific);
  std::uint64_t digits = 0;
  int exponent = 0;
  const char* at = text.data();
  for (; at < end.ptr && *at != 'e'; ++at) {
    if (*at == '.') continue;
    digits = 10 * digits + static_cast<std::uint64_t>(*at - '0');
    if (at > text.data() + 1) --exponent;
  }
  int scale = 0;
  if (at < end.ptr) std::from_chars(at[1] == '+' ? at + 2 : at + 1, end.ptr, scale);
  exponent += scale;
  if (!std::isfinite(exact) || std::abs(exponent) > kMostExponent) return exact;
  const double power = std::pow(10.0, std::abs(exponent));
  const auto whole = static_cast<double>(digits);
  return std::copysign(exponent < 0 ? whole / power : whole * power, exact);
}

std::unique_ptr<TokenModel> make_unigram(const Component& component) {
  return std::make_unique<Unigram>(component);
}

}  // namespace ds
