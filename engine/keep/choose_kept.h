// choose_kept(): which kept steps are complete, and which node gives which share. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/keep/kept_slot.h"

namespace ds {

/// One copy of a share in the memory of a node: the rank's own, or its ward's.
struct KeptCopy {
  int node = 0;        // that holds it
  std::string file{};  // KeptFile::name there
  KeptShare share{};
};

/// Where a share lies.
struct KeptPlace {
  int node = 0;
  std::string file{};
  friend bool operator==(const KeptPlace&, const KeptPlace&) = default;
};

/// A kept step from which training can continue.
struct KeptStep {
  std::uint64_t epoch = 0;  // in which its shares were made
  Manifest manifest{};      // joined; chunk i is the share of rank i of that epoch
  // By chunk: at least one place, the first of which gives the share to nodes that do not hold it.
  std::vector<std::vector<KeptPlace>> places{};

  [[nodiscard]] std::int64_t step() const { return manifest.state.step; }
  /// Returns where the ranks of `node` read a chunk.
  [[nodiscard]] const KeptPlace& place_for(std::size_t chunk, int node) const;
};

struct KeptChoice {
  std::vector<KeptStep> steps{};  // complete ones: newest first, of one step the newest epoch first
  // For people, if the newest step with any share is not complete: which shares it lacks.
  std::string incomplete{};
};

/// Joins the copies of `run` by step and epoch. Shares of one step of different epochs are not
/// joined: they have the same bits, but other cuts. The first places are spread over the nodes by
/// bytes. The order of `copies` does not matter.
KeptChoice choose_kept(std::span<const KeptCopy> copies, const std::string& run);

/// Removes a place of a chunk that did not verify. Returns whether another place is left; the
/// others give the share from then on.
bool drop_place(KeptStep& step, std::size_t chunk, const KeptPlace& place);

}  // namespace ds
