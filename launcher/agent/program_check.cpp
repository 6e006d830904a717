#include "launcher/agent/program_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace ds::launcher {
namespace {

Exited failed_start(const SpawnSetup& setup, Exited::Stage stage, int error_number) {
  return {.wait_status = -1,
          .stage = stage,
          .spawn_errno = error_number,
          .detail = stage == Exited::Stage::chdir ? setup.cwd : setup.argv[0]};
}

SpawnSetup setup_of(const Spec& spec) {
  const RankSpec& rank = spec.ranks.front();
  const ProgramSpec& program = spec.programs[static_cast<std::size_t>(rank.program)];
  const EnvList inherited = spec.inherit_env ? environment_of_this_process() : EnvList{};
  return {.argv = program.argv,
          .env = merge_env({&inherited, &spec.env, &program.env, &rank.env}),
          .cwd = program.cwd,
          .umask = spec.umask};
}

}  // namespace

Exited look_for_program(const SpawnSetup& setup) {
  const std::string folder = setup.cwd.empty() ? "." : setup.cwd;
  const UniqueFd cwd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!cwd || ::faccessat(cwd.get(), ".", X_OK, AT_EACCESS) != 0)
    return failed_start(setup, Exited::Stage::chdir, errno);
  int best = ENOENT;
  for (const std::string& file : exec_candidates(setup.argv[0], setup.env)) {
    struct stat info {};
    if (::fstatat(cwd.get(), file.c_str(), &info, 0) != 0) {
      if (errno != ENOENT && errno != ENOTDIR) best = errno;
    } else if (S_ISDIR(info.st_mode)) {
      best = EISDIR;
    } else if (::faccessat(cwd.get(), file.c_str(), X_OK, AT_EACCESS) != 0) {
      best = errno;
    } else {
      return {};
    }
  }
  return failed_start(setup, Exited::Stage::exec, best);
}

void ProgramCheck::start(const Check& check, Clock::time_point now) {
  stop();
  SpawnSetup setup = setup_of(check.spec);
  if (!check.runs) {
    result_ = Checked{.end = look_for_program(setup)};
    return;
  }
  std::array<UniqueFd, 2> theirs;
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) {
      result_ = Checked{.end = failed_start(setup, Exited::Stage::fork, errno)};
      return;
    }
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    streams_[i] = {UniqueFd(ends[0]), {}};
    theirs[i].reset(ends[1]);
  }
  setup.stdout_fd = theirs[0].get();
  setup.stderr_fd = theirs[1].get();
  const SpawnResult started = spawn_rank(setup);
  if (started.stage != Exited::Stage::none) {
    result_ = Checked{.end = failed_start(setup, started.stage, started.error_number)};
    return;
  }
  pid_ = started.pid;
  limit_ = std::chrono::milliseconds(check.limit_ms);
  kill_at_ = now + limit_;
  late_ = false;
}

void ProgramCheck::stop() {
  if (pid_ != 0) ::kill(-pid_, SIGKILL);  // it leads its process group
  pid_ = 0;
  kill_at_ = Clock::time_point::max();
  streams_ = {};
  result_.reset();
}

void ProgramCheck::add_polls(std::vector<pollfd>& polled) {
  polled_ = pid_ != 0;
  if (!polled_) return;
  first_poll_ = polled.size();
  for (const Stream& stream : streams_) polled.push_back({stream.fd.get(), POLLIN, 0});
}

void ProgramCheck::turn(const std::vector<pollfd>& polled, Clock::time_point now) {
  const bool reads = std::exchange(polled_, false);
  if (pid_ == 0) return;
  for (std::size_t i = 0; reads && i < streams_.size(); ++i)
    if (polled[first_poll_ + i].revents != 0) read_some(streams_[i]);
  if (now < kill_at_) return;
  late_ = true;
  kill_at_ = Clock::time_point::max();
  ::kill(-pid_, SIGKILL);
}

/// Reads what is there. What exceeds kMaxCheckBytes is dropped.
void ProgramCheck::read_some(Stream& stream) {
  std::array<char, 4096> buffer;
  while (stream.fd) {
    const ssize_t got = ::read(stream.fd.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) return stream.fd.reset();
    const std::size_t room = kMaxCheckBytes - stream.text.size();
    stream.text.append(buffer.data(), std::min(room, static_cast<std::size_t>(got)));
  }
}

bool ProgramCheck::reaped(pid_t pid, int wait_status) {
  if (pid_ == 0 || pid != pid_) return false;
  for (Stream& stream : streams_) read_some(stream);
  result_ = Checked{.end = {.wait_status = wait_status},
                    .output = std::move(streams_[0].text),
                    .errors = std::move(streams_[1].text)};
  if (late_) result_->end.detail = fmt::format("not done within {} s", limit_.count() / 1000);
  pid_ = 0;
  kill_at_ = Clock::time_point::max();
  streams_ = {};
  return true;
}

}  // namespace ds::launcher
