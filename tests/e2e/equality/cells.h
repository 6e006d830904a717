// Axes of the equality matrix, and cells: one choice on every axis.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ds::test {

/// Keys of train.toml that a choice sets. `{paths}` stands for a folder on a fast disk. "stage=3 ?
/// KEY" is set if the cell has that choice, "offload!=none ? KEY" if it has not; several conditions
/// must all hold.
struct Choice {
  std::string_view name;
  std::vector<std::string_view> keys;
};

struct Axis {
  std::string_view name;
  enum class Kind {
    arithmetic,  // cells that agree on these axes have equal bits
    full,        // all choices combined with all others
    dealt        // drawn at random, each choice about equally often in the whole matrix
  } kind = Kind::full;
  std::vector<Choice> choices;
};

const std::vector<Axis>& axes();

/// Index of the choice on every axis, in the order of axes().
using Cell = std::vector<std::size_t>;

/// Returns "dtype=bf16,order=step,...", the form that --only reads.
std::string name_of(const Cell& cell);
/// Parses a cell. Axes that `text` does not name keep their first choice. Throws Error{usage}.
Cell cell_of(std::string_view text);
/// Returns the cell with the same arithmetic and the first choice on all other axes.
Cell reference_of(const Cell& cell);
/// Returns the cell with random choices on all axes that are not arithmetic.
Cell changed(const Cell& cell, std::mt19937& random);
std::vector<std::string> keys_of(const Cell& cell);
int world_of(const Cell& cell);
std::string_view choice_of(const Cell& cell, std::string_view axis);

/// Returns all combinations of the axes that are not dealt, each with random choices on those that
/// are.
std::vector<Cell> all_cells(unsigned seed);

}  // namespace ds::test
