// Locks with flock, which NFS also carries over the network. The file's text is for messages.
#include "engine/checkpoint/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "engine/checkpoint/folder_files.h"
#include "engine/checkpoint/save_names.h"

namespace ds {
namespace {

constexpr std::chrono::milliseconds kPause{50};
constexpr std::size_t kShown = 500;
constexpr std::string_view kJobMark = "job ", kEpochMark = "epoch ";

std::string holder_text(const LockHolder& own) {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return fmt::format("process {} on {}\n{}{}\n{}{}\n", ::getpid(), host.data(), kJobMark,
                     printable_text(own.job), kEpochMark, own.epoch);
}

std::string text_of(int file) {
  std::string text(kShown, '\0');
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

/// Returns what the holder wrote into the file, if readable.
std::string holder_of(int file) {
  const std::string text = text_of(file);
  const std::string holder = printable_text(text.substr(0, text.find('\n')));
  return holder.empty() ? "another process" : holder;
}

void write_holder(int file, const LockHolder& own) {
  const std::string text = holder_text(own);
  const bool written = ::ftruncate(file, 0) == 0 && ::pwrite(file, text.data(), text.size(), 0) > 0;
  (void)written;  // on a full disk the lock still holds, without its text
}

enum class Got : std::uint8_t { lock, yields, no_locks };

/// Locks the file by flock's `operation`. Calls `on_wait` once if another process holds it. Errors:
/// Error{config} after the deadline.
template <class OnWait>
Got lock_file(int file, int operation, const std::string& dir, const LockHolder& own,
              Deadline deadline, OnWait on_wait) {
  for (bool has_waited = false; ::flock(file, operation | LOCK_NB) != 0;) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return Got::no_locks;
    if (yields_to(text_of(file), own)) return Got::yields;
    if (!has_waited) on_wait();
    has_waited = true;
    if (deadline.passed()) {
      throw Error(
          ErrorKind::config,
          fmt::format("checkpoint.dir {}: another job saves there: {}", dir, holder_of(file)),
          "give each job its own folder, or stop that job");
    }
    std::this_thread::sleep_for(std::min(kPause, deadline.remaining()));
  }
  return Got::lock;
}

UniqueFd open_lock(const std::string& path, const std::string& dir) {
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) throw folder_error(dir, errno);
  return file;
}

/// Returns whether the path still names this file.
bool is_named(int file, const std::string& path) {
  struct stat own {}, there {};
  return ::fstat(file, &own) == 0 && ::stat(path.c_str(), &there) == 0 &&
         own.st_ino == there.st_ino && own.st_dev == there.st_dev;
}

/// Puts a new file, locked, in the place of one whose lock yields.
UniqueFd replace_lock(const std::string& path, const std::string& dir, const LockHolder& own) {
  const std::string fresh = fmt::format("{}-{}-{}", path, own.epoch, ::getpid());
  UniqueFd file = open_lock(fresh, dir);
  const bool has_locks = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
  write_holder(file.get(), own);
  if (::rename(fresh.c_str(), path.c_str()) != 0) throw folder_error(dir, errno);
  return has_locks ? std::move(file) : UniqueFd();
}

}  // namespace

bool yields_to(std::string_view text, const LockHolder& own) {
  const auto value_of = [&](std::string_view mark) {
    const std::size_t line = text.find(fmt::format("\n{}", mark));
    if (line == std::string_view::npos) return std::string_view();
    const std::string_view rest = text.substr(line + 1 + mark.size());
    return rest.substr(0, rest.find('\n'));
  };
  const std::string_view job = value_of(kJobMark), digits = value_of(kEpochMark);
  std::uint64_t epoch = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), epoch);
  return !job.empty() && job == printable_text(own.job) && error == std::errc() &&
         end == digits.data() + digits.size() && epoch < own.epoch;
}

UniqueFd lock_folder(const std::string& dir, const LockHolder& own, Deadline deadline) {
  const std::string path = fmt::format("{}/{}", dir, kLockName);
  for (;;) {
    UniqueFd file = open_lock(path, dir);
    const Got got = lock_file(file.get(), LOCK_EX, dir, own, deadline, [] {});
    if (got == Got::no_locks) return {};
    if (got == Got::yields) return replace_lock(path, dir, own);
    if (!is_named(file.get(), path)) continue;  // a later epoch has replaced it
    write_holder(file.get(), own);
    return file;
  }
}

void await_folder(const std::string& dir, const LockHolder& own, Deadline deadline,
                  const std::function<void(const std::string& holder)>& on_wait) {
  const std::string path = fmt::format("{}/{}", dir, kLockName);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return;
  // Shared, so that the ranks of one job do not wait for each other.
  (void)lock_file(file.get(), LOCK_SH, dir, own, deadline,
                  [&] { on_wait(holder_of(file.get())); });
}

}  // namespace ds
