// The axes of the equality matrix, and cells: one choice on every axis.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ds::test {

/// Keys of train.toml that a choice sets. `{paths}` stands for a folder of fast files.
struct Choice {
  std::string_view name;
  std::vector<std::string_view> keys;
};

struct Axis {
  std::string_view name;
  bool arithmetic = false;  // cells that agree on these axes have equal bits
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
std::vector<std::string> keys_of(const Cell& cell);
int world_of(const Cell& cell);
std::string_view choice_of(const Cell& cell, std::string_view axis);

/// All cells, references included, one arithmetic after the other.
std::vector<Cell> all_cells();

}  // namespace ds::test
