// Reads the plan from the environment, writes the notes, sends the kills.
#include "e2e/checkpoint/fault_plan.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <cstdlib>

namespace ds::test {
namespace {

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

std::vector<FileFault> faults_of(const std::string& rank) {
  std::vector<FileFault> all = parse_file_faults(variable("DS_SAVE_FAULTS"));
  std::erase_if(all, [&](const FileFault& each) { return std::to_string(each.rank) != rank; });
  return all;
}

int open_log(const std::string& path) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path.c_str(),
                                    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
}

}  // namespace

FaultPlan& FaultPlan::here() {
  static FaultPlan* const one =
      new FaultPlan;  // never destroyed, because threads use it until the process ends
  return *one;
}

FaultPlan::FaultPlan()
    : rank_(variable("RANK")),
      dir_(variable("DS_SAVE_FAULTS_DIR")),
      faults_(faults_of(rank_)),
      calls_(faults_.size()),
      root_(std::atoi(variable("DS_SAVE_FAULTS_ROOT").c_str())) {
  if (!rank_.empty()) log_ = open_log(variable("DS_SAVE_FAULTS_LOG"));
  if (log_ >= 0) note("pid " + std::to_string(::getpid()));
}

const FileFault* FaultPlan::next(std::string_view call, const std::string& path) {
  const std::string_view kind = kind_of_file(path);
  const FileFault* met = nullptr;
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const FileFault& each = faults_[i];
    if ((each.call != "any" && each.call != call) || !means_file(each.file, kind)) continue;
    const int number = ++calls_[i];
    const bool is_due =
        number >= each.first && (each.count == 0 || number < each.first + each.count);
    if (is_due && met == nullptr) met = &each;
  }
  const std::string what = std::string(call) + " " + std::string(kind) + " " + path;
  // A disk-full fault is noted only when the space is used up.
  note(met == nullptr || met->what == "space" ? what : "! " + met->what + " " + what);
  return met;
}

void FaultPlan::note(const std::string& words) const {
  const std::string line = rank_ + " " + words + "\n";
  ::syscall(SYS_write, log_, line.data(), line.size());
}

void FaultPlan::kill(const FileFault& fault) const {
  if (fault.what == "kill-root") {
    if (root_ > 1) ::kill(root_, SIGKILL);
    return;
  }
  ::kill(fault.what == "kill-all" ? 0 : ::getpid(), SIGKILL);
  while (true) ::pause();
}

std::string path_of(int file) {
  char link[32], path[4096];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t size = ::readlink(link, path, sizeof path);
  return size > 0 ? std::string(path, static_cast<std::size_t>(size)) : std::string();
}

}  // namespace ds::test
