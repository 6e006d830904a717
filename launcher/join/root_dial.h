// One attempt to reach the root: looks up its name and dials its addresses.
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
  std::string problem;                      // stage and cause, if there is no socket
  std::chrono::milliseconds retry_after{};  // earliest next attempt, if there is no socket
};

/// Each attempt takes the next root address. Names are looked up each time, because an address may
/// belong to another pod by now. Threads: the io_context's; `done` comes once per attempt, never
/// from inside the call or after destruction.
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
