// The axes of the equality matrix, and cells: one choice on every axis.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace ds::test {

/// Keys of train.toml that a choice sets. `{paths}` stands for a folder of fast files;
/// "stage=3 ? KEY" is set where the cell has that choice, "offload!=none ? KEY" where it has not;
/// all of several such conditions must hold.
struct Choice {
  std::string_view name;
  std::vector<std::string_view> keys;
};

struct Axis {
  std::string_view name;
  enum class Kind {
    arithmetic,  // cells that agree on these axes have equal bits
    full,        // all choices with all others
    dealt        // the whole matrix has each choice in about as many cells, by chance
  } kind = Kind::full;
  std::vector<Choice> choices;
};

const std::vector<Axis>& axes();

/// The index of a choice for every axis, in the order of axes().
using Cell = std::vector<std::size_t>;

/// "dtype=bf16,order=step,...", as --only reads it.
std::string name_of(const Cell& cell);
/// Axes that `text` does not name stay at their first choice. Throws Error{usage}.
Cell cell_of(std::string_view text);
/// The same arithmetic in the plainest way: the first choice of every other axis.
Cell reference_of(const Cell& cell);
/// With other choices by chance on all axes that are not arithmetic.
Cell changed(const Cell& cell, std::mt19937& random);
std::vector<std::string> keys_of(const Cell& cell);
int world_of(const Cell& cell);
std::string_view choice_of(const Cell& cell, std::string_view axis);

/// All choices of the axes that are not dealt, each with chance choices of those that are.
std::vector<Cell> all_cells(unsigned seed);

}  // namespace ds::test
