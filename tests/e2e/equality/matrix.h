// Matrix: runs cells and compares each with the plainest run of the same arithmetic.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "e2e/equality/train_cell.h"

namespace ds::test {

/// A folder that is removed with its owner.
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

  /// Trains the cell, and its reference unless an earlier cell needed it.
  void check(Cell cell);
  /// Trains the cell in the parts of `seed`.
  void check_broken(Cell cell, unsigned seed);
  /// Trains the cell in the history of `seed` and compares weights, losses and norms with the
  /// undisturbed run. Returns whether all are equal and every membership began from memory.
  bool check_elastic(const Cell& cell, unsigned seed);
  /// The same for a given history, whose cells have the same arithmetic.
  bool check_history(const History& history, const std::string& how);
  /// Checks that other virtual ranks give other losses, so that the comparison can fail.
  void check_other_virtual_ranks(const Cell& cell);
  /// Returns whether the parts end with the weights of the unbroken run. `how` is printed.
  bool check_parts(const Parts& parts, const std::string& how);

  /// Checks that different arithmetic gives different weights, so that the comparison can fail.
  void check_references();

  /// Prints the result and returns the exit code.
  [[nodiscard]] int report() const;
  /// Returns the weights_hash of each reference cell.
  [[nodiscard]] const std::map<Cell, std::string>& references() const { return references_; }
  [[nodiscard]] const std::vector<Cell>& failed_cells() const { return failed_cells_; }

 private:
  const std::string& reference(const Cell& cell);
  bool compare(const std::string& hash, const std::string& expected, const std::string& name);
  const Trained& undisturbed(const Cell& plain);
  std::string run(const Parts& parts, const std::string& name);

  Folder folder_;
  Place place_;
  std::set<Cell> checked_;
  std::map<Cell, std::string> references_;
  std::map<Cell, Trained> undisturbed_;  // of elastic runs
  std::vector<Cell> failed_cells_;
  std::vector<std::string> failures_;  // commands that repeat the failures
  int runs_ = 0;
  int from_memory_ = 0, redone_ = 0;  // memberships, steps
};

}  // namespace ds::test
