// Tests of dial(): a name whose first address drops all connections.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/unique_fd.h"
#include "engine/comm/mesh/socket.h"

using namespace ds;
using namespace ds::comm;
using namespace std::chrono_literals;

/// Gives the name "two.invalid" two addresses.
extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints,
                           addrinfo** list) {
  const auto real = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (name == nullptr || std::strcmp(name, "two.invalid") != 0)
    return real(name, service, hints, list);
  const int first = real("127.0.0.77", service, hints, list);
  return first != 0 ? first : real("127.0.0.78", service, hints, &(*list)->ai_next);
}

namespace {

/// A listener whose queue is full, so that the kernel drops further connections.
class FullListener {
 public:
  FullListener(const char* address, int port) : fd_(listen_on({address, port})) {
    REQUIRE(::listen(fd_.get(), 0) == 0);
    for (bool is_full = false; !is_full;) {
      fillers_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      sockaddr_in to{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {}, .sin_zero = {}};
      socklen_t size = sizeof to;
      REQUIRE(::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&to), &size) == 0);
      ::connect(fillers_.back().get(), reinterpret_cast<const sockaddr*>(&to), size);
      pollfd wait{fillers_.back().get(), POLLOUT, 0};
      is_full = ::poll(&wait, 1, 200) == 0;
    }
  }
  void accept_all() const {
    while (UniqueFd(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC))) {
    }
  }
  [[nodiscard]] int port() const { return local_endpoint(fd_.get()).port; }

 private:
  UniqueFd fd_;
  std::vector<UniqueFd> fillers_;
};

}  // namespace

TEST_CASE("an address that drops connections does not take the time of the name's others") {
  const FullListener first("127.0.0.77", 0);
  const FullListener second("127.0.0.78", first.port());
  std::atomic<bool> is_over = false;
  // The first attempt is at `second` from 5 s to 10 s, and TCP tries again after 1 s and 3 s.
  std::thread opener([&] {
    const auto begin = Clock::now();
    while (!is_over) {
      std::this_thread::sleep_for(50ms);
      if (Clock::now() - begin > 5500ms) second.accept_all();
    }
  });
  const auto begin = Clock::now();
  const UniqueFd fd = dial({.address = "two.invalid", .port = first.port()}, Deadline::after(20s));
  is_over = true;
  opener.join();
  CHECK(Clock::now() - begin < 9500ms);
  CHECK(peer_endpoint(fd.get()).address == "127.0.0.78");
}
