#include "launcher/agent/pmi_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

/// One read, many times a request.
constexpr std::size_t kPmiRead = std::size_t{16} << 10;
/// A rank with more unread replies is not read from.
constexpr std::size_t kMaxUnsent = std::size_t{64} << 10;
/// Reads of what a rank left behind: more than a socket holds (net.core.wmem_default: 208 KiB).
constexpr int kLastReads = 32;

}  // namespace

PmiPair make_pmi_pair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw_errno("cannot make a socket for a rank's MPI library (see ulimit -n)", errno);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

PmiServer::PmiServer(const Spec& spec, const std::string& space, std::vector<UniqueFd> ends)
    : node_(PmiNode(spec, space)) {
  for (UniqueFd& fd : ends) ends_.push_back({.fd = std::move(fd)});
}

void PmiServer::add_polls(std::vector<pollfd>& polled) {
  first_poll_ = polled.size();
  polled_ = true;
  for (const End& end : ends_) {
    const short wanted = end.unsent.size() > kMaxUnsent ? 0 : POLLIN;
    const short more = end.unsent.empty() ? 0 : POLLOUT;
    polled.push_back({end.fd.get(), static_cast<short>(wanted | more), 0});
  }
}

void PmiServer::turn(const std::vector<pollfd>& polled, Clock::time_point now) {
  if (!node_ || !std::exchange(polled_, false)) return;
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    const short ready = polled[first_poll_ + i].revents;
    if (!ends_[i].fd || ready == 0) continue;
    if ((ready & POLLOUT) != 0) write_some(ends_[i]);
    if (ends_[i].fd && ends_[i].unsent.size() <= kMaxUnsent) read_some(i, now);
    pass_answers();
  }
  if (now >= node_->wake_at()) node_->tick(now);
}

/// Returns false if nothing is there, now or for good.
bool PmiServer::read_some(std::size_t index, Clock::time_point now) {
  std::array<char, kPmiRead> bytes;
  const ssize_t got = ::read(ends_[index].fd.get(), bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return errno == EINTR;
  if (got > 0) {
    node_->take(index, {bytes.data(), static_cast<std::size_t>(got)}, now);
    return true;
  }
  ends_[index].fd.reset();
  node_->closed(index, now);
  return false;
}

/// A process closes its descriptors before its end is known, so the end of the connection is seen
/// here, unless a background process holds it open.
void PmiServer::ended(std::int32_t rank, int wait_status, Clock::time_point now) {
  const std::optional<std::size_t> index = node_ ? node_->index_of(rank) : std::nullopt;
  if (!index) return;
  for (int i = 0; i < kLastReads && ends_[*index].fd; ++i) {
    if (!read_some(*index, now)) break;
    pass_answers();
  }
  node_->ended(*index, wait_status, now);
}

void PmiServer::take(FenceOut&& message) {
  if (!node_) return;
  node_->take(std::move(message));
  pass_answers();
}

void PmiServer::take(const NameAnswer& message) {
  if (!node_) return;
  node_->take(message);
  pass_answers();
}

void PmiServer::pass_answers() {
  const std::vector<PmiNode::Answer> answers = node_->take_answers();
  for (const PmiNode::Answer& answer : answers) {
    End& end = ends_[answer.index];
    if (!end.fd) continue;
    end.unsent += answer.text;
    end.closing = end.closing || answer.close;
  }
  for (const PmiNode::Answer& answer : answers) write_some(ends_[answer.index]);
}

void PmiServer::write_some(End& end) {
  while (end.fd && !end.unsent.empty()) {
    const ssize_t wrote =
        ::send(end.fd.get(), end.unsent.data(), end.unsent.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && errno == EAGAIN) return;
    if (wrote < 0) return end.unsent.clear();  // A read finds the end, after what was sent before.
    end.unsent.erase(0, static_cast<std::size_t>(wrote));
  }
  if (end.closing) end.fd.reset();
}

}  // namespace ds::launcher
