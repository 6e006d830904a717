// Locks with flock, which NFS also carries over the network. The file's text is for messages.
#include "engine/checkpoint/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>

#include "engine/base/error.h"
#include "engine/base/text_error.h"
#include "engine/checkpoint/folder_files.h"
#include "engine/checkpoint/save_names.h"

namespace ds {
namespace {

constexpr std::chrono::milliseconds kPause{50};
constexpr std::size_t kShown = 200;

std::string holder_text() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return fmt::format("process {} on {}\n", ::getpid(), host.data());
}

/// Returns what the holder wrote into the file, if readable.
std::string holder_of(int file) {
  std::array<char, kShown> text{};
  const ssize_t got = ::pread(file, text.data(), text.size(), 0);
  const std::string_view line(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::string holder = printable_text(line.substr(0, line.find('\n')));
  return holder.empty() ? "another process" : holder;
}

void write_holder(int file) {
  const std::string text = holder_text();
  const bool written = ::ftruncate(file, 0) == 0 && ::pwrite(file, text.data(), text.size(), 0) > 0;
  (void)written;  // on a full disk the lock still holds, without its text
}

/// Locks the file by flock's `operation`. Calls `on_wait` once if another process holds it. Returns
/// whether the file system has locks. Errors: Error{config} after the deadline.
template <class OnWait>
bool lock_file(int file, int operation, const std::string& dir, Deadline deadline, OnWait on_wait) {
  for (bool has_waited = false; ::flock(file, operation | LOCK_NB) != 0;) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return false;
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
  return true;
}

}  // namespace

UniqueFd lock_folder(const std::string& dir, Deadline deadline) {
  const std::string path = fmt::format("{}/{}", dir, kLockName);
  UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) throw folder_error(dir, errno);
  if (!lock_file(file.get(), LOCK_EX, dir, deadline, [] {})) return {};
  write_holder(file.get());
  return file;
}

void await_folder(const std::string& dir, Deadline deadline,
                  const std::function<void(const std::string& holder)>& on_wait) {
  const std::string path = fmt::format("{}/{}", dir, kLockName);
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return;
  // Shared, so that the ranks of one job do not wait for each other.
  (void)lock_file(file.get(), LOCK_SH, dir, deadline, [&] { on_wait(holder_of(file.get())); });
}

}  // namespace ds
