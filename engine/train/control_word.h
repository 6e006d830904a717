// ControlWord: what the ranks tell each other once a step, joined into one word, and the decision
// that all ranks derive from it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/base/exact_sum.h"
#include "engine/base/step_phases.h"
#include "engine/comm/collectives.h"

namespace ds {

/// One rank's word, or the joined one of several. Sums are exact (ExactSum), so the decision has
/// the same bits on any number of ranks. This holds as long as the summands do not depend on the
/// number of ranks: they are sums over leaves of fixed shape and over one virtual rank's
/// micro-batch.
struct ControlWord {
  int rank = 0;  // the lowest of those whose words were joined
  std::int64_t step = 0;
  std::uint64_t epoch = 0;
  ExactSum norm_squared{};      // of this rank's part of the gradient
  std::int64_t non_finite = 0;  // elements of that part that are not finite
  ExactSum loss{};              // sum over target tokens, in nats
  std::int64_t tokens = 0;      // target tokens
  bool wish_save = false;       // a save was requested from this rank
  bool wish_stop = false;
  bool wish_pause = false;  // the launcher wants all ranks to end this step, keep it, and exit
  // Saves are numbered from 1 within one run: the newest save that this rank has written
  // completely, and the newest that it could not write.
  std::int64_t save_written = 0, save_failed = 0;
  // Keeps (keeper.h) are numbered likewise: the newest whose copies are in this rank's memory, its
  // own and its ward's, and the newest of which one could not be made.
  std::int64_t kept = 0, keep_failed = 0;
  // This rank's time since the last decision, and the part in which it did not wait for others.
  // Joined: of the rank with the most own work, which is `slowest`.
  PhaseSeconds phases{};
  double own_work = 0;
  int slowest = 0;
  // Only rank 0's values of the following fields are used.
  double lr = 0;
  double bias_correction1 = 1;
  double bias_correction2 = 1;
  std::int64_t save_over = 0;  // the newest save that was committed or given up
  bool time_to_save = false;   // a save is due by rank 0's clock
  bool time_to_keep = false;   // the same for states that are kept
  // Set by join():
  std::int64_t stray = -1;  // the first rank at another step or epoch; -1: none
  std::int64_t stray_step = 0;
  std::uint64_t stray_epoch = 0;
  friend bool operator==(const ControlWord&, const ControlWord&) = default;
};
static_assert(std::is_trivially_copyable_v<ControlWord>, "sent between ranks as bytes");

/// Adds the word of ranks after those of `left` to it. Associative.
void join(ControlWord& left, const ControlWord& right);

/// What all ranks do after this step; the same on every rank.
struct StepDecision {
  ControlWord all{};  // the joined word of all ranks
  double loss = 0;    // mean over target tokens; 0 when there are none
  double norm = 0;    // of the gradient of the summed loss, before any scaling; NaN when not finite
};

/// Derives the decision from the joined word of all ranks. Errors: Error{comm} naming a rank that
/// is at another step or epoch.
StepDecision decide(const ControlWord& all);

/// Returns the decision from the words of all ranks of the group. Collective. Errors: as decide().
StepDecision decide_together(Group& group, const ControlWord& own, Deadline deadline);

}  // namespace ds
