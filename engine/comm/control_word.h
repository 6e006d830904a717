// What every rank tells all others once a step, and the one decision that all draw from it. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/base/exact_sum.h"

namespace ds {

/// One rank's word. Sums are exact (ExactSum), so the decision has the same bits on any number of
/// ranks, as long as what is added does not depend on it: sums over leaves of fixed shape, over a
/// virtual rank's micro-batch.
struct ControlWord {
  int rank = 0;
  std::int64_t step = 0;
  std::uint64_t epoch = 0;
  std::uint64_t progress = 0;   // counts up with the work done; the lowest is the rank that lags
  ExactSum norm_squared{};      // of this rank's part of the gradient
  std::int64_t non_finite = 0;  // elements of it that are not finite
  ExactSum loss{};              // sum over target tokens, in nats
  std::int64_t tokens = 0;      // target tokens
  bool wish_save = false;     // somebody asked this rank
  bool wish_stop = false;
  // Numbers of saves, counted from 1 in one run: of the newest that this rank has written to its
  // end, and of the newest that it could not write.
  std::int64_t save_written = 0, save_failed = 0;
  // Of rank 0; the others' are ignored.
  double lr = 0;
  double bias_correction1 = 1;
  double bias_correction2 = 1;
  std::int64_t save_over = 0;  // the newest save that is committed or given up
  bool time_to_save = false;   // by rank 0's clock
  friend bool operator==(const ControlWord&, const ControlWord&) = default;
};

inline constexpr std::size_t kControlWordBytes = 2 * (ExactSum::kWords * 8 + 1) + 4 + 11 * 8 + 3;
using EncodedControlWord = std::array<std::byte, kControlWordBytes>;

/// Little-endian, the same on every machine.
EncodedControlWord encode(const ControlWord& word);
ControlWord decode_control_word(std::span<const std::byte, kControlWordBytes> bytes);

/// What all ranks do after this step: the same on every rank.
struct StepDecision {
  std::int64_t step = 0;
  std::int64_t tokens = 0;
  double loss = 0;  // mean over target tokens; 0 when there are none
  double norm = 0;  // of the gradient of the summed loss, before any scaling; NaN when not finite
  std::int64_t non_finite = 0;
  bool save = false;          // somebody asked some rank
  bool time_to_save = false;  // by rank 0's clock
  bool stop = false;
  std::int64_t save_written = 0;  // every rank has written it
  std::int64_t save_failed = 0;   // some rank could not write it
  std::int64_t save_over = 0;
  double lr = 0;
  double bias_correction1 = 1;
  double bias_correction2 = 1;
  int lagging_rank = 0;
  std::uint64_t lowest_progress = 0;
};

/// `words` in any order, one of every rank. Errors: Error{comm} naming a rank that is at another
/// step or epoch.
StepDecision merge(std::span<const ControlWord> words);

}  // namespace ds
