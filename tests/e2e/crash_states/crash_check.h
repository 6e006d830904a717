// Records runs that save, and checks each disk state that a crash can leave.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>

#include "e2e/crash_states/recorder.h"
#include "engine/base/error.h"
#include "engine/checkpoint/find_checkpoint.h"
#include "engine/checkpoint/folder_files.h"
#include "engine/checkpoint/latest_name.h"
#include "support/small_save.h"

namespace ds::test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

/// A folder in memory if possible, because the log distinguishes syncs and the disk does not
/// matter.
class WorkFolder {
 public:
  WorkFolder() {
    path_ = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : fs::temp_directory_path().string();
    path_ += "/crash-statesXXXXXX";
    REQUIRE(::mkdtemp(path_.data()) != nullptr);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() { fs::remove_all(path_); }
  [[nodiscard]] std::string fresh(const char* name) const {
    fs::remove_all(path_ + "/" + name);
    fs::create_directory(path_ + "/" + name);
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

/// A run that saves, and what it promises meanwhile.
class Run {
 public:
  Run(Recorder& recorder, const std::string& dir, std::uint64_t epoch, std::int64_t newest = -1)
      : recorder_(recorder), folder_(dir, epoch), newest_(newest) {
    folder_.own(0ms);
    recorder_.promise(newest_, newest_);
  }
  void save(std::int64_t step, int world_size = 2) {
    recorder_.promise(newest_, std::max(newest_, step));
    save_small(folder_, step, world_size);
    newest_ = std::max(newest_, step);
    recorder_.promise(newest_, newest_);
  }
  void thin_out(std::int64_t keep) { folder_.thin_out({keep, 0}); }
  void set_aside_after(std::int64_t step) {
    recorder_.promise(step, newest_);
    folder_.set_aside_after(step);
    newest_ = step;
    recorder_.promise(newest_, newest_);
  }
  [[nodiscard]] const SaveFolder& folder() const { return folder_; }

 private:
  Recorder& recorder_;
  SaveFolder folder_;
  std::int64_t newest_;
};

using Play = void (*)(Run&);

inline FileLog log_of(Play play, const std::string& root) {
  Recorder recorder(root);
  {
    Run run(recorder, root + "/dir", 1);
    play(run);
  }
  CHECK(recorder.missed_nothing());
  return recorder.log();
}

inline Promise promise_at(const FileLog& log, std::size_t count) {
  Promise last;
  for (const Promise& promise : log.promises) {
    if (promise.ops_before <= count) last = promise;
  }
  return last;
}

/// Returns the step of the newest checkpoint from which training would resume; -1: none. Errors:
/// Error if a checkpoint that is complete by name is not intact.
inline std::int64_t step_found(const std::string& dir) {
  ResumeSearch search({"auto", "all", dir});
  for (const ResumePlace& place : search.places()) {
    const bool replaced = !step_of(fs::path(place.folder).filename().string());
    if (replaced) continue;  // it may be half removed once the new one has its name
    if (!is_whole(Checkpoint::open(place.folder))) throw Error(ErrorKind::bug, "other values");
  }
  const Resumed found = search.next();
  if (!found.checkpoint) return -1;
  if (!is_whole(found.checkpoint)) throw Error(ErrorKind::bug, "other values");
  return found.checkpoint->manifest().state.step;
}

/// Returns what is wrong with the folder after the crash, or after the next run has claimed it;
/// empty: nothing.
inline std::string fault_of(const std::string& dir, const Promise& promise) {
  try {
    const std::int64_t step = step_found(dir);
    if (step < promise.floor || step > promise.ceiling) {
      return fmt::format("step {} found, not in [{}, {}]", step, promise.floor, promise.ceiling);
    }
    SaveFolder next_run(dir, 99);
    next_run.own(0ms);
    if (step_found(dir) != step) return fmt::format("step {} is lost by own()", step);
    const std::string newest = step < 0 ? "" : step_name(step);
    if (latest_name(dir) != newest) return "latest is another: " + latest_name(dir);
    for (const std::string& name : names_in(dir)) {
      const auto parsed = parse_save_name(name);
      const bool stays =
          !parsed || parsed->kind == SaveKind::complete || parsed->kind == SaveKind::set_aside;
      if (!stays) return name + " is left";
    }
    return "";
  } catch (const Error& error) {
    return error.for_people();
  }
}

struct Outcome {
  int states = 0, faults = 0;
  std::string first_fault{};
};

class Checker {
 public:
  explicit Checker(Ignored ignored = {}) : ignored_(std::move(ignored)) {}
  void check(const FileLog& log, std::size_t count, double share) {
    const std::string root = work_.fresh("state");
    crash_state(log, count, share, random_, ignored_).write_to(root);
    const std::string fault = fault_of(root + "/dir", promise_at(log, count));
    ++outcome_.states;
    if (fault.empty()) return;
    if (outcome_.faults++ == 0) {
      outcome_.first_fault = fmt::format("after {} of {} operations, share {}: {}", count,
                                         log.ops.size(), share, fault);
    }
  }
  /// Checks the states after every operation, with none, all and some of what no sync covers.
  void check_all(const FileLog& log, int rounds) {
    for (std::size_t count = 0; count <= log.ops.size(); ++count) {
      check(log, count, 0);
      check(log, count, 1);
      for (int i = 0; i < rounds; ++i) check(log, count, some());
    }
  }
  double some() { return std::uniform_real_distribution<double>(0.05, 0.95)(random_); }
  [[nodiscard]] std::string fresh(const char* name) const { return work_.fresh(name); }
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }
  [[nodiscard]] Random& random() { return random_; }

 private:
  Ignored ignored_;
  WorkFolder work_;
  Random random_{7};  // fixed seed: the same states each time
  Outcome outcome_;
};

}  // namespace ds::test
