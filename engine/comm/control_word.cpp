// Encodes, decodes and merges control words.
#include "engine/comm/control_word.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/base/error.h"

namespace ds {
namespace {

class Writer {
 public:
  explicit Writer(EncodedControlWord& out) : out_(out) {}
  void put(std::uint64_t value, std::size_t bytes = 8) {
    for (std::size_t i = 0; i < bytes; ++i)
      out_.at(at_++) = static_cast<std::byte>((value >> (8 * i)) & 0xff);
  }
  void put(std::int64_t value) { put(static_cast<std::uint64_t>(value)); }
  void put(double value) { put(std::bit_cast<std::uint64_t>(value)); }
  void put(const ExactSum& sum) {
    for (const std::uint64_t word : sum.words()) put(word);
    put(sum.has_non_finite() ? 1U : 0U, 1);
  }
  void done() const { DS_ASSERT(at_ == out_.size()); }

 private:
  EncodedControlWord& out_;
  std::size_t at_ = 0;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> in) : in_(in) {}
  std::uint64_t take(std::size_t bytes = 8) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value |= std::to_integer<std::uint64_t>(in_[at_++]) << (8 * i);
    return value;
  }
  std::int64_t take_signed() { return static_cast<std::int64_t>(take()); }
  double take_double() { return std::bit_cast<double>(take()); }
  ExactSum take_sum() {
    std::array<std::uint64_t, ExactSum::kWords> words{};
    for (std::uint64_t& word : words) word = take();
    return ExactSum::from_words(words, take(1) != 0);
  }
  void done() const { DS_ASSERT(at_ == in_.size()); }

 private:
  std::span<const std::byte> in_;
  std::size_t at_ = 0;
};

}  // namespace

EncodedControlWord encode(const ControlWord& word) {
  EncodedControlWord bytes{};
  Writer out(bytes);
  out.put(static_cast<std::uint64_t>(word.rank), 4);
  out.put(word.step);
  out.put(word.epoch);
  out.put(word.progress);
  out.put(word.norm_squared);
  out.put(word.non_finite);
  out.put(word.loss);
  out.put(word.tokens);
  out.put(word.wish_save ? 1U : 0U, 1);
  out.put(word.wish_stop ? 1U : 0U, 1);
  out.put(word.save_written);
  out.put(word.save_failed);
  out.put(word.lr);
  out.put(word.bias_correction1);
  out.put(word.bias_correction2);
  out.put(word.save_over);
  out.put(word.time_to_save ? 1U : 0U, 1);
  out.done();
  return bytes;
}

// Braced initializers are evaluated from left to right: the order of the fields is the order on the
// wire.
ControlWord decode_control_word(std::span<const std::byte, kControlWordBytes> bytes) {
  Reader in(bytes);
  ControlWord word{.rank = static_cast<int>(in.take(4)),
                   .step = in.take_signed(),
                   .epoch = in.take(),
                   .progress = in.take(),
                   .norm_squared = in.take_sum(),
                   .non_finite = in.take_signed(),
                   .loss = in.take_sum(),
                   .tokens = in.take_signed(),
                   .wish_save = in.take(1) != 0,
                   .wish_stop = in.take(1) != 0,
                   .save_written = in.take_signed(),
                   .save_failed = in.take_signed(),
                   .lr = in.take_double(),
                   .bias_correction1 = in.take_double(),
                   .bias_correction2 = in.take_double(),
                   .save_over = in.take_signed(),
                   .time_to_save = in.take(1) != 0};
  in.done();
  return word;
}

StepDecision merge(std::span<const ControlWord> words) {
  DS_ASSERT(!words.empty());
  const ControlWord& first = words.front();
  StepDecision decision{.step = first.step,
                        .save_written = first.save_written,
                        .lagging_rank = first.rank,
                        .lowest_progress = first.progress};
  ExactSum norm_squared, loss;
  for (const ControlWord& word : words) {
    if (word.step != first.step || word.epoch != first.epoch) {
      throw Error(
          ErrorKind::comm,
          fmt::format("rank {} is at step {} of epoch {}, rank {} at step {} of epoch {}",
                      word.rank, word.step, word.epoch, first.rank, first.step, first.epoch),
          "start all ranks with the same configuration and from the same checkpoint");
    }
    norm_squared.add(word.norm_squared);
    loss.add(word.loss);
    decision.non_finite += word.non_finite;
    decision.tokens += word.tokens;
    decision.save = decision.save || word.wish_save;
    decision.stop = decision.stop || word.wish_stop;
    decision.save_written = std::min(decision.save_written, word.save_written);
    decision.save_failed = std::max(decision.save_failed, word.save_failed);
    if (word.progress < decision.lowest_progress) {
      decision.lowest_progress = word.progress;
      decision.lagging_rank = word.rank;
    }
    if (word.rank == 0) {
      decision.lr = word.lr;
      decision.bias_correction1 = word.bias_correction1;
      decision.bias_correction2 = word.bias_correction2;
      decision.save_over = word.save_over;
      decision.time_to_save = word.time_to_save;
    }
  }
  decision.norm = std::sqrt(norm_squared.rounded());
  if (decision.tokens > 0) decision.loss = loss.rounded() / static_cast<double>(decision.tokens);
  return decision;
}

}  // namespace ds
