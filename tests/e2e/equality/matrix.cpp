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

bool Matrix::check_elastic(const Cell& cell, unsigned seed) {
  return check_history(history_of(cell, seed, place_.steps),
                       fmt::format("{} --history {}", name_of(cell), seed));
}

namespace {

/// Returns what is wrong with the run of a history; empty: nothing.
std::string fault_of(const Trained& trained, const Trained& undisturbed, int memberships,
                     int steps) {
  if (trained.hash.empty() || trained.hash != undisturbed.hash) return "other weights";
  if (trained.figures != undisturbed.figures) return "other losses or norms";
  if (std::ssize(trained.figures) != steps) return "steps are missing";
  if (trained.from_memory + 1 < memberships)
    return fmt::format("only {} of {} memberships began from memory", trained.from_memory,
                       memberships - 1);
  return {};
}

Trained train_alone(const std::string& folder, const Cell& plain, const Place& place) {
  return train_history(folder, {{.cell = plain, .last = place.steps, .nodes = {0}}}, place);
}

}  // namespace

const Trained& Matrix::undisturbed(const Cell& plain) {
  const auto [known, is_new] = undisturbed_.try_emplace(plain);
  if (is_new) known->second = train_alone(folder_.path(), plain, place_);
  return known->second;
}

bool Matrix::check_history(const History& history, const std::string& how) {
  const std::string name = fmt::format("{} ({})", how, text_of(history));
  ++runs_;
  std::string fault;
  Trained trained;
  try {
    const Trained& expected = undisturbed(reference_of(history.front().cell));
    trained = train_history(folder_.path(), history, place_);
    fault = fault_of(trained, expected, static_cast<int>(history.size()), place_.steps);
  } catch (const Error& error) {
    fault = error.for_people();
  }
  from_memory_ += trained.from_memory;
  redone_ += trained.redone;
  fmt::print("{:32}  {}  {}\n", trained.hash, fault.empty() ? "same" : "FAILED: " + fault, name);
  std::fflush(stdout);
  if (!fault.empty()) failures_.push_back(fmt::format("--elastic --only {}", how));
  return fault.empty();
}

void Matrix::check_other_virtual_ranks(const Cell& cell) {
  const Cell plain = reference_of(cell);
  Place other = place_;
  other.virtual_ranks = place_.virtual_ranks / 2;
  if (train_alone(folder_.path(), plain, other).figures != undisturbed(plain).figures) return;
  fmt::print("FAILED: {} virtual ranks, the same losses: {}\n", other.virtual_ranks,
             name_of(plain));
  failures_.push_back("--elastic");
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
