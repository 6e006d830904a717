// Tests OutputPath: sends no more than credit allows, in frames of the right size; keeps the order.
#include "launcher/agent/output_path.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

using namespace ds::launcher;

namespace {

const Envelope kOurs{.job = 1, .epoch = 0, .incarnation = 1};
const ds::Clock::time_point kT0{std::chrono::hours(1)};

/// The root's end of the channel is a socket with room for all that the tests send.
struct Node {
  explicit Node(std::uint64_t spool, bool drop = false)
      : ends(pair()), channel(ends[0], ::dup(ends[0])), path(channel) {
    Spec spec;
    spec.ranks.push_back({.rank = 0});
    spec.output.spool_bytes = spool;
    spec.output.drop = drop;
    path.begin(spec, kOurs);
  }
  ~Node() { ::close(ends[1]); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  static std::array<int, 2> pair() {
    std::array<int, 2> made{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, made.data()) == 0);
    return made;
  }
  void write(std::string_view words, int flags = 0) {
    path.take({.rank = 0,
               .flags = static_cast<std::uint8_t>(flags),
               .bytes = std::as_bytes(std::span(words))});
  }
  /// What has come to the root since the last call.
  void receive() {
    channel.flush();
    std::array<std::byte, 65536> buffer;
    for (ssize_t got = 0; (got = ::read(ends[1], buffer.data(), buffer.size())) > 0;) {
      decoder.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
      while (const auto frame = decoder.next()) {
        const auto& output = std::get<Output>(frame->message);
        longest = std::max(longest, output.bytes.size());
        cost += kOutputHeaderBytes + output.bytes.size();
        text.append(reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size());
      }
      channel.flush();
    }
  }

  std::array<int, 2> ends;
  AgentChannel channel;
  OutputPath path;
  Decoder decoder{};
  std::string text{};
  std::size_t longest = 0, cost = 0;
};

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "line " + std::to_string(i) + '\n';
  return text;
}

}  // namespace

TEST_CASE("a node sends frames of a quarter of its window, and never more than its credit") {
  constexpr std::uint64_t kWindow = 16384;
  Node node(0);
  node.path.credit({kWindow});
  const std::string all = lines(5000);
  node.write(all);
  node.receive();
  CHECK(node.cost <= kWindow);
  CHECK(node.cost > kWindow / 2);
  CHECK(node.longest <= kWindow / 4);
  CHECK(node.text.back() == '\n');
  CHECK_FALSE(node.path.may_read());
  CHECK_FALSE(node.path.done(kT0));

  while (node.text.size() < all.size()) {
    const std::size_t before = node.cost;
    node.path.credit({kWindow / 2});
    node.path.move(kT0);
    node.receive();
    REQUIRE(node.cost > before);
    CHECK(node.cost - before <= kWindow);
  }
  CHECK(node.text == all);
  CHECK(node.path.done(kT0));
}

TEST_CASE(
    "ranks are read on only when all that waits has gone, or the root has been slow for long") {
  Node node(1 << 20);
  node.path.credit({16384});
  node.write(lines(5000));
  CHECK_FALSE(node.path.may_read());
  node.path.move(kT0);
  CHECK_FALSE(node.path.may_read());
  node.path.move(kT0 + OutputPath::kPatience);
  CHECK(node.path.may_read());
  node.write("more\n");
  node.path.credit({1 << 20});
  node.path.move(kT0 + OutputPath::kPatience);
  node.receive();
  CHECK(node.text == lines(5000) + "more\n");
  CHECK(node.path.done(kT0));
}

TEST_CASE("a discard drops what waits; later output needs credit as before") {
  Node node(1 << 20);
  node.path.credit({16384});
  node.write(lines(5000));
  node.receive();
  node.path.credit({.bytes = 0, .discard = true});
  node.path.move(kT0);
  CHECK(node.path.done(kT0));
  const std::size_t sent = node.text.size();
  node.write(lines(3000));
  node.receive();
  CHECK_FALSE(node.text.substr(sent).ends_with(lines(3000)));
  node.path.credit({1 << 20});
  node.path.move(kT0);
  node.receive();
  CHECK(node.text.substr(sent).ends_with(lines(3000)));
  CHECK(node.path.done(kT0));
}
