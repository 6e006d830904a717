#include "launcher/agent/rank_process.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "engine/base/error.h"
#include "launcher/agent/login.h"

namespace ds::launcher {
namespace {

RankPipe make_control() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    throw_errno("cannot make a socket for a shim", errno);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

pid_t fork_shim(const ShimSetup& setup) {
  const pid_t pid = ::fork();
  if (pid < 0) throw_errno("cannot start a process for a rank", errno, "see `ulimit -u`");
  if (pid == 0) {
    int code = 1;
    try {
      code = run_shim(setup);
    } catch (...) {  // The agent sees that the shim ended without a report.
    }
    ::_exit(code);
  }
  return pid;
}

}  // namespace

RankProcess::RankProcess(const Spec& spec, const RankSpec& rank, const EnvList& node_env,
                         const RankSetting& setting, const RankBinding& binding)
    : rank_(rank.rank),
      program_(spec.programs.at(static_cast<std::size_t>(rank.program))),
      cgroup_(setting.cgroups.make(setting.cookie, setting.epoch, rank.rank)) {
  RankPipe out = spec.output.pty ? make_output_terminal(spec.output.rows, spec.output.columns)
                                 : make_output_pipe();
  RankPipe err = make_output_pipe();
  RankPipe in = rank.has_stdin ? make_input_pipe() : RankPipe{};
  RankPipe control = make_control();
  const EnvList inherited = spec.inherit_env ? environment_of_this_process() : EnvList{};
  const EnvList env = merge_env({&inherited, &spec.env, &program_.env, &node_env, &rank.env});
  const bool as_sshd = program_.login_shell && program_.at_home && program_.cwd.empty();
  resolve_login(program_, env);
  ShimSetup setup{.rank = rank.rank,
                  .spawn = {.argv = program_.argv,
                            .env = env,
                            .cwd = program_.cwd,
                            .cwd_or_root = as_sshd,
                            .umask = spec.umask,
                            .limits = limits_to_set(spec.limits)},
                  .control_fd = control.theirs.get(),
                  .agent = setting.agent,
                  .guard = setting.guard,
                  .leave = spec.leave};
  setup.spawn.stdin_fd = in.theirs.get();
  setup.spawn.cgroup_fd = cgroup_.folder();
  setup.spawn.on_terminal = spec.output.pty;
  setup.spawn.processors = affinity_mask(binding.processors);
  if (binding.prefers_memory) setup.spawn.memory = affinity_mask({binding.numa});
  setup.spawn.stdout_fd = out.theirs.get();
  setup.spawn.stderr_fd = err.theirs.get();
  shim_ = fork_shim(setup);
  watch_ = StopWatch(ProcessRef::of(shim_));
  control_ = std::move(control.ours);
  streams_[0].fd = std::move(out.ours);
  streams_[1].fd = std::move(err.ours);
  if (rank.has_stdin) input_ = RankInput(std::move(in.ours));
  if (spec.output.pty) terminal_ = std::move(out.theirs);
}

void RankProcess::resize(std::uint16_t rows, std::uint16_t columns) {
  if (terminal_ && streams_[0].fd) resize_terminal(streams_[0].fd.get(), rows, columns);
}

std::optional<ShimReport> RankProcess::next_report() {
  ShimReport report;
  const ssize_t got = ::recv(control_.get(), &report, sizeof report, MSG_DONTWAIT);
  if (got == 0) control_.reset();
  if (got != static_cast<ssize_t>(sizeof report)) return std::nullopt;
  ended_ = ended_ || report.kind != ShimReport::Kind::started;
  return report;
}

void RankProcess::order(const ShimOrder& order) {
  if (control_) (void)!::send(control_.get(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void RankProcess::read_stream(std::size_t index, Clock::time_point now, const OnOutput& on_output) {
  Stream& stream = streams_[index];
  const auto number = static_cast<std::uint8_t>(index + 1);
  const std::span<std::byte> space = stream.batcher.space();
  const ssize_t got = ::read(stream.fd.get(), space.data(), space.size());
  const bool nothing_now = got < 0 && (errno == EAGAIN || errno == EINTR);
  if (got > 0) stream.batcher.added(static_cast<std::size_t>(got), now);
  while (const auto batch = stream.batcher.take(now)) on_output(number, *batch, false);
  // When the shim has ended, no process of the job writes any more, even if another holds the pipe.
  if (got > 0 || (nothing_now && shim_ != 0)) return;
  const auto rest = stream.batcher.take_rest();
  on_output(number, rest.value_or(LineBatch{}), true);
  stream.fd.reset();
}

void RankProcess::pass_partial(std::size_t index, Clock::time_point now,
                               const OnOutput& on_output) {
  LineBatcher& batcher = streams_[index].batcher;
  const auto due = batcher.wake_at();
  if (!due || *due > now) return;
  while (const auto batch = batcher.take(now))
    on_output(static_cast<std::uint8_t>(index + 1), *batch, false);
}

}  // namespace ds::launcher
