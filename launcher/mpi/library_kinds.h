// Finds ranks of two kinds of MPI library in one world. Pure.
#pragma once

#include <algorithm>
#include <optional>
#include <set>

#include "launcher/wire/mpi_messages.h"

namespace ds::launcher {

/// Records which of PMI and PMIx the ranks of an epoch have used. A rank that has used only one of
/// them waits in MPI_Init for all ranks, and so does a rank that has used only the other one. A
/// script may run a program of each kind, one after the other.
/// Threads: one.   Errors: none.
class LibraryKinds {
 public:
  void begin() { *this = {}; }

  /// Records that the MPI library of a rank has begun. Returns a rank that uses only the other kind,
  /// if the two can never meet.
  std::optional<int> take(const MpiInit& init) {
    auto& own = init.wire == MpiWire::pmix ? pmix_ : pmi_;
    const auto& other = init.wire == MpiWire::pmix ? pmi_ : pmix_;
    own.insert(init.rank);
    if (other.contains(init.rank)) return std::nullopt;
    const auto found = std::ranges::find_if(other, [&](int rank) { return !own.contains(rank); });
    return found == other.end() ? std::nullopt : std::optional(*found);
  }

 private:
  std::set<int> pmi_;
  std::set<int> pmix_;
};

}  // namespace ds::launcher
