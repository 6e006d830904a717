// BpeTrainer: keeps the count of every pair, and a queue of pairs by count; a merge rewrites only
// the pieces that have the pair.
#include "engine/tokenizer_training/train_bpe.h"

#include <algorithm>
#include <array>
#include <queue>
#include <unordered_map>

#include "engine/base/error.h"
#include "engine/tokenizer/byte_level.h"
#include "engine/tokenizer/token_model.h"

namespace ds {
namespace {

using Number = std::uint32_t;
/// Two tokens in one number, which compares as the pair does.
using TokenPair = std::uint64_t;

TokenPair pair_of(Number left, Number right) { return (TokenPair{left} << 32U) | right; }
Number left_of(TokenPair pair) { return static_cast<Number>(pair >> 32U); }
Number right_of(TokenPair pair) { return static_cast<Number>(pair); }

/// Numbers of tokens are dense, so their plain value would put neighbors into one bucket.
struct PairHash {
  std::size_t operator()(TokenPair pair) const {
    pair *= 0x9E3779B97F4A7C15U;
    return pair ^ (pair >> 32U);
  }
};

class BpeTrainer {
 public:
  BpeTrainer(std::span<const CountedPiece> pieces, const BpeSettings& settings)
      : settings_(settings) {
    for (const std::string& token : settings.special) add_token(token);
    add_bytes();
    add_pieces(pieces);
  }

  TrainedBpe run() {
    while (std::ssize(made_.tokens) < settings_.vocab && !queue_.empty()) {
      Candidate top = queue_.top();
      queue_.pop();
      // Counts change while a pair waits; it goes back with its count of now.
      if (const std::int64_t now = counts_.at(top.pair); now != top.count) {
        top.count = now;
        queue_.push(top);
        continue;
      }
      if (top.count < 1 || top.count < settings_.min_frequency) break;
      merge(top);
      if (settings_.tell) settings_.tell(std::ssize(made_.tokens), settings_.vocab);
    }
    keep_last_merges();
    return std::move(made_);
  }

 private:
  /// A pair that may be merged. `place`: of the pieces that had it when it entered the queue.
  struct Candidate {
    std::int64_t count = 0;
    TokenPair pair = 0;
    std::size_t place = 0;
    bool operator<(const Candidate& other) const {
      if (count != other.count) return count < other.count;
      if (pair != other.pair) return pair > other.pair;
      return place > other.place;
    }
  };
  struct Piece {
    std::size_t first = 0;  // of its tokens in symbols_
    std::size_t length = 0;
    std::int64_t count = 0;
  };
  using PieceList = std::vector<std::uint32_t>;

  Number add_token(const std::string& token) {
    const auto [known, is_new] =
        numbers_.try_emplace(token, static_cast<std::int32_t>(made_.tokens.size()));
    if (is_new) made_.tokens.push_back(token);
    return static_cast<Number>(known->second);
  }

  void add_bytes() {
    const ByteLevel bytes;
    std::array<std::pair<char32_t, unsigned>, 256> order;
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::size_t at = 0;
      order[byte] = {unicode::next(bytes.text_of(static_cast<unsigned char>(byte)), at), byte};
    }
    std::ranges::sort(order);
    for (const auto& [unused, byte] : order)
      of_byte_[byte] = add_token(bytes.text_of(static_cast<unsigned char>(byte)));
  }

  void add_pieces(std::span<const CountedPiece> pieces) {
    DS_ASSERT(pieces.size() <= UINT32_MAX);
    for (const auto& [text, count] : pieces) {
      const auto number = static_cast<std::uint32_t>(pieces_.size());
      pieces_.push_back({symbols_.size(), text.size(), count});
      for (const char byte : text) symbols_.push_back(of_byte_[static_cast<unsigned char>(byte)]);
      for (std::size_t i = pieces_.back().first; i + 1 < symbols_.size(); ++i)
        change(pair_of(symbols_[i], symbols_[i + 1]), count, number);
    }
    enqueue_grown();
  }

  /// Adds to the count of a pair; one that grows will enter the queue with this piece.
  void change(TokenPair pair, std::int64_t by, std::uint32_t piece) {
    counts_[pair] += by;
    if (by < 0) return;
    PieceList& list = grown_[pair];
    if (list.empty() || list.back() != piece) list.push_back(piece);
  }

  void enqueue_grown() {
    for (auto& [pair, list] : grown_) {
      const std::int64_t count = counts_.at(pair);
      if (count < 1) continue;
      queue_.push({count, pair, lists_.size()});
      lists_.push_back(std::move(list));
    }
    grown_.clear();
  }

  void merge(const Candidate& top) {
    const Number left = left_of(top.pair), right = right_of(top.pair);
    const Number made = add_token(made_.tokens[left] + made_.tokens[right]);
    made_.merges.emplace_back(left, right);
    const PieceList list = std::move(lists_[top.place]);
    for (const std::uint32_t piece : list) merge_in(piece, left, right, made);
    enqueue_grown();
  }

  /// Replaces the pair from left to right. Counts change as in Word::merge() of word.rs: the pair
  /// itself keeps its count, because it is not asked for again.
  void merge_in(std::uint32_t number, Number left, Number right, Number made) {
    Piece& piece = pieces_[number];
    const std::span<Number> symbols(&symbols_[piece.first], piece.length);
    std::size_t to = 0;
    for (std::size_t from = 0; from < symbols.size(); ++to) {
      const bool is_pair =
          from + 1 < symbols.size() && symbols[from] == left && symbols[from + 1] == right;
      if (!is_pair) {
        symbols[to] = symbols[from++];
        continue;
      }
      from += 2;
      symbols[to] = made;
      if (to > 0) {
        change(pair_of(symbols[to - 1], left), -piece.count, number);
        change(pair_of(symbols[to - 1], made), piece.count, number);
      }
      if (from < symbols.size()) {
        change(pair_of(right, symbols[from]), -piece.count, number);
        change(pair_of(made, symbols[from]), piece.count, number);
      }
    }
    piece.length = to;
  }

  /// Two ways to write one token ("ab" + "c", "a" + "bc") can bring a merged pair back. The library
  /// keeps the rank of its last merge.
  void keep_last_merges() {
    std::unordered_map<TokenPair, std::size_t, PairHash> last;
    const auto key = [](const TokenMerge& merge) {
      return pair_of(static_cast<Number>(merge.first), static_cast<Number>(merge.second));
    };
    for (std::size_t i = 0; i < made_.merges.size(); ++i) last[key(made_.merges[i])] = i;
    std::vector<TokenMerge> kept;
    for (std::size_t i = 0; i < made_.merges.size(); ++i)
      if (last[key(made_.merges[i])] == i) kept.push_back(made_.merges[i]);
    made_.merges = std::move(kept);
  }

  const BpeSettings& settings_;
  TrainedBpe made_;
  TokenNumbers numbers_;
  std::array<Number, 256> of_byte_{};
  std::vector<Number> symbols_;  // of all pieces; a piece becomes shorter in its place
  std::vector<Piece> pieces_;
  std::unordered_map<TokenPair, std::int64_t, PairHash> counts_;
  std::unordered_map<TokenPair, PieceList, PairHash> grown_;
  std::priority_queue<Candidate> queue_;
  std::vector<PieceList> lists_;
};

}  // namespace

TrainedBpe train_bpe(std::span<const CountedPiece> pieces, const BpeSettings& settings) {
  return BpeTrainer(pieces, settings).run();
}

}  // namespace ds
