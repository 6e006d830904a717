// Runs and compares cells, printing one line per run.
#include "e2e/equality/matrix.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <regex>
#include <string>

#include "engine/base/error.h"

namespace ds::test {
namespace {

// A device runs one rank of a group and is a real accelerator, not a CPU that poses as one.
Cell by_one_rank(Cell cell) {
  for (std::size_t a = 0; a < cell.size(); ++a) {
    if (axes()[a].name == "world" || axes()[a].name == "device") cell[a] = 0;
  }
  return cell;
}

}  // namespace

Folder::Folder() {
  std::string path = std::filesystem::temp_directory_path() / "equality-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) throw_errno("cannot make " + path, errno);
  path_ = path;
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

Matrix::Matrix(const Place& place) : place_(place) { write_job(folder_.path()); }

void Matrix::check(Cell cell) {
  if (place_.accelerator) cell = by_one_rank(cell);
  const std::string& expected = reference(cell);
  if (cell == reference_of(cell) || !checked_.insert(cell).second) return;
  const std::string hash = run({{.cell = cell, .last = place_.steps}}, name_of(cell));
  if (compare(hash, expected, name_of(cell))) return;
  failures_.push_back(fmt::format("--only {}", name_of(cell)));
  failed_cells_.push_back(cell);
}

void Matrix::check_broken(Cell cell, unsigned seed) {
  if (place_.accelerator) cell = by_one_rank(cell);
  const Parts parts = parts_of(cell, seed, place_.steps);
  const std::string name = fmt::format("{} --broken {}", name_of(cell), seed);
  if (!check_parts(parts, name)) failures_.back() = fmt::format("--only {}", name);
}

bool Matrix::check_parts(const Parts& parts, const std::string& how) {
  Parts here = parts;
  if (place_.accelerator)
    for (Part& part : here) part.cell = by_one_rank(part.cell);
  const std::string& expected = reference(here.front().cell);
  const std::string name = fmt::format("{} ({})", how, ends_of(here));
  const bool same = compare(run(here, name), expected, name);
  if (!same) {
    failures_.push_back(name);
    for (const Part& part : here)
      fmt::print("  until step {}: {}\n", part.last, name_of(part.cell));
  }
  return same;
}

void Matrix::check_elastic(Cell cell, unsigned seed) {
  check_history(history_of(cell, seed, place_.steps),
                fmt::format("{} --history {}", name_of(cell), seed));
}

void Matrix::check_history(const History& history, const std::string& how) {
  const Cell plain = reference_of(history.front().cell);
  const auto [known, is_new] = undisturbed_.try_emplace(plain);
  const std::string name = fmt::format("{} ({})", how, text_of(history));
  ++runs_;
  try {
    if (is_new) {
      Membership alone{.cell = plain, .last = place_.steps, .nodes = {0}};
      alone.ranks_per_node = world_of(plain);
      known->second = train_history(folder_.path(), {alone}, place_);
    }
    const Trained trained = train_history(folder_.path(), history, place_);
    from_memory_ += trained.from_memory;
    redone_ += trained.redone;
    const bool same = trained.hash == known->second.hash && !trained.hash.empty() &&
                      trained.figures == known->second.figures &&
                      std::ssize(trained.figures) == place_.steps;
    fmt::print("{}  {}  {}\n", trained.hash, same ? "same   " : "DIFFERS", name);
    if (!same) failures_.push_back(fmt::format("--elastic --only {}", how));
    if (trained.from_memory + 1 < std::ssize(history)) {
      fmt::print("FAILED: only {} of {} memberships began from memory\n", trained.from_memory,
                 history.size() - 1);
      failures_.push_back(fmt::format("--elastic --only {}", how));
    }
  } catch (const Error& error) {
    fmt::print("FAILED  {}: {}\n", name, error.for_people());
    failures_.push_back(fmt::format("--elastic --only {}", how));
  }
  std::fflush(stdout);
}

bool Matrix::compare(const std::string& hash, const std::string& expected,
                     const std::string& name) {
  ++runs_;
  const bool same = !hash.empty() && hash == expected;
  fmt::print("{}  {}  {}\n", hash.empty() ? std::string(32, '-') : hash,
             same ? "same   " : "DIFFERS", name);
  std::fflush(stdout);
  return same;
}

namespace {

/// Returns the name of a cell without what changes no bit in its model: adapters have no biases or
/// norms that decay could spare, and their gradients are too short to be clipped.
std::string distinct_name(const Cell& cell) {
  const std::string name = name_of(cell);
  if (name.find("lora") == std::string::npos) return name;
  return std::regex_replace(name, std::regex("clip=[^,]*,decay=[^,]*,"), "");
}

}  // namespace

void Matrix::check_references() {
  std::map<std::string, std::string> names;  // by hash
  for (const auto& [cell, hash] : references_) {
    const auto [known, is_new] = names.try_emplace(hash, distinct_name(cell));
    if (is_new || known->second == distinct_name(cell)) continue;
    fmt::print("FAILED: other arithmetic, the same weights: {}\n", name_of(cell));
    failures_.push_back(fmt::format("--only {}", name_of(cell)));
  }
}

int Matrix::report() const {
  for (const std::string& failure : failures_) fmt::print("FAILED: equality_matrix {}\n", failure);
  if (runs_ == 0) fmt::print("FAILED: no run was compared\n");
  if (!failures_.empty() || runs_ == 0) return 1;
  if (from_memory_ > 0)
    fmt::print("elastic: {} memberships began from memory, {} steps ran again\n", from_memory_,
               redone_);
  fmt::print("equal bits: {} runs, {} references\n", runs_,
             references_.size() + undisturbed_.size());
  return 0;
}

const std::string& Matrix::reference(const Cell& cell) {
  const Cell plain = reference_of(cell);
  const auto known = references_.find(plain);
  if (known != references_.end()) return known->second;
  const std::string hash = run({{.cell = plain, .last = place_.steps}}, name_of(plain));
  if (hash.empty()) failures_.push_back(fmt::format("--only {}", name_of(plain)));
  fmt::print("{}  first    {}\n", hash, name_of(plain));
  return references_[plain] = hash;
}

// Runs the parts. Returns the hash, or an empty text after it has printed why the run failed.
std::string Matrix::run(const Parts& parts, const std::string& name) {
  try {
    return train_parts(folder_.path(), parts, place_);
  } catch (const Error& error) {
    fmt::print("FAILED: {}: {}\n", name, error.for_people());
    return {};
  }
}

}  // namespace ds::test
