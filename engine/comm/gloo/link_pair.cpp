// LinkPair and LinkContext: Gloo pairs that adopt proven connections.
#include "engine/comm/gloo/link_pair.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>

#include <exception>
#include <utility>

#include "engine/base/error.h"
#include "engine/comm/gloo/quiet_thread.h"

namespace ds::comm {
namespace {

namespace tcp = ::gloo::transport::tcp;

class LinkPair final : public tcp::Pair {
 public:
  // Gloo's own timeout is off: it applies to blocking sockets, which these are not.
  LinkPair(tcp::Context* context, tcp::Device* device, int peer, const LinkEnded* ended,
           std::atomic<std::uint64_t>* traffic)
      : tcp::Pair(context, device, peer, ::gloo::kNoTimeout), ended_(ended), traffic_(traffic) {}

  // Closes here and not in the base class, so that Gloo's thread never meets a half-destroyed pair.
  ~LinkPair() override {
    const std::lock_guard lock(m_);
    if (state_ != CLOSED) tcp::Pair::changeState(CLOSED);
  }

  // Tells the peer that nothing follows after the data under way.
  void say_goodbye() {
    const std::lock_guard lock(m_);
    if (state_ == CONNECTED) ::shutdown(fd_, SHUT_WR);
  }

  // Returns false when another program on this machine connected to the pair's port first.
  bool adopt(UniqueFd& link) {
    const std::lock_guard lock(m_);
    if (state_ != LISTENING) return false;
    device_->unregisterDescriptor(fd_, this);
    ::close(fd_);
    fd_ = link.release();
    handleConnected();
    return true;
  }

 protected:
  // Gloo's failed checks throw here; uncaught, they would end the process.
  void handleReadWrite(int events) override {
    traffic_->fetch_add(1, std::memory_order_relaxed);
    try {
      tcp::Pair::handleReadWrite(events);
    } catch (const std::exception& error) {
      if (state_ != CLOSED) signalException(error.what());
    }
  }

  void changeState(state next) noexcept override {
    if (next == CLOSED && state_ == CONNECTED) (*ended_)(rank_);
    tcp::Pair::changeState(next);
  }

 private:
  const LinkEnded* ended_;
  std::atomic<std::uint64_t>* traffic_;
};

}  // namespace

LinkContext::LinkContext(std::shared_ptr<tcp::Device> device, int own_rank,
                         std::vector<UniqueFd> links, LinkEnded link_ended,
                         std::atomic<std::uint64_t>& traffic)
    : tcp::Context(std::move(device), own_rank, static_cast<int>(links.size())),
      link_ended_(std::move(link_ended)),
      traffic_(traffic) {
  constexpr int kTries = 100;
  for (int peer = 0; peer < size; ++peer) {
    if (peer == rank) continue;
    UniqueFd& link = links[static_cast<std::size_t>(peer)];
    int tries = 0;
    while (!static_cast<LinkPair&>(*createPair(peer)).adopt(link)) {
      if (++tries == kTries)
        throw Error(ErrorKind::comm,
                    "other programs on this machine keep connecting to Gloo's ports");
    }
  }
}

void LinkContext::say_goodbye() {
  for (const std::unique_ptr<::gloo::transport::Pair>& pair : pairs_) {
    if (pair) static_cast<LinkPair&>(*pair).say_goodbye();
  }
}

void LinkContext::close_all() {
  say_goodbye();
  for (const std::unique_ptr<::gloo::transport::Pair>& pair : pairs_) {
    if (pair) pair->close();
  }
}

std::unique_ptr<::gloo::transport::Pair>& LinkContext::createPair(int peer) {
  std::unique_ptr<::gloo::transport::Pair>& pair = pairs_[static_cast<std::size_t>(peer)];
  pair = std::make_unique<LinkPair>(this, device_.get(), peer, &link_ended_, &traffic_);
  return pair;
}

std::shared_ptr<tcp::Device> make_link_device() {
  // Gloo writes to sockets without MSG_NOSIGNAL: a peer that is gone would kill this process
  // silently.
  struct sigaction now {};
  ::sigaction(SIGPIPE, nullptr, &now);
  if (now.sa_handler == SIG_DFL) ::signal(SIGPIPE, SIG_IGN);
  const SignalsBlocked blocked;
  return std::dynamic_pointer_cast<tcp::Device>(tcp::CreateDevice(tcp::attr("127.0.0.1")));
}

}  // namespace ds::comm
