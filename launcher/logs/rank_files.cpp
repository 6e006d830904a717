// One thread and one queue for all files; few of them are open at a time.
#include "launcher/logs/rank_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>

#include "engine/base/deadline.h"
#include "engine/base/error.h"
#include "engine/base/helper_thread.h"
#include "engine/base/unique_fd.h"
#include "launcher/logs/line_relay.h"
#include "launcher/logs/output_queue.h"

namespace ds::launcher {
namespace {

// Queued pieces of the same file are joined up to this size.
constexpr std::size_t kJoin = std::size_t{64} << 10;

std::size_t open_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 16;
  return std::clamp<std::size_t>(limit.rlim_cur / 4, 16, 1024);
}

}  // namespace

struct RankFiles::Shared : WriterQueue {
  std::vector<std::string> paths;  // by file, which is the target
  int flags = 0;                   // of the first open
  std::size_t count = 0;           // of paths that are not empty
  // With `mutex` held.
  std::vector<bool> made;     // by file; all of them, unless one could not be
  std::vector<bool> lacking;  // by file: output that could not be written
  std::string reason;         // why, of the first
  std::optional<std::string> problem;

  // Used by the thread only.
  std::map<std::size_t, UniqueFd> open;
  std::size_t most_open = open_limit();
  std::optional<Clock::time_point> broken_since;
  std::uint64_t missing = 0;  // bytes, since then

  void begin();
  int open_file(std::size_t file);
  void write(const Piece& piece);
  void failed(std::size_t file, int error, std::size_t bytes);
  void lacks(std::size_t file, const std::string& why);
  void lack_queued(const std::string& why);
  [[nodiscard]] std::size_t count_incomplete() const;
  void say(std::string text) {
    const std::lock_guard lock(mutex);
    problem = std::move(text);
    if (!abandoned) on_change();
  }
};

/// Files of an earlier job must not look like files of this one, even where a rank writes nothing.
void RankFiles::Shared::begin() {
  for (std::size_t file = 0; file < paths.size(); ++file) {
    if (paths[file].empty()) continue;
    const int error = open_file(file);
    if (error != 0) return failed(file, error, 0);
  }
}

int RankFiles::Shared::open_file(std::size_t file) {
  if (open.size() >= most_open) open.clear();
  const std::string& path = paths[file];
  const int first = made[file] ? 0 : flags;
  const int all = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | first;
  int fd = ::open(path.c_str(), all, 0666);
  if (fd < 0 && errno == ENOENT) {
    std::error_code error;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
    if (error) return error.value();
    fd = ::open(path.c_str(), all, 0666);
  }
  if (fd < 0) return errno;
  open[file].reset(fd);
  const std::lock_guard lock(mutex);
  made[file] = true;
  return 0;
}

/// With `mutex` held.
void RankFiles::Shared::lacks(std::size_t file, const std::string& why) {
  lacking[file] = true;
  if (reason.empty()) reason = why;
}

/// With `mutex` held. Files that were not made count once making files has failed.
std::size_t RankFiles::Shared::count_incomplete() const {
  std::size_t files = 0;
  for (std::size_t file = 0; file < paths.size(); ++file)
    if (lacking[file] || (!reason.empty() && !made[file] && !paths[file].empty())) ++files;
  return files;
}

/// With `mutex` held.
void RankFiles::Shared::lack_queued(const std::string& why) {
  if (writing) lacks(*writing, why);
  for (const Piece& piece : pieces) lacks(piece.target, why);
}

void RankFiles::Shared::failed(std::size_t file, int error, std::size_t bytes) {
  open.clear();
  missing += bytes;
  const bool is_news = !broken_since;
  broken_since = Clock::now();
  const std::string why = std::generic_category().message(error);
  std::size_t so_far = 0;
  {
    const std::lock_guard lock(mutex);
    if (reason.empty()) reason = why;
    if (bytes > 0) lacks(file, why);
    lack_queued(why);  // what is queued is dropped until kRetryAfter has passed
    so_far = count_incomplete();
  }
  if (is_news)
    say(
        fmt::format("cannot write {}: {}; {} of {} log files {} incomplete so far, and the job "
                    "continues",
                    paths[file], why, so_far, count, so_far == 1 ? "is" : "are"));
}

void RankFiles::Shared::write(const Piece& piece) {
  const std::string_view text = piece.bytes.view();
  if (broken_since && Clock::now() < *broken_since + kRetryAfter) {
    missing += text.size();
    const std::lock_guard lock(mutex);
    return lacks(piece.target, {});
  }
  int error = open.contains(piece.target) ? 0 : open_file(piece.target);
  if (error == 0) error = write_all(open[piece.target].get(), text);
  if (error != 0) return failed(piece.target, error, text.size());
  if (!broken_since) return;
  broken_since.reset();
  say(fmt::format("log files in {} can be written again; {} bytes are missing",
                  std::filesystem::path(paths[piece.target]).parent_path().string(),
                  std::exchange(missing, 0)));
}

RankFiles::RankFiles(std::vector<std::string> paths, Begin begin, std::function<void()> on_change)
    : shared_(std::make_shared<Shared>()), open_(paths.size()) {
  shared_->count = static_cast<std::size_t>(
      std::ranges::count_if(paths, [](const std::string& path) { return !path.empty(); }));
  shared_->lacking.resize(paths.size());
  shared_->made.resize(paths.size());
  shared_->paths = std::move(paths);
  shared_->flags = begin == Begin::empty ? O_TRUNC : 0;
  shared_->on_change = std::move(on_change);
  shared_->queued = 1;  // the files are being made
  start_helper_thread([shared = shared_] {
    shared->begin();
    if (shared->queued.fetch_sub(1) == 1) shared->changed();
    shared->run([&](const WriterQueue::Piece& piece) { shared->write(piece); });
  });
}

RankFiles::~RankFiles() { shared_->abandon(); }

bool RankFiles::has(std::size_t file) const { return !shared_->paths[file].empty(); }

void RankFiles::add(std::size_t file, int stream, std::string_view text, std::string_view prefix) {
  DS_ASSERT(file < open_.size());
  if (text.empty()) return;
  OutputBuffer bytes;
  const bool other_open = open_[file] != 0 && open_[file] != stream;
  if (other_open) bytes.append("\n");
  if (prefix.empty()) {
    bytes.append(text);
  } else {
    copy_prefixed(text, prefix, other_open || open_[file] == 0, bytes);
  }
  open_[file] = static_cast<signed char>(text.back() == '\n' ? 0 : stream);
  const std::lock_guard lock(shared_->mutex);
  shared_->push(file, bytes, kJoin);
}

std::size_t RankFiles::queued() const { return shared_->queued; }

std::optional<std::string> RankFiles::problem() {
  const std::lock_guard lock(shared_->mutex);
  return std::exchange(shared_->problem, std::nullopt);
}

void RankFiles::give_up(const std::string& reason) {
  const std::lock_guard lock(shared_->mutex);
  shared_->lack_queued(reason);
}

IncompleteFiles RankFiles::incomplete() const {
  const std::lock_guard lock(shared_->mutex);
  return {shared_->count_incomplete(), shared_->count, shared_->reason};
}

std::string incomplete_text(const IncompleteFiles& incomplete) {
  if (incomplete.files == 0) return {};
  return fmt::format("{} of {} log files {} incomplete: {}", incomplete.files, incomplete.of,
                     incomplete.files == 1 ? "is" : "are", incomplete.reason);
}

}  // namespace ds::launcher
