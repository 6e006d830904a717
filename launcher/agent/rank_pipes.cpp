#include "launcher/agent/rank_pipes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

constexpr int kPipeBytes = 1 << 20;

}  // namespace

RankPipe make_output_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw_errno("cannot make a pipe for a rank's output (see ulimit -n)", errno);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  ::fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);  // May be refused; the default works too.
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

RankPipe make_input_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw_errno("cannot make a pipe for a rank's input (see ulimit -n)", errno);
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
  return {UniqueFd(ends[1]), UniqueFd(ends[0])};
}

RankPipe make_output_terminal(std::uint16_t rows, std::uint16_t columns) {
  constexpr const char* kWhat = "cannot make a terminal for a rank's output (--pty)";
  RankPipe pipe;
  pipe.ours.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!pipe.ours || ::grantpt(pipe.ours.get()) != 0 || ::unlockpt(pipe.ours.get()) != 0)
    throw_errno(kWhat, errno);
  char name[128] = {};
  if (::ptsname_r(pipe.ours.get(), name, sizeof name) != 0) throw_errno(kWhat, errno);
  pipe.theirs.reset(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios settings{};
  if (!pipe.theirs || ::tcgetattr(pipe.theirs.get(), &settings) != 0) throw_errno(kWhat, errno);
  ::cfmakeraw(&settings);
  if (::tcsetattr(pipe.theirs.get(), TCSANOW, &settings) != 0) throw_errno(kWhat, errno);
  resize_terminal(pipe.ours.get(), rows, columns);
  return pipe;
}

void resize_terminal(int fd, std::uint16_t rows, std::uint16_t columns) {
  const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ::ioctl(fd, TIOCSWINSZ, &size);
}

void RankInput::add(std::span<const std::byte> bytes, bool last) {
  if (!fd_) {
    taken_ += bytes.size();
    return;
  }
  if (begin_ > 0)
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin_));
  begin_ = 0;
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  last_ = last_ || last;
  write_some();
}

void RankInput::write_some() {
  while (fd_ && waiting() > 0) {
    const ssize_t wrote = ::write(fd_.get(), bytes_.data() + begin_, waiting());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN) return;
    if (wrote < 0) return close();
    begin_ += static_cast<std::size_t>(wrote);
    taken_ += static_cast<std::uint64_t>(wrote);
  }
  if (last_) close();
}

void RankInput::close() {
  taken_ += waiting();
  bytes_ = {};
  begin_ = 0;
  fd_.reset();
}

}  // namespace ds::launcher
