// Checks that boxes cover the tensor exactly once and that pieces cover each box exactly once.
#include "engine/checkpoint/coverage.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "engine/checkpoint/box_order.h"
#include "engine/checkpoint/manifest_text.h"

namespace ds {
namespace {

using Point = std::vector<std::int64_t>;

constexpr std::size_t kMaxAxes = 8;

std::int64_t flat(Extents shape, Extents point) {
  std::int64_t index = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) index = index * shape[axis] + point[axis];
  return index;
}

std::string missing(std::int64_t element) {
  return fmt::format("element {} is in no piece", element);
}
std::string doubled(std::int64_t element) {
  return fmt::format("element {} is in two pieces", element);
}

/// Returns the first gap or overlap among the pieces of one box, which are sorted by `first`.
std::string holes_of_box(Extents shape, std::span<const Piece* const> pieces) {
  const Box& box = pieces.front()->box;
  std::int64_t next = 0;
  for (const Piece* piece : pieces) {
    if (piece->first < next) return doubled(element_in_tensor(shape, box, piece->first));
    if (piece->first > next) return missing(element_in_tensor(shape, box, next));
    next += piece->elements;
  }
  return next < box_elements(box.extent) ? missing(element_in_tensor(shape, box, next))
                                         : std::string();
}

bool are_apart(const Box& one, const Box& other) {
  for (std::size_t axis = 0; axis < one.offset.size(); ++axis) {
    if (one.offset[axis] >= other.offset[axis] + other.extent[axis] ||
        other.offset[axis] >= one.offset[axis] + one.extent[axis]) {
      return true;
    }
  }
  return false;
}

/// Returns an element that two boxes share, as text. `boxes` are sorted by offset.
std::string overlap_of(Extents shape, std::span<const Box* const> boxes) {
  for (std::size_t one = 0; one < boxes.size(); ++one) {
    const Box& box = *boxes[one];
    for (std::size_t other = one + 1; other < boxes.size(); ++other) {
      const Box& next = *boxes[other];
      if (!shape.empty() && next.offset[0] >= box.offset[0] + box.extent[0]) break;
      if (are_apart(box, next)) continue;
      Point point(box.offset);
      std::ranges::transform(point, next.offset, point.begin(),
                             [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
      return fmt::format("element {} is in two boxes", flat(shape, point));
    }
  }
  return {};
}

/// Returns the coordinates along `axis` at which the set of boxes changes.
std::vector<std::int64_t> edges_along(std::span<const Box* const> boxes, std::size_t axis) {
  std::vector<std::int64_t> edges{0};
  for (const Box* box : boxes) {
    edges.push_back(box->offset[axis]);
    edges.push_back(box->offset[axis] + box->extent[axis]);
  }
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

/// Returns the first element that no box covers, as text. The boxes do not overlap. Finds the first
/// coordinate whose cross-section is not full, then continues along the next axes.
std::string gap_between(Extents shape, std::vector<const Box*> boxes) {
  if (shape.empty()) return {};  // a scalar has one box
  Point point;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t full = box_elements(shape.subspan(axis + 1));
    bool found = false;
    for (const std::int64_t at : edges_along(boxes, axis)) {
      if (at == shape[axis]) break;
      std::vector<const Box*> here;
      std::int64_t filled = 0;
      for (const Box* box : boxes) {
        if (at < box->offset[axis] || at >= box->offset[axis] + box->extent[axis]) continue;
        here.push_back(box);
        filled += box_elements(Extents(box->extent).subspan(axis + 1));
      }
      if (filled == full) continue;
      point.push_back(at);
      boxes = std::move(here);
      found = true;
      break;
    }
    if (!found) return {};
  }
  return missing(flat(shape, point));
}

bool before(const Piece* one, const Piece* other) {
  return std::tie(one->box.offset, one->box.extent, one->first) <
         std::tie(other->box.offset, other->box.extent, other->first);
}

}  // namespace

std::optional<std::int64_t> elements_of(Extents extents) {
  if (extents.size() > kMaxAxes) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) {
    if (extent < 1 || __builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  }
  return count > INT64_MAX / 8 ? std::nullopt : std::optional(count);
}

std::string find_uncovered(Extents shape, std::span<const Piece> pieces) {
  if (pieces.empty()) return missing(0);
  std::vector<const Piece*> sorted;
  for (const Piece& piece : pieces) sorted.push_back(&piece);
  if (!std::ranges::is_sorted(sorted, before)) std::ranges::sort(sorted, before);
  std::vector<const Box*> boxes;
  std::vector<std::span<const Piece* const>> of_box;
  for (auto begin = sorted.begin(); begin != sorted.end();) {
    const Box& box = (*begin)->box;
    const auto end =
        std::find_if(begin, sorted.end(), [&](const Piece* piece) { return piece->box != box; });
    if (boxes.size() == kMaxBoxes)
      return fmt::format("the state has more than {} boxes", kMaxBoxes);
    boxes.push_back(&box);
    of_box.emplace_back(begin, end);
    begin = end;
  }
  if (std::string overlap = overlap_of(shape, boxes); !overlap.empty()) return overlap;
  for (const auto& one : of_box) {
    if (std::string hole = holes_of_box(shape, one); !hole.empty()) return hole;
  }
  return gap_between(shape, boxes);
}

std::string uncovered(const TensorEntry& tensor, const StateEntry& state) {
  if (state.held != StateClass::per_rank) return find_uncovered(tensor.shape, state.pieces);
  std::map<int, std::vector<Piece>> by_rank;
  for (const Piece& piece : state.pieces) by_rank[piece.rank].push_back(piece);
  for (const auto& [rank, pieces] : by_rank) {
    const std::string hole = find_uncovered(tensor.shape, pieces);
    if (!hole.empty()) return fmt::format("of rank {}: {}", rank, hole);
  }
  return {};
}

}  // namespace ds
