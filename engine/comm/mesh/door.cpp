// Door: the thread that accepts, reads, answers and hands over connections.
#include "engine/comm/mesh/door.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "engine/base/error.h"
#include "engine/comm/mesh/quiet_thread.h"

namespace ds::comm {

Door::Door(UniqueFd listener, Household household, Limits limits)
    : household_(std::move(household)),
      limits_(limits),
      listener_(std::move(listener)),
      endpoint_(local_endpoint(listener_.get())),
      stop_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!stop_) throw_errno("eventfd", errno);
  const SignalsBlocked blocked;
  thread_ = std::thread([this] { run(); });
}

Door::~Door() {
  const std::uint64_t one = 1;
  DS_ASSERT(::write(stop_.get(), &one, sizeof one) == sizeof one);
  thread_.join();
}

bool Door::wait_for_link(const std::string& name, Deadline deadline) {
  std::unique_lock lock(mutex_);
  return arrived_.wait_until(lock, deadline.at(), [&] { return links_.contains(name); });
}

UniqueFd Door::take_link(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = links_.find(name);
  if (found == links_.end()) return {};
  UniqueFd fd = std::move(found->second);
  links_.erase(found);
  return fd;
}

void Door::run() {
  ::pthread_setname_np(::pthread_self(), "ds-door");
  while (true) {
    std::vector<pollfd> waits;
    waits.push_back({stop_.get(), POLLIN, 0});
    waits.push_back({accepting_ ? listener_.get() : -1, POLLIN, 0});
    for (auto& [id, guest] : guests_) {
      const short writes = guest.visitor.output().empty() ? short{0} : short{POLLOUT};
      waits.push_back({guest.fd.get(), static_cast<short>(POLLIN | writes), 0});
    }
    const int ready = ::poll(waits.data(), waits.size(), poll_time());
    if (ready < 0 && errno != EINTR) return;
    if (waits[0].revents != 0) return;
    accepting_ = true;
    std::size_t at = 2;
    for (auto& [id, guest] : guests_) {
      const short events = waits[at++].revents;
      if ((events & POLLOUT) != 0) write_to(guest);
      if ((events & ~POLLOUT) != 0) read_from(id, guest);
    }
    if (waits[1].revents != 0) accept_all();
    drop_latecomers();
    clear_away();
  }
}

int Door::poll_time() const {
  if (!accepting_) return 50;
  auto next = Clock::time_point::max();
  for (const auto& [id, guest] : guests_) {
    if (!guest.visitor.proven()) next = std::min(next, guest.proven_by);
  }
  if (next == Clock::time_point::max()) return -1;
  return static_cast<int>(Deadline(next).remaining().count());
}

void Door::accept_all() {
  while (true) {
    UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) {
      // No descriptors are left. The connection stays in the queue; polling again later avoids
      // spinning.
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        accepting_ = false;
      if (errno == EINTR || errno == ECONNABORTED) continue;
      return;
    }
    guests_.emplace(next_id_++, Guest{std::move(fd), Visitor(household_, make_hello()),
                                      Clock::now() + limits_.proof_time});
  }
}

void Door::drop_latecomers() {
  const auto now = Clock::now();
  std::size_t unproven = 0;
  for (auto& [id, guest] : guests_) unproven += guest.visitor.proven() ? 0 : 1;
  for (auto& [id, guest] : guests_) {
    if (guest.visitor.proven()) continue;
    if (now < guest.proven_by && unproven <= limits_.unproven) continue;
    guest.fd.reset();
    --unproven;
  }
}

// Reads at most one message per round, so that one busy visitor cannot starve the others.
void Door::read_from(std::uint64_t id, Guest& guest) {
  std::array<std::byte, 16384> buffer;
  const std::size_t wanted = std::min(guest.visitor.wanted(), buffer.size());
  if (wanted == 0 || !guest.fd) return;
  const ssize_t got = ::recv(guest.fd.get(), buffer.data(), wanted, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return guest.fd.reset();
  guest.visitor.feed({buffer.data(), static_cast<std::size_t>(got)});
  if (guest.visitor.stage() == Visitor::Stage::link) return hand_over(guest);
  ask_store(id, guest);
  write_to(guest);
}

void Door::ask_store(std::uint64_t id, Guest& guest) {
  for (const Frame& question : guest.visitor.take_questions()) {
    const auto due = store_.on(id, question);
    if (!due) return guest.fd.reset();
    for (const StoreTable::Outgoing& outgoing : *due) {
      const auto to = guests_.find(outgoing.to);
      if (to == guests_.end() || !to->second.fd) continue;
      to->second.visitor.answer(outgoing.frame);
      write_to(to->second);
    }
  }
}

void Door::write_to(Guest& guest) {
  std::vector<std::byte>& output = guest.visitor.output();
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

// The link must be in the table before its dialer gets the welcome, because the dialer relies on it
// from then on.
void Door::hand_over(Guest& guest) {
  const std::lock_guard lock(mutex_);
  UniqueFd& link = links_[guest.visitor.link()];
  link = std::move(guest.fd);
  const std::vector<std::byte>& welcome = guest.visitor.output();
  // If this send fails, the dialer notices, dials again, and replaces this link.
  [[maybe_unused]] const ssize_t sent =
      ::send(link.get(), welcome.data(), welcome.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  arrived_.notify_all();
}

// Removes connections that ended or were handed over.
void Door::clear_away() {
  for (auto entry = guests_.begin(); entry != guests_.end();) {
    Guest& guest = entry->second;
    const bool written = guest.visitor.output().empty();
    if (guest.fd && !(written && guest.visitor.stage() == Visitor::Stage::over)) {
      ++entry;
      continue;
    }
    store_.forget(entry->first);
    entry = guests_.erase(entry);
  }
}

}  // namespace ds::comm
