// One attempt to reach the root: its name looked up, its address dialled.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/join/joiner.h"

namespace ds::launcher {

struct DialResult {
  std::optional<asio::ip::tcp::socket> socket;
  std::string root;                         // "gpt-0.gpt port 29400"
  std::string problem;                      // without a socket: stage and cause
  std::chrono::milliseconds retry_after{};  // then: not before
};

/// Each attempt takes the next of the addresses. Names are looked up anew each time: an address may
/// be that of another pod by now. Threads: the io_context's; `done` comes once an
/// attempt, never from inside the call, and not at all after destruction.
class RootDial {
 public:
  RootDial(asio::io_context& io, std::vector<RootAddress> roots, std::chrono::milliseconds silence);
  ~RootDial();
  RootDial(const RootDial&) = delete;
  RootDial& operator=(const RootDial&) = delete;
  void start(std::function<void(DialResult)> done);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace ds::launcher
