// The options --map-by, --rank-by and --bind: how ranks are dealt over hosts, and which parts of a
// node each may use. Pure.
#pragma once

#include <optional>
#include <string>

#include "launcher/cli/option_table.h"
#include "launcher/wire/messages.h"

namespace ds::launcher {

enum class MapBy { slot, node };
/// Value of --rank-by. `automatic`: like the hosts were dealt out.
enum class RankBy { automatic, slot, node, fill };
/// Value of --bind. The enumerators have the order of the option's words.
enum class BindTo { none, numa, cores, hwthread, core, l3cache, socket, openmpi };

struct RankMap {
  MapBy map_by = MapBy::slot;
  bool in_sequence = false;       // seq
  bool span = false;              // :span
  std::optional<Level> part{};    // --map-by socket and others: ranks go round these on each node
  int per_part = 0;               // ppr:N:socket
  std::optional<int> per_host{};  // ppr:N:node
  int width = 0;                  // :pe=N; 0: not given
  bool oversubscribe = false;     // :oversubscribe
  RankBy rank_by = RankBy::automatic;
  std::optional<BindTo> bind{};

  /// Returns whether the ranks are dealt evenly over the hosts.
  [[nodiscard]] bool spreads() const { return map_by == MapBy::node || span; }
  [[nodiscard]] bool ranks_by_node() const {
    return rank_by == RankBy::node || (rank_by == RankBy::automatic && map_by == MapBy::node);
  }
  [[nodiscard]] bool binds() const {
    return bind ? *bind != BindTo::none : part.has_value() || width > 0;
  }
};

/// Applies a value of --map-by: `slot`, `node`, a part of a node, `ppr:2:socket`, with modifiers.
/// Errors:  Error{usage}.
void set_map_by(RankMap& map, const GivenOption& given);

struct Binding {
  Bind bind = Bind::none;
  LevelBinding level{};
  bool by_default = false;  // only on nodes with a core for each rank
  friend bool operator==(const Binding&, const Binding&) = default;
};

/// Returns the binding of a job with `ranks` ranks (docs/binding.md).
Binding binding_for(const RankMap& map, int ranks);

}  // namespace ds::launcher
