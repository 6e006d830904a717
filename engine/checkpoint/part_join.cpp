// Joins the parts of all ranks into one manifest.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/base/text_error.h"
#include "engine/checkpoint/manifest_text.h"
#include "engine/checkpoint/text_form.h"

namespace ds {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Error(ErrorKind::system, "the parts of the ranks do not form a checkpoint: " + what);
}

std::string state_name(const TensorEntry& tensor, const StateEntry& state) {
  return fmt::format("{} of {}", printable_text(state.name, 80), printable_text(tensor.name, 80));
}

class Joiner {
 public:
  explicit Joiner(Manifest& into) : into_(into) {
    for (TensorEntry& tensor : into.tensors) by_name_[tensor.name] = &tensor;
  }

  void add(const ChunkPart& part, int chunk) {
    into_.chunks.push_back(part.chunk);
    for (const TensorEntry& tensor : part.tensors) {
      const auto known = by_name_.find(tensor.name);
      if (known == by_name_.end()) {
        refuse(fmt::format("rank {} wrote {}, which the model does not have", part.rank,
                           printable_text(tensor.name, 80)));
      }
      if (known->second->shape != tensor.shape) {
        refuse(fmt::format("rank {} wrote {} in another shape", part.rank,
                           printable_text(tensor.name, 80)));
      }
      for (const StateEntry& state : tensor.states) add_state(*known->second, state, part, chunk);
    }
  }

 private:
  static void add_state(TensorEntry& tensor, const StateEntry& state, const ChunkPart& part,
                        int chunk) {
    const auto into = std::ranges::find(tensor.states, state.name, &StateEntry::name);
    const auto is_own = [](const StateEntry& entry) { return entry.held == StateClass::per_rank; };
    if (into == tensor.states.end() || into->dtype != state.dtype ||
        is_own(*into) != is_own(state)) {
      refuse(fmt::format("rank {} wrote {}, which rank 0 does not have or has as another type",
                         part.rank, state_name(tensor, state)));
    }
    for (Piece piece : state.pieces) {
      piece.chunk = chunk;
      into->pieces.push_back(std::move(piece));
    }
  }

  Manifest& into_;
  std::map<std::string_view, TensorEntry*> by_name_;
};

void check_ranks(const std::vector<const ChunkPart*>& parts, int world_size) {
  int last = -1;
  for (const ChunkPart* part : parts) {
    if (part->rank < 0 || part->rank >= world_size || part->rank == last) {
      refuse(fmt::format("rank {} {}", part->rank,
                         part->rank == last ? "has two parts" : "does not belong to this job"));
    }
    last = part->rank;
  }
}

}  // namespace

void sort_pieces(StateEntry& state) {
  const auto before = [](const Piece& one, const Piece& other) {
    return std::tie(one.rank, one.box.offset, one.first, one.box.extent) <
           std::tie(other.rank, other.box.offset, other.first, other.box.extent);
  };
  if (!std::ranges::is_sorted(state.pieces, before)) std::ranges::sort(state.pieces, before);
}

Manifest join_parts(Manifest head, const std::vector<ChunkPart>& parts) {
  std::vector<const ChunkPart*> by_rank;
  for (const ChunkPart& part : parts) by_rank.push_back(&part);
  std::ranges::sort(by_rank, {}, &ChunkPart::rank);
  check_ranks(by_rank, head.world_size);
  Joiner joiner(head);
  for (std::size_t i = 0; i < by_rank.size(); ++i) joiner.add(*by_rank[i], static_cast<int>(i));
  for (TensorEntry& tensor : head.tensors) {
    for (StateEntry& state : tensor.states) {
      sort_pieces(state);
      const std::string hole = uncovered(tensor, state);
      if (!hole.empty()) refuse(fmt::format("{}: {}", state_name(tensor, state), hole));
    }
  }
  return head;
}

}  // namespace ds
