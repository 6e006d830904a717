#include "launcher/agent/rank_set.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "engine/base/error.h"
#include "launcher/agent/link.h"
#include "launcher/agent/pmi_server.h"

namespace ds::launcher {
namespace {

/// Makes a pipe whose end number `ours` is non-blocking.
RankPipe make_pipe(const char* what, std::size_t ours) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    throw_errno(fmt::format("cannot make a pipe for a rank's {} (see ulimit -n)", what), errno);
  ::fcntl(ends[ours], F_SETFL, O_NONBLOCK);
  return {UniqueFd(ends[ours]), UniqueFd(ends[1 - ours])};
}

RankPipe make_output_pipe() {
  RankPipe pipe = make_pipe("output", 0);
  ::fcntl(pipe.theirs.get(), F_SETPIPE_SZ, 1 << 20);  // May be refused; the default works too.
  return pipe;
}

void resize_terminal(int fd, std::uint16_t rows, std::uint16_t columns) {
  const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ::ioctl(fd, TIOCSWINSZ, &size);
}

/// Makes a terminal in raw mode, which does not change what the rank writes.
RankPipe make_output_terminal(std::uint16_t rows, std::uint16_t columns) {
  RankPipe pipe;
  char name[128] = {};
  termios settings{};
  const auto make = [&] {
    pipe.ours.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
    if (!pipe.ours || ::grantpt(pipe.ours.get()) != 0 || ::unlockpt(pipe.ours.get()) != 0 ||
        ::ptsname_r(pipe.ours.get(), name, sizeof name) != 0)
      return false;
    pipe.theirs.reset(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!pipe.theirs || ::tcgetattr(pipe.theirs.get(), &settings) != 0) return false;
    ::cfmakeraw(&settings);
    return ::tcsetattr(pipe.theirs.get(), TCSANOW, &settings) == 0;
  };
  if (!make()) throw_errno("cannot make a terminal for a rank's output (--pty)", errno);
  resize_terminal(pipe.ours.get(), rows, columns);
  return pipe;
}

}  // namespace

RankPipe make_input_pipe() { return make_pipe("input", 1); }

void RankInput::add(std::span<const std::byte> bytes, bool last) {
  if (!fd_) {
    taken_ += bytes.size();
    return;
  }
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

RankProcess::RankProcess(const Spec& spec, const RankSpec& of, const EnvList& node_env,
                         const RankSetting& setting, const RankBinding& binding)
    : rank(of.rank),
      program(spec.programs.at(static_cast<std::size_t>(of.program))),
      cgroup(setting.cgroups.make(setting.cookie, setting.epoch, of.rank)) {
  RankPipe out = spec.output.pty ? make_output_terminal(spec.output.rows, spec.output.columns)
                                 : make_output_pipe();
  RankPipe err = make_output_pipe();
  RankPipe in = of.has_stdin ? make_input_pipe() : RankPipe{};
  ChannelPair ends = make_channel_pair();
  PmiPair pmi_pair = spec.mpi.has_pmi() ? make_pmi_pair() : PmiPair{};
  ChannelPair channel_pair = program.rank_channel ? make_channel_pair() : ChannelPair{};
  const EnvList inherited = spec.inherit_env ? environment_of_this_process() : EnvList{};
  const EnvList env = merge_env({&inherited, &spec.env, &program.env, &node_env, &of.env});
  const bool as_sshd = program.at_home && program.cwd.empty();
  resolve_login(program, env);
  ShimSetup setup{.rank = rank,
                  .spawn = {.argv = program.argv,
                            .short_name = program.login_shell,
                            .env = env,
                            .cwd = program.cwd,
                            .cwd_or_root = as_sshd,
                            .umask = spec.umask,
                            .limits = limits_to_set(spec.limits),
                            .stdin_fd = in.theirs.get(),
                            .stdout_fd = out.theirs.get(),
                            .stderr_fd = err.theirs.get(),
                            .pmi_fd = pmi_pair.theirs.get(),
                            .channel_fd = channel_pair.theirs.get(),
                            .cgroup_fd = cgroup.folder(),
                            .on_terminal = spec.output.pty,
                            .suspended = setting.suspended,
                            .processors = affinity_mask(binding.processors)},
                  .control_fd = ends.theirs.get(),
                  .agent = setting.agent,
                  .guard = setting.guard,
                  .leave = spec.leave};
  if (binding.prefers_memory) setup.spawn.memory = affinity_mask({binding.numa});
  shim = fork_link([&] { return run_shim(setup); });
  if (shim < 0) throw_errno("cannot start a process for a rank", errno, "see `ulimit -u`");
  watch = StopWatch(ProcessRef::of(shim));
  control = std::move(ends.ours);
  streams[0].fd = std::move(out.ours);
  streams[1].fd = std::move(err.ours);
  if (of.has_stdin) input = RankInput(std::move(in.ours));
  if (spec.output.pty) terminal = std::move(out.theirs);
  pmi = std::move(pmi_pair.ours);
  channel = std::move(channel_pair.ours);
}

std::optional<ShimReport> RankProcess::next_report() {
  if (!control) return std::nullopt;
  ShimReport report;
  const ssize_t got = ::recv(control.get(), &report, sizeof report, MSG_DONTWAIT);
  if (got == 0) control.reset();
  if (got != static_cast<ssize_t>(sizeof report)) return std::nullopt;
  ended = ended || report.kind != ShimReport::Kind::started;
  return report;
}

void RankProcess::order(const ShimOrder& order) const {
  if (control) (void)!::send(control.get(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void RankProcess::shim_ended() {
  shim = 0;
  cgroup.remove();
  input.close();
  terminal.reset();
}

void RankProcess::read_stream(std::size_t index, bool ready, Clock::time_point now,
                              OnOutput on_output) {
  Stream& stream = streams[index];
  const auto pass = [&](const LineBatch& batch, std::uint8_t last) {
    on_output({.rank = rank,
               .stream = static_cast<std::uint8_t>(index + 1),
               .flags = static_cast<std::uint8_t>(batch.flags | last),
               .time = clock_value(now),
               .bytes = batch.bytes});
  };
  bool open = true;
  if (ready) {
    const std::span<std::byte> space = stream.batcher.space();
    const ssize_t got = ::read(stream.fd.get(), space.data(), space.size());
    const bool nothing_now = got < 0 && (errno == EAGAIN || errno == EINTR);
    if (got > 0) stream.batcher.added(static_cast<std::size_t>(got), now);
    // When the shim has ended, no process of the job writes any more, even if another holds the
    // pipe.
    open = got > 0 || (nothing_now && shim != 0);
  }
  while (const auto batch = stream.batcher.take(now)) pass(*batch, 0);
  if (open) return;
  pass(stream.batcher.take_rest().value_or(LineBatch{}), Output::kLast);
  stream.fd.reset();
}

void RankSet::start(const Spec& spec, const EnvList& node_env, const RankSetting& setting,
                    const std::vector<RankBinding>& bindings) {
  for (std::size_t i = 0; i < spec.ranks.size(); ++i)
    ranks_.push_back(
        std::make_unique<RankProcess>(spec, spec.ranks[i], node_env, setting, bindings.at(i)));
}

std::vector<UniqueFd> RankSet::take_pmi_ends() {
  std::vector<UniqueFd> ends;
  for (const auto& rank : ranks_) ends.push_back(std::move(rank->pmi));
  return ends;
}

std::vector<RankChannels::End> RankSet::take_channel_ends() {
  std::vector<RankChannels::End> ends;
  for (const auto& rank : ranks_)
    if (rank->channel) ends.push_back({rank->rank, std::move(rank->channel)});
  return ends;
}

void RankSet::order(const ShimOrder& order, int only) {
  for (const auto& rank : ranks_)
    if (only == -1 || rank->rank == only) rank->order(order);
}

bool RankSet::done(bool with_output) const {
  return std::ranges::all_of(ranks_, [&](const auto& rank) {
    const bool is_read = !rank->streams[0].fd && !rank->streams[1].fd;
    return rank->shim == 0 && (is_read || !with_output);
  });
}

void RankSet::kill_strays() const {
  for (const pid_t child : own_children())
    if (std::ranges::none_of(ranks_, [&](const auto& rank) { return rank->shim == child; }))
      ::kill(child, SIGKILL);
}

void RankSet::add_input(const Stdin& input) {
  for (const auto& rank : ranks_)
    if (rank->input.exists() && (input.rank == -1 || input.rank == rank->rank))
      rank->input.add(input.bytes, input.last);
}

std::uint64_t RankSet::feed_inputs() {
  std::optional<std::uint64_t> least;
  for (const auto& rank : ranks_) {
    if (!rank->input.exists()) continue;
    rank->input.write_some();
    least = std::min(least.value_or(UINT64_MAX), rank->input.taken());
  }
  return least ? *least - std::exchange(input_told_, *least) : 0;
}

void RankSet::resize(const Window& window) {
  for (const auto& rank : ranks_)
    if (rank->terminal && rank->streams[0].fd)
      resize_terminal(rank->streams[0].fd.get(), window.rows, window.columns);
}

void RankSet::add_polls(std::vector<pollfd>& polled, bool read_output, Clock::time_point& until) {
  first_poll_ = polled.size();
  ranks_polled_ = ranks_.size();
  for (const auto& rank : ranks_) {
    polled.push_back({rank->control.get(), POLLIN, 0});
    for (const auto& stream : rank->streams) {
      polled.push_back({read_output ? stream.fd.get() : -1, POLLIN, 0});
      const auto due = stream.batcher.wake_at();
      if (read_output && due) until = std::min(until, *due);
    }
    polled.push_back({rank->input.waits_for(), POLLOUT, 0});
  }
}

void RankSet::read_streams(const std::vector<pollfd>& polled, Clock::time_point now,
                           FunctionRef<bool()> may_read, OnOutput on_output) {
  if (!may_read()) {
    blocked_ = true;
    return;
  }
  if (std::exchange(blocked_, false)) {
    for (const auto& rank : ranks_)
      for (auto& stream : rank->streams) stream.batcher.read_on(now);
  }
  for (std::size_t n = 0; n < ranks_.size(); ++n) {
    const std::size_t r = (turn_of_ + n) % ranks_.size();
    RankProcess& rank = *ranks_[r];
    for (std::size_t i = 0; i < 2; ++i) {
      if (!rank.streams[i].fd) continue;
      if (!may_read()) {
        blocked_ = true;
        turn_of_ = r;
        return;
      }
      const bool ready = r < ranks_polled_ && polled[first_poll_ + 4 * r + 1 + i].revents != 0;
      // No event announces the rest of a rank whose shim has ended.
      rank.read_stream(i, ready || rank.shim == 0, now, on_output);
    }
  }
}

}  // namespace ds::launcher
