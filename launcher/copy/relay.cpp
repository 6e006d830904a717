#include "launcher/copy/relay.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "launcher/copy/copy_frames.h"
#include "launcher/copy/tls_socket.h"

namespace ds::launcher::copy {
namespace {

using namespace std::chrono_literals;
using Stage = CopyTarget::Progress::Stage;

/// Connections at once, more than nodes that --tree allows: a stranger must not use them all up.
constexpr int kMostChildren = 80;
/// How long a parent may send nothing while its child waits for bytes.
constexpr auto kSilence = 60s;
constexpr auto kLook = 200ms;
constexpr int kMostTries = 3;  // of opening a file that is being received

/// Starts a thread that ends with the process. An exception there ends the process as one on the
/// main thread does: the root may be gone, and then the node cannot answer.
/// Errors:  std::system_error if no thread can be started.
template <class Body>
void start_thread(Body body) {
  std::thread([body = std::move(body)]() mutable {
    try {
      body();
    } catch (const std::exception& problem) {
      const std::string line = fmt::format("{}\n", problem.what());
      (void)!::write(STDERR_FILENO, line.data(), line.size());
      ::_exit(1);
    }
  }).detach();
}

/// Sends files to one child, in the order of its requests.
class ChildSender {
 public:
  ChildSender(UniqueFd socket, const JoinKey& key, RelayFiles& files)
      : socket_(std::move(socket), TlsSession::Side::root, key), files_(files) {}

  void run() {
    if (!socket_.shake_hands().empty()) return;
    while (take_requests() && serve()) {
    }
  }

 private:
  bool take_requests() {
    Bytes plain;
    if (!socket_.receive(plain, fetches_.empty() ? 1000ms : 0ms).empty()) return false;
    decoder_.feed(plain);
    while (const auto message = decoder_.next()) {
      const auto* fetch = std::get_if<CopyFetch>(&*message);
      if (fetch == nullptr) return false;
      fetches_.push_back(*fetch);
    }
    return !decoder_.error();
  }
  bool send(const CopyMessage& message) {
    message_.clear();
    encode(message_, message);
    return socket_.send(message_).empty();
  }
  /// Sends the next bytes of the first file, as far as they have arrived here, or its end.
  bool serve() {
    if (fetches_.empty()) return true;
    CopyFetch& fetch = fetches_.front();
    const auto known = files_.wait(fetch.id, fetch.from, kLook);
    if (!known || known->stage == Stage::waiting) return true;
    if (known->stage == Stage::failed) {
      (void)send(CopyOrphan{"it failed there: " + known->problem});
      return false;
    }
    if (!file_) file_ = files_.open(known->path, known->stage == Stage::receiving);
    // The file may have got its final name since wait(): then the next look says so.
    if (!file_) return known->stage == Stage::receiving && ++failed_opens_ < kMostTries;
    failed_opens_ = 0;
    if (fetch.from < known->bytes) return send_bytes(fetch, known->bytes);
    if (known->stage == Stage::receiving) return true;
    const Digest digest = known->digest == Digest{} ? files_.digest(*known) : known->digest;
    const bool sent = send(CopyEnd{fetch.id, digest, {}});
    file_.reset();
    fetches_.pop_front();
    return sent;
  }
  bool send_bytes(CopyFetch& fetch, std::uint64_t end) {
    const std::size_t wanted = std::min<std::uint64_t>(kPieceBytes, end - fetch.from);
    const ssize_t got = ::pread(file_.get(), piece_.data(), wanted, static_cast<off_t>(fetch.from));
    if (got <= 0) return got < 0 && errno == EINTR;
    const auto count = static_cast<std::size_t>(got);
    const std::uint64_t offset = std::exchange(fetch.from, fetch.from + count);
    return send(CopyData{fetch.id, offset, std::span(piece_).first(count)});
  }

  TlsSocket socket_;
  RelayFiles& files_;
  CopyDecoder decoder_;
  std::deque<CopyFetch> fetches_;
  UniqueFd file_;
  int failed_opens_ = 0;
  Bytes piece_ = Bytes(kPieceBytes);
  Bytes message_;
};

}  // namespace

std::uint16_t serve_children(const std::string& address, const JoinKey& key, RelayFiles& files) {
  std::uint16_t port = 0;
  UniqueFd listener = listen_at(address, port);
  if (!listener) return 0;
  start_thread([listener = std::move(listener), key, &files] {
    static std::atomic<int> children{0};
    while (true) {
      UniqueFd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) {
        if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(kLook);
        continue;
      }
      if (children >= kMostChildren) continue;
      ++children;
      try {
        start_thread([socket = std::move(socket), key, &files]() mutable {
          ChildSender(std::move(socket), key, files).run();
          --children;
        });
      } catch (const std::system_error&) {
        --children;  // the connection is closed, and the child gets its files from the root
      }
    }
  });
  return port;
}

struct ParentLink::Shared {
  std::mutex lock;
  Bytes out;
  UniqueFd wake{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Events events;

  Bytes take_out() {
    const std::lock_guard guard(lock);
    std::uint64_t count = 0;
    (void)!::read(wake.get(), &count, sizeof count);
    return std::exchange(out, {});
  }
  /// Runs until the connection breaks; returns why.
  std::string run(const std::string& address, std::uint16_t port, const JoinKey& key) {
    std::string problem;
    UniqueFd connected = connect_to(address, port, problem);
    if (!connected) return problem;
    TlsSocket socket(std::move(connected), TlsSession::Side::joiner, key);
    problem = socket.shake_hands();
    CopyDecoder decoder;
    Clock::time_point heard = Clock::now();
    int waiting = 0;  // files that were asked for and have not ended
    Bytes plain;
    while (problem.empty()) {
      plain.clear();
      problem = socket.receive(plain, 1000ms, wake.get());
      if (!plain.empty()) heard = Clock::now();
      decoder.feed(plain);
      while (const auto message = decoder.next()) {
        if (const auto* orphan = std::get_if<CopyOrphan>(&*message)) return orphan->problem;
        if (std::holds_alternative<CopyEnd>(*message)) --waiting;
        events.on_message(*message);
      }
      if (!plain.empty()) events.on_idle();
      if (decoder.error()) return *decoder.error();
      const Bytes asked = take_out();
      if (!asked.empty() && problem.empty()) problem = socket.send(asked);
      if (!asked.empty() && waiting == 0) heard = Clock::now();
      waiting += requests_in(asked);
      if (waiting > 0 && Clock::now() > heard + kSilence)
        problem = fmt::format("nothing came for {} s", kSilence.count());
    }
    return problem;
  }
  static int requests_in(const Bytes& bytes) {
    CopyDecoder decoder;
    decoder.feed(bytes);
    int count = 0;
    while (decoder.next()) ++count;
    return count;
  }
};

ParentLink::ParentLink(std::string address, std::uint16_t port, const JoinKey& key, Events events)
    : shared_(std::make_shared<Shared>()) {
  shared_->events = std::move(events);
  start_thread([shared = shared_, address = std::move(address), port, key] {
    shared->events.on_lost(shared->run(address, port, key));
  });
}

void ParentLink::send(const CopyMessage& message) {
  const std::lock_guard guard(shared_->lock);
  encode(shared_->out, message);
  const std::uint64_t one = 1;
  (void)!::write(shared_->wake.get(), &one, sizeof one);
}

}  // namespace ds::launcher::copy
