// RunFolder: mkdir decides who owns a name, because it fails when the folder exists.
#include "engine/monitor/run_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "engine/config/print.h"
#include "engine/monitor/run_start.h"
#include "engine/monitor/sample_ledger.h"
#include "engine/monitor/trace_file.h"

namespace ds {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxTries = 10000;
constexpr std::array<std::string_view, 7> kOurFiles{
    "config.toml", "run.json", "metrics.jsonl", "metrics.csv", "summary.json", "sample.txt", kTraceName};

[[noreturn]] void cannot_make(const std::string& path, const std::string& why) {
  throw Error(ErrorKind::config, fmt::format("run folder {} cannot be created: {}", path, why),
              "set log.dir to a writable folder");
}

void make_parents(const std::string& path) {
  std::error_code status;
  fs::create_directories(path, status);
  if (status) cannot_make(path, status.message());
}

std::string time_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> text;
  text[std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &local)] = '\0';
  return text.data();
}

/// Creates the first of PREFIX1, PREFIX2, ... that does not exist, and returns its path.
std::string make_numbered(const std::string& prefix) {
  for (int number = 1; number <= kMaxTries; ++number) {
    std::string path = fmt::format("{}{}", prefix, number);
    if (::mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST) cannot_make(path, std::strerror(errno));
  }
  cannot_make(prefix, fmt::format("all {} numbers are taken", kMaxTries));
}

/// Returns the names of files that this program wrote for an earlier run.
std::vector<std::string> our_files(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code status;
  for (const auto& entry : fs::directory_iterator(folder, status)) {
    const std::string name = entry.path().filename();
    if (std::ranges::find(kOurFiles, name) != kOurFiles.end() || is_ledger_name(name))
      names.push_back(name);
  }
  return names;
}

/// Returns whether run.json in `folder` is of this job.
bool is_of_job(const fs::path& folder, const std::string& job) {
  std::ifstream file(folder / "run.json");
  return file && job_of_run({std::istreambuf_iterator<char>(file), {}}) == job;
}

/// Returns the folder of the run's earlier epochs; empty if there is none here.
std::string folder_of_job(const LogConfig& log, const std::string& name, const RunId& run) {
  if (run.epoch == 0 || run.job.empty()) return {};
  if (!log.dir.empty()) return is_of_job(log.dir, run.job) ? log.dir : std::string();
  std::error_code status;
  for (const auto& entry : fs::directory_iterator(fs::absolute("runs", status), status)) {
    if (entry.path().filename().string().starts_with(name + "-") &&
        is_of_job(entry.path(), run.job))
      return entry.path();
  }
  return {};
}

void write_and_sync(const std::string& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) throw_errno(path, errno, "check that the run folder is writable");
  while (!text.empty()) {
    const ssize_t sent = ::write(file.get(), text.data(), text.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) throw_errno(path, errno, "check the free space on the disk");
    text.remove_prefix(static_cast<std::size_t>(sent));
  }
  if (::fsync(file.get()) != 0) throw_errno(path, errno, "check the free space on the disk");
}

}  // namespace

std::string set_aside(const std::string& folder, const std::vector<std::string>& names) {
  std::string moved;
  for (const std::string& name : names) {
    std::error_code status;
    if (!fs::exists(fs::path(folder) / name, status)) continue;
    if (moved.empty()) moved = make_numbered(folder + "/previous-");
    fs::rename(fs::path(folder) / name, fs::path(moved) / name, status);
    if (status) cannot_make(moved, status.message());
  }
  return moved;
}

RunFolder RunFolder::create(TrainConfig config, const std::string& name, const RunId& run) {
  std::string note;
  const std::string known = folder_of_job(config.log, name, run);
  if (!known.empty()) {
    config.log.dir = known;
  } else if (config.log.dir.empty()) {
    const fs::path runs = fs::absolute("runs");
    make_parents(runs);
    config.log.dir = make_numbered(runs / fmt::format("{}-{}-", name, time_stamp()));
  } else {
    make_parents(config.log.dir);
    const std::string moved = set_aside(config.log.dir, our_files(config.log.dir));
    if (!moved.empty()) note = fmt::format("moved the files of an earlier run to {}", moved);
  }
  RunFolder folder(config.log.dir, std::move(note), !known.empty());
  try {
    folder.write("config.toml", to_toml(config));
  } catch (const Error& error) {
    cannot_make(folder.path(), error.what());
  }
  return folder;
}

std::string RunFolder::file(std::string_view name) const {
  return fmt::format("{}/{}", path_, name);
}

void RunFolder::write(std::string_view name, std::string_view text) const {
  const std::string final_path = file(name);
  const std::string partial = final_path + ".partial";
  write_and_sync(partial, text);
  if (::rename(partial.c_str(), final_path.c_str()) != 0) throw_errno(final_path, errno);
  const UniqueFd folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder)
    // Syncs the name itself; some file systems refuse, which is harmless.
    (void)::fsync(folder.get());
}

}  // namespace ds
