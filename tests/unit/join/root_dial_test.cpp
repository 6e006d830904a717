// Attempts of a joiner to reach the root, one after the other.
#include <doctest/doctest.h>

#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <chrono>
#include <functional>

#include "launcher/join/joiner_parts.h"

namespace ds::launcher {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

TEST_CASE("an attempt that begins while another one is under way replaces it") {
  // The second one begins in a handler that was queued before the first one's connection was made,
  // as a retry timer's is; after how many other handlers depends on the event loop.
  for (int hops = 0; hops < 3; ++hops) {
    asio::io_context io(1);
    tcp::acceptor root(io, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
    RootDial dial(io, {{"127.0.0.1", root.local_endpoint().port()}}, 8s);
    CHECK_FALSE(dial.under_way());
    int first = 0;
    int second = 0;
    bool was_under_way = false;
    std::function<void(int)> begin = [&](int left) {
      if (left > 0) return asio::post(io, [&, left] { begin(left - 1); });
      was_under_way = dial.under_way();
      dial.start([&](const DialResult& result) {
        ++second;
        CHECK(result.socket);
      CHECK(result.addresses == std::vector{asio::ip::make_address("127.0.0.1")});
      });
    };
    asio::post(io, [&] { begin(hops); });
    dial.start_at("127.0.0.1", [&](const DialResult&) { ++first; });  // as after a knock
    CHECK(dial.under_way());
    REQUIRE_NOTHROW(io.run_for(100ms));
    CHECK(first == (was_under_way ? 0 : 1));
    CHECK(second == 1);
    CHECK_FALSE(dial.under_way());
  }
}

}  // namespace
}  // namespace ds::launcher
