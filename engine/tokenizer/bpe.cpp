// Byte-pair encoding: merges adjacent tokens of a word, the merge of the lowest rank first. Source:
// Sennrich et al., arXiv:1508.07909.
#include <atomic>
#include <bit>
#include <memory>
#include <queue>
#include <span>
#include <utility>

#include "engine/base/error.h"
#include "engine/tokenizer/token_model.h"
#include "engine/tokenizer/unicode.h"

namespace ds {
namespace {

/// The merges by both tokens, in one table with open addressing.
class Merges {
 public:
  struct Merge {
    std::int32_t rank = -1, made = -1;
  };

  explicit Merges(std::size_t count) : slots_(std::bit_ceil(2 * count + 2)) {}

  /// Of equal pairs, the last one counts.
  void insert(std::int32_t left, std::int32_t right, Merge merge) {
    Slot& slot = slots_[place_of(key_of(left, right))];
    slot = {key_of(left, right), merge};
  }
  /// Returns the merge of two tokens; its rank is -1 if there is none.
  [[nodiscard]] Merge find(std::int32_t left, std::int32_t right) const {
    return slots_[place_of(key_of(left, right))].merge;
  }

 private:
  struct Slot {
    std::uint64_t key = kFree;
    Merge merge{};
  };
  static constexpr std::uint64_t kFree = UINT64_MAX;

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32U |
           static_cast<std::uint32_t>(right);
  }
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const {
    std::size_t at = (key * 0x9E3779B97F4A7C15U >> 20U) & (slots_.size() - 1);
    while (slots_[at].key != key && slots_[at].key != kFree) at = (at + 1) & (slots_.size() - 1);
    return at;
  }

  std::vector<Slot> slots_;
};

/// The tokens of words that were split before. Threads share it without locks, because the most
/// frequent words are looked up by all threads all the time: an entry is published by one exchange
/// and never changes. A word whose places are taken is split again.
class WordCache {
 public:
  WordCache() : places_(std::size_t{1} << 19U) {}
  ~WordCache() {
    for (const Place& place : places_) delete place.load(std::memory_order_relaxed);
  }
  WordCache(const WordCache&) = delete;
  WordCache& operator=(const WordCache&) = delete;

  bool find(std::string_view word, std::vector<std::int32_t>& tokens) const {
    const std::size_t hash = TextHash()(word);
    for (std::size_t i = 0; i < kProbes; ++i) {
      const Entry* const entry = place(hash + i).load(std::memory_order_acquire);
      if (entry == nullptr) return false;
      if (entry->hash != hash || entry->word != word) continue;
      tokens.insert(tokens.end(), entry->tokens.begin(), entry->tokens.end());
      return true;
    }
    return false;
  }
  void insert(std::string_view word, std::span<const std::int32_t> tokens) {
    const std::size_t hash = TextHash()(word);
    auto made = std::make_unique<Entry>(
        Entry{hash, std::string(word), {tokens.begin(), tokens.end()}});
    for (std::size_t i = 0; i < kProbes; ++i) {
      Entry* there = nullptr;
      if (place(hash + i).compare_exchange_strong(there, made.get(), std::memory_order_acq_rel)) {
        made.release();
        return;
      }
      if (there->hash == hash && there->word == word) return;
    }
  }

 private:
  struct Entry {
    std::size_t hash;
    std::string word;
    std::vector<std::int32_t> tokens;
  };
  using Place = std::atomic<Entry*>;
  static constexpr std::size_t kProbes = 4;

  [[nodiscard]] const Place& place(std::size_t hash) const {
    return places_[hash & (places_.size() - 1)];
  }
  [[nodiscard]] Place& place(std::size_t hash) { return places_[hash & (places_.size() - 1)]; }

  std::vector<Place> places_;
};

class Bpe final : public TokenModel {
 public:
  explicit Bpe(const Component& component)
      : prefix_(component.text("continuing_subword_prefix", "")),
        suffix_(component.text("end_of_word_suffix", "")),
        has_bytes_(component.flag("byte_fallback", false)),
        fuses_unknown_(component.flag("fuse_unk", false)),
        takes_whole_words_(component.flag("ignore_merges", false)),
        merges_(component.member("merges").size()) {
    if (component.has("dropout") && component.member("dropout") != 0)
      component.refuse("\"dropout\" is not supported: it makes tokens random");
    read_numbers(component, "vocab");
    if (const std::string unknown = component.text("unk_token", ""); !unknown.empty()) {
      unknown_ = number_of(unknown);
      if (unknown_ < 0) component.refuse(fmt::format("the vocabulary has no \"{}\"", unknown));
    }
    read_merges(component);
  }

  void encode(std::string_view word, std::vector<std::int32_t>& tokens) const override {
    constexpr std::size_t kLongest = 64;  // of a word that may come again
    if (takes_whole_words_) {
      if (const std::int32_t whole = number_of(word); whole >= 0) return tokens.push_back(whole);
    }
    if (word.size() > kLongest) return merge(parts_of(word), tokens);
    if (cache_.find(word, tokens)) return;
    const std::size_t before = tokens.size();
    merge(parts_of(word), tokens);
    cache_.insert(word, std::span(tokens).subspan(before));
  }

 private:
  void read_merges(const Component& component) {
    const Component::Json& list = component.member("merges");
    if (!list.is_array()) component.refuse("\"merges\" is not a list");
    std::int32_t rank = 0;
    for (const Component::Json& entry : list) {
      const auto [left, right] = pair_of(component, entry, rank);
      const std::int32_t a = number_of(left), b = number_of(right);
      // The second token loses the prefix that marks it as a continuation.
      const std::string_view rest = std::string_view(right).substr(
          right.size() >= prefix_.size() ? prefix_.size() : right.size());
      const std::int32_t made = number_of(left + std::string(rest));
      if (a < 0 || b < 0 || made < 0)
        component.refuse(
            fmt::format("merge {}, \"{}\" and \"{}\", needs a token that the "
                        "vocabulary does not have",
                        rank, left, right));
      merges_.insert(a, b, {rank++, made});
    }
  }

  static std::pair<std::string, std::string> pair_of(const Component& component,
                                                     const Component::Json& entry, int rank) {
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string())
      return {entry[0].get<std::string>(), entry[1].get<std::string>()};
    if (entry.is_string()) {
      const auto text = entry.get<std::string>();
      const std::size_t blank = text.find(' ');
      if (blank != std::string::npos) return {text.substr(0, blank), text.substr(blank + 1)};
    }
    component.refuse(fmt::format("merge {} is not two tokens", rank));
  }

  /// Returns the tokens of a word's characters.
  [[nodiscard]] std::vector<std::int32_t> parts_of(std::string_view word) const {
    std::vector<std::int32_t> parts;
    bool is_unknown = false;  // the last part
    std::string text;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t length = unicode::length_of(word[at]);
      text = at > 0 ? prefix_ : std::string();
      text += word.substr(at, length);
      at += length;
      if (at == word.size()) text += suffix_;
      const std::int32_t number = number_of(text);
      if (number >= 0) {
        parts.push_back(number);
      } else if (!has_bytes_ || !add_bytes(text, parts)) {
        if (unknown_ >= 0 && !(is_unknown && fuses_unknown_)) parts.push_back(unknown_);
        is_unknown = true;
        continue;
      }
      is_unknown = false;
    }
    return parts;
  }

  /// A merge that is possible at a place of the word, as long as both tokens are still there.
  struct Candidate {
    std::int32_t rank;
    std::size_t at;
    std::int32_t left, right, made;
    bool operator<(const Candidate& other) const {  // the queue's first is the largest
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };

  /// Appends what remains when no merge is possible. Takes n log n steps for n parts.
  void merge(std::vector<std::int32_t> parts, std::vector<std::int32_t>& tokens) const {
    constexpr std::size_t kNone = SIZE_MAX;
    const std::size_t count = parts.size();
    std::vector<std::size_t> next(count), before(count);
    for (std::size_t i = 0; i < count; ++i) {
      next[i] = i + 1 < count ? i + 1 : kNone;
      before[i] = i > 0 ? i - 1 : kNone;
    }
    std::priority_queue<Candidate> queue;
    const auto offer = [&](std::size_t at) {
      if (at == kNone || next[at] == kNone) return;
      const std::int32_t left = parts[at], right = parts[next[at]];
      const Merges::Merge merge = merges_.find(left, right);
      if (merge.rank >= 0) queue.push({merge.rank, at, left, right, merge.made});
    };
    for (std::size_t i = 0; i + 1 < count; ++i) offer(i);
    while (!queue.empty()) {
      const Candidate top = queue.top();
      queue.pop();
      const std::size_t right = next[top.at];
      if (parts[top.at] != top.left || right == kNone || parts[right] != top.right) continue;
      parts[top.at] = top.made;
      parts[right] = -1;
      next[top.at] = next[right];
      if (next[right] != kNone) before[next[right]] = top.at;
      offer(before[top.at]);
      offer(top.at);
    }
    for (const std::int32_t part : parts)
      if (part >= 0) tokens.push_back(part);
  }

  std::string prefix_, suffix_;
  bool has_bytes_, fuses_unknown_, takes_whole_words_;
  std::int32_t unknown_ = -1;
  Merges merges_;
  mutable WordCache cache_;
};

}  // namespace

std::unique_ptr<TokenModel> make_bpe(const Component& component) {
  return std::make_unique<Bpe>(component);
}

}  // namespace ds
