// The helper threads are detached: a name server that does not answer must not delay the exit.
#include "launcher/transport/resolver.h"

#include <netdb.h>

#include <asio/post.hpp>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

#include "engine/base/error.h"
#include "engine/base/helper_thread.h"

namespace ds::launcher {

namespace {

/// Sets `code` to the result of getaddrinfo.
Resolved look_up(const std::string& host, int port, int flags, int& code) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (code != 0) return {{}, code == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(code)};
  Resolved found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    asio::ip::tcp::endpoint endpoint;
    if (entry->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), entry->ai_addr, entry->ai_addrlen);
    endpoint.resize(entry->ai_addrlen);
    found.addresses.push_back(endpoint);
  }
  ::freeaddrinfo(list);
  if (found.addresses.empty()) found.problem = "no usable address";
  return found;
}

Resolved look_up_name(const std::string& host, int port) {
  int code = 0;
  Resolved first = look_up(host, port, AI_ADDRCONFIG, code);
  if (!first.addresses.empty() || code == EAI_AGAIN) return first;  // no name server answered
  return look_up(host, port, 0, code);  // for hosts with only loopback up
}

}  // namespace

struct Resolver::Shared {
  struct Request {
    std::string host;
    int port;
    std::function<void(Resolved)> done;
  };
  explicit Shared(asio::io_context& context) : io(&context) {}

  void serve() {
    std::unique_lock lock(mutex);
    while (true) {
      ++idle;
      wake.wait(lock, [&] { return stopped || !requests.empty(); });
      --idle;
      if (stopped) return;
      Request request = std::move(requests.front());
      requests.pop_front();
      lock.unlock();
      Resolved result = look_up_name(request.host, request.port);
      lock.lock();
      if (stopped) return;  // io may have been destroyed
      asio::post(*io,
                 [done = std::move(request.done), result = std::move(result)] { done(result); });
    }
  }

  std::mutex mutex;
  std::condition_variable wake;
  std::deque<Request> requests;
  asio::io_context* io;
  int threads = 0;
  std::size_t idle = 0;
  bool stopped = false;
};

Resolver::Resolver(asio::io_context& io, int threads)
    : shared_(std::make_shared<Shared>(io)), max_threads_(threads) {}

Resolver::~Resolver() {
  const std::lock_guard lock(shared_->mutex);
  shared_->stopped = true;
  shared_->requests.clear();
  shared_->wake.notify_all();
}

void Resolver::resolve(const std::string& host, int port, std::function<void(Resolved)> done) {
  int code = 0;
  Resolved numeric = look_up(host, port, AI_NUMERICHOST, code);
  const std::lock_guard lock(shared_->mutex);
  const auto answer = [&](Resolved result) {
    asio::post(*shared_->io,
               [done = std::move(done), result = std::move(result)] { done(result); });
  };
  if (!numeric.addresses.empty()) return answer(std::move(numeric));
  // Threads are added while all others wait: few are needed where name servers answer.
  if (shared_->idle <= shared_->requests.size() && shared_->threads < max_threads_) {
    try {
      start_helper_thread([shared = shared_] { shared->serve(); });
      ++shared_->threads;
    } catch (const Error& error) {
      if (shared_->threads == 0) return answer({{}, error.what()});
    }
  }
  shared_->requests.push_back({host, port, std::move(done)});
  shared_->wake.notify_one();
}

}  // namespace ds::launcher
