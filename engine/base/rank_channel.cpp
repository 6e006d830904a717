#include "engine/base/rank_channel.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "engine/base/contract.h"
#include "engine/base/error.h"
#include "engine/base/rank_message.h"
#include "engine/base/rank_socket.h"
#include "engine/base/whole_number.h"

namespace ds {
namespace {

/// A step is told at most this often; the last one is always told.
constexpr std::chrono::milliseconds kStepPeriod{200};
/// Waits for the answer of the agent are cut into these.
constexpr std::chrono::milliseconds kPollPeriod{100};
constexpr std::chrono::milliseconds kSendAgain{5};  // while a message finds no room
/// Messages that wait for the agent. Later ones that only tell something are dropped.
constexpr std::size_t kMaxWaiting = 256;

bool is_rank_channel(int fd) {
  int domain = 0, type = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return false;
  size = sizeof type;
  if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) return false;
  return domain == AF_UNIX && type == SOCK_SEQPACKET;
}

}  // namespace

struct RankChannel::State {
  struct Waiting {
    RankMessage message;
    UniqueFd fd;
  };
  /// Files that arrived for the question `id`.
  struct Answer {
    std::int64_t id = 0;
    std::vector<KeptFile> files;
    std::optional<std::int64_t> sent;  // number of files, when all have arrived
  };

  // The functions below are called with `mutex` locked.
  void add(RankMessage message, int fd = -1);
  void flush();
  void send_step(Clock::time_point now);
  void receive();
  void take(RankMessage& message, UniqueFd fd);
  void answered(const std::string& name, std::string why) {
    if (const auto file = handed_in.find(name); file != handed_in.end())
      file->second = std::move(why);
  }
  void end() {
    socket.reset();
    waiting.clear();
    step.reset();
  }
  void wait_while_asking(std::unique_lock<std::mutex>& lock, Deadline deadline) {
    // Short: another thread may find the agent's end and close the socket. POLLOUT does not tell
    // when descriptors in flight leave room for another one.
    const auto most = waiting.empty() ? kPollPeriod : kSendAgain;
    pollfd polled{socket.get(), POLLIN, 0};
    lock.unlock();
    ::poll(&polled, 1, static_cast<int>(std::min(deadline.remaining(), most).count()));
    lock.lock();
  }

  /// Receives and sends until `is_done`, or until the agent is gone. Returns false at the deadline.
  template <class Done>
  bool wait(std::unique_lock<std::mutex>& lock, Deadline deadline, const Done& is_done) {
    while (true) {
      flush();
      receive();
      if (!socket || is_done()) return true;
      if (deadline.passed()) return false;
      wait_while_asking(lock, deadline);
    }
  }

  std::mutex asking;  // held by await_held() and kept(), which alone read meanwhile
  std::mutex mutex;
  UniqueFd socket;
  std::deque<Waiting> waiting;
  std::optional<StepDone> step;  // not told yet
  std::string step_text;         // its message; steps must not allocate
  Clock::time_point step_at{};   // when one was told
  RankOrders orders;
  Answer answer;
  // Files that were handed in, and the agent's answer: why it has refused the file; "": it holds
  // it.
  std::map<std::string, std::optional<std::string>, std::less<>> handed_in;
};

void RankChannel::State::send_step(Clock::time_point now) {
  if (!step || !socket || !waiting.empty()) return;
  encode(*step, step_text);
  const Sent sent = send_datagram(socket.get(), step_text);
  if (sent == Sent::never) return end();
  if (sent == Sent::not_now) return;
  step.reset();
  step_at = now;
}

void RankChannel::State::flush() {
  while (socket && !waiting.empty()) {
    const Waiting& first = waiting.front();
    const Sent sent = send_datagram(socket.get(), encode(first.message), first.fd.get());
    if (sent == Sent::never) return end();
    if (sent == Sent::not_now) return;
    waiting.pop_front();
  }
}

void RankChannel::State::add(RankMessage message, int fd) {
  if (!socket) return;
  flush();
  // A step that was reached before must not be told after this.
  send_step(Clock::now());
  if (!socket) return;
  const Sent sent =
      waiting.empty() ? send_datagram(socket.get(), encode(message), fd) : Sent::not_now;
  if (sent == Sent::never) return end();
  if (sent == Sent::yes) return;
  if (waiting.size() >= kMaxWaiting) return;
  waiting.push_back({std::move(message), UniqueFd(fd < 0 ? -1 : ::fcntl(fd, F_DUPFD_CLOEXEC, 3))});
}

void RankChannel::State::receive() {
  while (socket) {
    Datagram datagram = receive_datagram(socket.get());
    if (datagram.ended) return end();
    if (datagram.kind == Datagram::Kind::none) return;
    if (auto message = parse_rank_message(datagram.text)) take(*message, std::move(datagram.fd));
  }
}

void RankChannel::State::take(RankMessage& message, UniqueFd fd) {
  if (std::holds_alternative<SaveOrder>(message)) ++orders.saves;
  if (std::holds_alternative<PauseOrder>(message)) orders.pause = true;
  if (const auto* held = std::get_if<FileHeld>(&message)) answered(held->name, {});
  if (const auto* refused = std::get_if<FileRefused>(&message))
    answered(refused->name, refused->why.empty() ? "it does not say why" : refused->why);
  if (auto* file = std::get_if<FileKept>(&message); file != nullptr && fd && file->id == answer.id)
    answer.files.push_back({std::move(file->name), file->bytes, std::move(fd)});
  if (const auto* last = std::get_if<KeptEnd>(&message); last != nullptr && last->id == answer.id)
    answer.sent = last->files;
}

std::unique_ptr<RankChannel> RankChannel::from_environment() {
  const char* const text = std::getenv(contract::kRankChannel);
  if (text == nullptr) return nullptr;
  const std::optional<int> fd = whole_number<int>(text);
  ::unsetenv(contract::kRankChannel);  // Programs that this one starts have no channel.
  if (!fd || *fd < 3 || !is_rank_channel(*fd)) return nullptr;
  ::fcntl(*fd, F_SETFD, FD_CLOEXEC);
  return std::make_unique<RankChannel>(UniqueFd(*fd));
}

RankChannel::RankChannel(UniqueFd socket) : state_(std::make_unique<State>()) {
  state_->socket = std::move(socket);
  state_->step_text.reserve(kMaxRankMessage);
}

RankChannel::~RankChannel() {
  const std::lock_guard lock(state_->mutex);
  state_->flush();
  state_->send_step(Clock::now());
}

void RankChannel::tell_step(std::int64_t step, std::int64_t steps, double seconds,
                            std::int64_t kept) {
  const std::lock_guard lock(state_->mutex);
  if (!state_->socket) return;
  state_->step = {.step = step,
                  .steps = steps,
                  .micros = std::llround(std::clamp(seconds, 0.0, 1e9) * 1e6),
                  .kept = kept};
  state_->flush();
  const Clock::time_point now = Clock::now();
  if (now - state_->step_at >= kStepPeriod) state_->send_step(now);
}

void RankChannel::tell_phase(std::string_view name) {
  DS_ASSERT(is_kept_name(name));
  const std::lock_guard lock(state_->mutex);
  state_->add(PhaseBegun{std::string(name)});
}

void RankChannel::tell_checkpoint(std::string_view line) {
  const std::lock_guard lock(state_->mutex);
  state_->add(CheckpointTold{std::string(line)});
}

void RankChannel::tell_facts(std::string_view line) {
  const std::lock_guard lock(state_->mutex);
  state_->add(FactsTold{std::string(line)});
}

void RankChannel::keep(const KeptFile& file) {
  DS_ASSERT(is_kept_name(file.name));
  const std::lock_guard lock(state_->mutex);
  state_->handed_in[file.name].reset();
  state_->add(KeepFile{file.bytes, file.name}, file.fd.get());
}

void RankChannel::await_held(std::string_view name, Deadline deadline) {
  const std::lock_guard asking(state_->asking);
  std::unique_lock lock(state_->mutex);
  const auto file = state_->handed_in.find(name);
  DS_ASSERT(file != state_->handed_in.end());
  const bool in_time = state_->wait(lock, deadline, [&] { return file->second.has_value(); });
  if (file->second == "") return;
  throw Error(ErrorKind::system, fmt::format("the agent of this node does not hold {}: {}", name,
                                             file->second ? *file->second
                                             : in_time    ? "it has ended"
                                                          : "it has not answered"));
}

void RankChannel::drop(std::string_view name) {
  DS_ASSERT(is_kept_name(name));
  const std::lock_guard lock(state_->mutex);
  if (const auto file = state_->handed_in.find(name); file != state_->handed_in.end())
    state_->handed_in.erase(file);
  state_->add(DropFile{std::string(name)});
}

void RankChannel::drop_earlier_epochs() {
  const std::lock_guard lock(state_->mutex);
  state_->add(DropEarlier{});
}

std::vector<KeptFile> RankChannel::kept(Deadline deadline) {
  const std::lock_guard asking(state_->asking);
  std::unique_lock lock(state_->mutex);
  State::Answer& answer = state_->answer;
  answer = {.id = answer.id + 1, .files = {}, .sent = {}};
  state_->add(AskKept{answer.id});
  if (!state_->wait(lock, deadline, [&] { return answer.sent.has_value(); }))
    throw Error(ErrorKind::system, "the agent of this node has not sent the files that it keeps");
  if (!state_->socket) return {};
  if (*answer.sent != static_cast<std::int64_t>(answer.files.size()))
    throw Error(ErrorKind::system,
                fmt::format("the agent of this node keeps {} files, but {} could be opened",
                            *answer.sent, answer.files.size()),
                "see `ulimit -n`");
  return std::exchange(answer.files, {});
}

RankOrders RankChannel::take_orders() {
  std::unique_lock reading(state_->asking, std::try_to_lock);
  const std::lock_guard lock(state_->mutex);
  state_->flush();
  if (Clock::now() - state_->step_at >= kStepPeriod) state_->send_step(Clock::now());
  if (reading) state_->receive();
  return std::exchange(state_->orders, {});
}

}  // namespace ds
