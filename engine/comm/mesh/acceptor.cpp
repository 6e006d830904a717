// Acceptor: the thread that accepts, reads, answers and hands over connections.
#include "engine/comm/mesh/acceptor.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/helper_thread.h"
#include "engine/comm/bytes.h"

namespace ds::comm {
namespace {

constexpr std::size_t kLength = 8;  // bytes of a text's length

std::string_view text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Acceptor::Acceptor(UniqueFd listener, Membership membership, Serve serve, AcceptorLimits limits)
    : membership_(std::move(membership)),
      serve_(std::move(serve)),
      limits_(limits),
      listener_(std::move(listener)),
      endpoint_(local_endpoint(listener_.get())),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_) throw_errno("eventfd", errno);
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

Acceptor::~Acceptor() {
  const std::uint64_t one = 1;
  DS_ASSERT(::write(stop_.get(), &one, sizeof one) == sizeof one);
  thread_.join();
}

bool Acceptor::wait_for_link(const std::string& name, Deadline deadline) {
  std::unique_lock lock(mutex_);
  return arrived_.wait_until(lock, deadline.at(), [&] { return links_.contains(name); });
}

UniqueFd Acceptor::take_link(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = links_.find(name);
  if (found == links_.end()) return {};
  UniqueFd fd = std::move(found->second);
  links_.erase(found);
  return fd;
}

void Acceptor::run() {
  ::pthread_setname_np(::pthread_self(), "ds-accept");
  while (true) {
    std::vector<pollfd> waits;
    waits.push_back({stop_.get(), POLLIN, 0});
    waits.push_back({accepting_ ? listener_.get() : -1, POLLIN, 0});
    for (const Guest& guest : guests_) {
      const int events = POLLIN | (guest.output.empty() ? 0 : POLLOUT);
      waits.push_back({guest.fd.get(), static_cast<short>(events), 0});
    }
    // Latecomers are looked for while anyone is unproven.
    const bool is_quiet = accepting_ && std::ranges::all_of(guests_, &Guest::proven);
    const int ready = ::poll(waits.data(), waits.size(), is_quiet ? -1 : 50);
    if (ready < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    accepting_ = true;
    std::size_t at = 2;
    for (Guest& guest : guests_) {
      const short events = waits[at++].revents;
      if ((events & POLLOUT) != 0) write_to(guest);
      if ((events & ~POLLOUT) != 0) read_from(guest);
    }
    if (waits[1].revents != 0) accept_all();
    drop_latecomers();
    std::erase_if(guests_, [](const Guest& guest) { return guest.is_over(); });
  }
}

void Acceptor::accept_all() {
  while (true) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      // The connection stays in the queue; polling again later avoids spinning.
      accepting_ = errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
      if (!accepting_ && !std::exchange(told_, true))
        fmt::print(stderr, "warning: a rank cannot connect: {}; raise ulimit -n or free memory\n",
                   std::generic_category().message(errno));
      return;
    }
    guests_.push_back({.fd = std::move(fd),
                       .handshake = Handshake(membership_, bool{serve_}, make_hello()),
                       .proven_by = Clock::now() + limits_.proof_time});
  }
}

void Acceptor::drop_latecomers() {
  const auto now = Clock::now();
  auto unproven = static_cast<std::size_t>(
      std::ranges::count_if(guests_, [](const Guest& guest) { return !guest.proven(); }));
  for (Guest& guest : guests_) {
    if (guest.proven()) continue;
    if (now < guest.proven_by && unproven <= limits_.unproven) continue;
    guest.fd.reset();
    --unproven;
  }
}

// Ended, handed over, or refused and told so.
bool Acceptor::Guest::is_over() const {
  return !fd || (output.empty() && handshake.stage() == Handshake::Stage::refused);
}

// Reads at most one message per round, so that one busy peer cannot starve the others, and never
// beyond it, so that a link's own bytes stay in its socket.
void Acceptor::read_from(Guest& guest) {
  std::array<std::byte, 16384> buffer;
  const std::size_t room = std::min(guest.wanted - guest.input.size(), buffer.size());
  if (room == 0 || !guest.fd) return;
  const ssize_t got = ::recv(guest.fd.get(), buffer.data(), room, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return guest.fd.reset();
  guest.input.insert(guest.input.end(), buffer.begin(), buffer.begin() + got);
  if (guest.input.size() == guest.wanted) take_message(guest);
  if (guest.fd) write_to(guest);
}

void Acceptor::take_message(Guest& guest) {
  if (guest.proven()) return answer(guest);
  const std::vector<std::byte> reply = guest.handshake.take(guest.input);
  guest.output.insert(guest.output.end(), reply.begin(), reply.end());
  guest.input.clear();
  guest.wanted = guest.proven() ? kLength : guest.handshake.wanted();
  if (guest.proven() && guest.handshake.purpose() != kForCoordinator) hand_over(guest);
}

// A request is its length, then its bytes.
void Acceptor::answer(Guest& guest) {
  ByteReader request(text_of(guest.input));
  if (guest.wanted == kLength) {
    const std::uint64_t bytes = request.number();
    if (bytes > kMostRequestBytes) return guest.fd.reset();
    guest.wanted += bytes;
    if (bytes > 0) return;
    request = ByteReader(text_of(guest.input));
  }
  const std::optional<std::string> reply = serve_(request.text());
  if (!reply) return guest.fd.reset();
  const std::string text = ByteWriter().put(*reply).take();
  const auto bytes = std::as_bytes(std::span(text));
  guest.output.insert(guest.output.end(), bytes.begin(), bytes.end());
  guest.input.clear();
  guest.wanted = kLength;
}

void Acceptor::write_to(Guest& guest) {
  std::vector<std::byte>& output = guest.output;
  while (guest.fd && !output.empty()) {
    const ssize_t sent =
        ::send(guest.fd.get(), output.data(), output.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) break;
    if (sent < 0) return guest.fd.reset();
    output.erase(output.begin(), output.begin() + sent);
  }
  if (output.size() > limits_.waiting_output) guest.fd.reset();
}

// The link must be in the table before its dialer is told, because the dialer relies on it from
// then on.
void Acceptor::hand_over(Guest& guest) {
  const std::lock_guard lock(mutex_);
  UniqueFd& link = links_[guest.handshake.purpose()];
  link = std::move(guest.fd);
  // If this send fails, the dialer notices, dials again, and replaces this link.
  [[maybe_unused]] const ssize_t sent =
      ::send(link.get(), guest.output.data(), guest.output.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  arrived_.notify_all();
}

}  // namespace ds::comm
