// Runs of cells, compared with the plainest run of the same arithmetic.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "e2e/equality/train_cell.h"

namespace ds::test {

/// A folder that goes away with its owner.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Matrix {
 public:
  explicit Matrix(const Place& place);

  /// Trains the cell, and what it is to be equal to where no cell before wanted that.
  void check(Cell cell);
  /// The cell in the parts of `seed`.
  void check_broken(Cell cell, unsigned seed);
  /// Returns whether they end at the weights of the unbroken run. `how`: for people.
  bool check_parts(const Parts& parts, const std::string& how);

  /// A check that could not fail proves nothing: other arithmetic must give other weights.
  void check_references();

  /// The exit code.
  [[nodiscard]] int report() const;
  /// Of the cells' plainest form: weights_hash.
  [[nodiscard]] const std::map<Cell, std::string>& references() const { return references_; }
  [[nodiscard]] const std::vector<Cell>& failed_cells() const { return failed_cells_; }

 private:
  const std::string& reference(const Cell& cell);
  bool compare(const std::string& hash, const std::string& expected, const std::string& name);
  std::string run(const Parts& parts, const std::string& name);

  Folder folder_;
  Place place_;
  std::set<Cell> checked_;
  std::map<Cell, std::string> references_;
  std::vector<Cell> failed_cells_;
  std::vector<std::string> failures_;  // how to repeat them
  int runs_ = 0;
};

}  // namespace ds::test
