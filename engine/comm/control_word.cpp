// Encodes, joins and decides control words.
#include "engine/comm/control_word.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>

#include "engine/base/error.h"

namespace ds {
namespace {

// Calls `visit` with every field, in the order on the wire.
void each_field(auto& word, auto&& visit) {
  visit(word.rank);
  visit(word.step);
  visit(word.epoch);
  visit(word.progress);
  visit(word.norm_squared);
  visit(word.non_finite);
  visit(word.loss);
  visit(word.tokens);
  visit(word.wish_save);
  visit(word.wish_stop);
  visit(word.save_written);
  visit(word.save_failed);
  visit(word.lr);
  visit(word.bias_correction1);
  visit(word.bias_correction2);
  visit(word.save_over);
  visit(word.time_to_save);
  visit(word.lagging);
  visit(word.stray);
  visit(word.stray_step);
  visit(word.stray_epoch);
}

class Writer {
 public:
  explicit Writer(EncodedControlWord& out) : out_(out) {}
  void operator()(std::integral auto value) { put(static_cast<std::uint64_t>(value)); }
  void operator()(double value) { put(std::bit_cast<std::uint64_t>(value)); }
  void operator()(const ExactSum& sum) {
    for (const std::uint64_t word : sum.words()) put(word);
    put(sum.has_non_finite() ? 1U : 0U);
  }

 private:
  void put(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
      out_.at(at_++) = static_cast<std::byte>(value >> shift & 0xff);
  }
  EncodedControlWord& out_;
  std::size_t at_ = 0;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) : in_(in) {}
  template <std::integral T>
  void operator()(T& value) {
    value = static_cast<T>(take());
  }
  void operator()(double& value) { value = std::bit_cast<double>(take()); }
  void operator()(ExactSum& sum) {
    std::array<std::uint64_t, ExactSum::kWords> words{};
    for (std::uint64_t& word : words) word = take();
    sum = ExactSum::from_words(words, take() != 0);
  }

 private:
  std::uint64_t take() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 8)
      value |= std::to_integer<std::uint64_t>(in_[at_++]) << shift;
    return value;
  }
  std::span<const std::byte> in_;
  std::size_t at_ = 0;
};

std::int64_t lagging_of(const ControlWord& word) {
  return word.lagging < 0 ? word.rank : word.lagging;
}

}  // namespace

EncodedControlWord encode(const ControlWord& word) {
  EncodedControlWord bytes{};
  each_field(word, Writer(bytes));
  return bytes;
}

ControlWord decode_control_word(std::span<const std::byte> bytes) {
  DS_ASSERT(bytes.size() == kControlWordBytes);
  ControlWord word;
  each_field(word, Reader(bytes));
  return word;
}

// Rank 0's own values stay: `left` has them if any has.
void join(ControlWord& left, const ControlWord& right) {
  if (left.stray < 0) {
    const bool differs = right.step != left.step || right.epoch != left.epoch;
    left.stray = differs ? right.rank : right.stray;
    left.stray_step = differs ? right.step : right.stray_step;
    left.stray_epoch = differs ? right.epoch : right.stray_epoch;
  }
  left.lagging = right.progress < left.progress ? lagging_of(right) : lagging_of(left);
  left.progress = std::min(left.progress, right.progress);
  left.norm_squared.add(right.norm_squared);
  left.loss.add(right.loss);
  left.non_finite += right.non_finite;
  left.tokens += right.tokens;
  left.wish_save = left.wish_save || right.wish_save;
  left.wish_stop = left.wish_stop || right.wish_stop;
  left.save_written = std::min(left.save_written, right.save_written);
  left.save_failed = std::max(left.save_failed, right.save_failed);
}

StepDecision decide(const ControlWord& all) {
  if (all.stray >= 0) {
    throw Error(
        ErrorKind::comm,
        fmt::format("rank {} is at step {} of epoch {}, rank {} at step {} of epoch {}", all.stray,
                    all.stray_step, all.stray_epoch, all.rank, all.step, all.epoch),
        "start all ranks with the same configuration and from the same checkpoint");
  }
  return {.step = all.step,
          .tokens = all.tokens,
          .loss = all.tokens > 0 ? all.loss.rounded() / static_cast<double>(all.tokens) : 0,
          .norm = std::sqrt(all.norm_squared.rounded()),
          .non_finite = all.non_finite,
          .save = all.wish_save,
          .time_to_save = all.time_to_save,
          .stop = all.wish_stop,
          .save_written = all.save_written,
          .save_failed = all.save_failed,
          .save_over = all.save_over,
          .lr = all.lr,
          .bias_correction1 = all.bias_correction1,
          .bias_correction2 = all.bias_correction2,
          .lagging_rank = static_cast<int>(lagging_of(all)),
          .lowest_progress = all.progress};
}

}  // namespace ds
