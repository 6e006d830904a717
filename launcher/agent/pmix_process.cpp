#include "launcher/agent/pmix_process.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/library/open_library.h"
#include "launcher/mpi/pmix_plugin.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{64} << 10;
/// Ranks that have not called MPI_Init are reported this long after another one has.
constexpr std::chrono::seconds kReportAfter{1};

constexpr const char* kVariable = "DSLAUNCH_PMIX_LIBRARY";

/// Returns the PMIx library that the variable names, in the job's variables or the agent's; empty:
/// none.
std::string chosen_library(const Spec& spec) {
  const char* const of_node = std::getenv(kVariable);
  std::string path = of_node == nullptr ? "" : of_node;
  for (const auto& [name, value] : spec.env)
    if (name == kVariable) path = value;
  return path;
}

/// Opens that library. The plugin then uses it instead of the system's, because both have one
/// SONAME.
void open_chosen_library(const Spec& spec) {
  const std::string path = chosen_library(spec);
  if (path.empty() || ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
  const char* const why = ::dlerror();
  throw Error(ErrorKind::config, fmt::format("the PMIx library of {} cannot be opened: {}",
                                             kVariable, why == nullptr ? path : why));
}

const PmixPlugin& open_plugin() {
  const OpenedLibrary library = open_library(
      {.name = "the PMIx plugin (libdslaunch_pmix.so)",
       .files = {"libdslaunch_pmix.so"},
       .variable = "DSLAUNCH_PMIX_PLUGIN",
       .entry = "dslaunch_pmix",
       .hint = "install dslaunch with its libraries on this node, and libpmix2 (Debian, Ubuntu) or "
               "pmix (Red Hat)"});
  const PmixPlugin* const plugin = reinterpret_cast<PmixEntry>(library.entry)();
  if (plugin->wire_version != kWireVersion)
    throw Error(ErrorKind::config, library.path + " is of another version of dslaunch",
                "install both together");
  return *plugin;
}

/// Runs in the new process. Only the socket and standard error stay open.
[[noreturn]] void become_server(int fd, const std::string& folder, pid_t agent, const Spec& spec) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  // Otherwise the agent died before prctl(). 0: it is outside of the PID namespace.
  if (const pid_t now = ::getppid(); now != agent && now != 0) ::_exit(1);
  ::prctl(PR_SET_NAME, "dslaunch-pmix", 0, 0, 0);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, 0);
  ::dup2(null, 1);
  ::dup2(fd, 3);
  ::syscall(SYS_close_range, 4U, ~0U, 0U);
  ::fcntl(3, F_SETFD, FD_CLOEXEC);
  int code = 1;
  try {
    open_chosen_library(spec);
    code = open_plugin().serve(3, folder.c_str());
  } catch (const std::exception& error) {
    std::string text = error.what();
    if (const auto* const own = dynamic_cast<const Error*>(&error); own && !own->hint().empty())
      text += fmt::format(" ({})", own->hint());
    std::ranges::replace(text, '\n', ' ');
    const Bytes frame = encode({}, Problem{std::move(text)});
    (void)!::write(3, frame.data(), frame.size());
  }
  ::_exit(code);  // Threads of the library may still run, so nothing is destroyed.
}

}  // namespace

void PmixProcess::start(const Spec& spec, const std::string& folder, Clock::time_point now) {
  *this = PmixProcess();
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw_errno("cannot make a socket for the PMIx server (see ulimit -n)", errno);
  fd_.reset(ends[0]);
  const UniqueFd theirs(ends[1]);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    throw_errno("cannot make the folder of the PMIx server: " + folder, errno);
  const pid_t agent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) throw_errno("cannot start the PMIx server", errno);
  if (pid == 0) become_server(theirs.get(), folder, agent, spec);
  pid_ = pid;
  alone_ = spec.mpi.size == 1;
  tells_init_ = spec.mpi.wire == MpiWire::any;
  is_wanted_ = !tells_init_ || !chosen_library(spec).empty();
  ::fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
  for (const RankSpec& rank : spec.ranks) ranks_[rank.rank];
  due_ = now + kStartLimit;
  send(spec);
}

void PmixProcess::finish(Clock::time_point now) {
  if (pid_ == 0 || std::exchange(finishing_, true)) return;
  ::shutdown(fd_.get(), SHUT_WR);
  report_at_ = Clock::time_point::max();
  due_ = now + kFinishLimit;
}

void PmixProcess::add_polls(std::vector<pollfd>& polled) {
  polled_ = static_cast<bool>(fd_);
  if (!polled_) return;
  poll_index_ = polled.size();
  polled.push_back({fd_.get(), static_cast<short>(unsent_.empty() ? POLLIN : POLLIN | POLLOUT), 0});
}

void PmixProcess::turn(const std::vector<pollfd>& polled, Clock::time_point now) {
  if (pid_ == 0) return;
  read_and_write(polled);
  look_at_deadlines(now);
}

void PmixProcess::read_and_write(const std::vector<pollfd>& polled) {
  if (!std::exchange(polled_, false)) return;
  const short ready = polled[poll_index_].revents;
  if ((ready & POLLOUT) != 0) write_some();
  if ((ready & (POLLIN | POLLHUP | POLLERR)) != 0) read_some();
}

void PmixProcess::look_at_deadlines(Clock::time_point now) {
  if (now >= due_) {
    due_ = Clock::time_point::max();
    ::kill(pid_, SIGKILL);
    fail(
        fmt::format("the PMIx server of the ranks did not start within {} s", kStartLimit.count()));
    finishing_ = true;  // Its end is no further problem.
  }
  if (is_ready_ && !finishing_) report_missing(now);
}

void PmixProcess::read_some() {
  std::array<std::byte, kReadAtOnce> bytes;
  while (fd_) {
    const ssize_t count = ::read(fd_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return fd_.reset();  // The end of the process is the event.
    decoder_.feed(std::span(bytes).first(static_cast<std::size_t>(count)));
    while (auto frame = decoder_.next()) take(std::move(frame->message));
    if (decoder_.error()) fail("invalid data from the PMIx server: " + *decoder_.error());
  }
}

void PmixProcess::take(Message&& message) {
  if (auto* ready = std::get_if<PmixReady>(&message)) {
    is_ready_ = true;
    due_ = Clock::time_point::max();
    ready_ = std::move(ready->ranks);
  } else if (const auto* step = std::get_if<PmixRank>(&message)) {
    const auto rank = ranks_.find(step->rank);
    if (rank == ranks_.end()) return;
    rank->second = step->step;
    if (tells_init_ && step->step == PmixRank::Step::connected)
      messages_.emplace_back(MpiInit{step->rank, MpiWire::pmix});
  } else if (auto* line = std::get_if<PmixLine>(&message)) {
    for (const std::string_view each : split(line->text, '\n'))
      if (!each.empty()) lines_.push_back(fmt::format("rank {}: {}", line->rank, each));
  } else if (auto* problem = std::get_if<Problem>(&message)) {
    fail(std::move(problem->text));
  } else {
    messages_.push_back(std::move(message));
  }
}

/// Tells the root which ranks others may wait for in MPI_Init, again when they have changed, and at
/// last that all have come.
void PmixProcess::report_missing(Clock::time_point now) {
  std::vector<std::int32_t> missing;
  for (const auto& [rank, step] : ranks_)
    if (!step) missing.push_back(rank);
  if (missing.size() == ranks_.size() || missing == told_missing_) {
    report_at_ = Clock::time_point::max();
    return;
  }
  if (report_at_ == Clock::time_point::max()) report_at_ = now + kReportAfter;
  if (!missing.empty() && now < report_at_) return;
  report_at_ = Clock::time_point::max();
  told_missing_ = missing;
  messages_.emplace_back(FenceWaits{std::move(missing)});
}

void PmixProcess::ended_well(std::int32_t rank, Clock::time_point now) {
  if (!fd_ || alone_) return;
  read_some();  // The server has told of MPI_Finalize before the rank went on.
  const auto found = ranks_.find(rank);
  if (found == ranks_.end()) return;
  if (found->second != PmixRank::Step::connected)
    return send(PmixRank{.rank = rank, .step = PmixRank::Step::ended});
  messages_.emplace_back(MpiFailed{.rank = rank,
                                   .code = 1,
                                   .text = "exited after MPI_Init without MPI_Finalize",
                                   .time = clock_value(now)});
}

void PmixProcess::send(const Message& message) {
  if (!fd_) return;
  unsent_.add(encode({}, message));
  write_some();
}

void PmixProcess::write_some() {
  while (fd_ && !unsent_.empty()) {
    const std::span<const std::byte> next = unsent_.front();
    const ssize_t count = ::send(fd_.get(), next.data(), next.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // Full, or the server has ended, which is noticed by reading.
    unsent_.sent(static_cast<std::size_t>(count));
  }
}

bool PmixProcess::reaped(pid_t pid, int wait_status) {
  if (pid != pid_ || pid_ == 0) return false;
  if (fd_) read_some();  // What it wrote before may say why.
  pid_ = 0;
  fd_.reset();
  due_ = report_at_ = Clock::time_point::max();
  fail(WIFSIGNALED(wait_status)
           ? fmt::format("the PMIx server of the ranks was killed by signal {} ({})",
                         WTERMSIG(wait_status), ::strsignal(WTERMSIG(wait_status)))
           : fmt::format("the PMIx server of the ranks exited with {}", WEXITSTATUS(wait_status)));
  return true;
}

}  // namespace ds::launcher
