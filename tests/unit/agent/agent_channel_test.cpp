// Tests AgentChannel: which frames wait for others, and that control frames overtake output.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>

#include "launcher/agent/output_path.h"

using namespace ds::launcher;

namespace {

const Envelope kOurs{.job = 1, .epoch = 0, .incarnation = 1};

/// The other end of a channel: a packet socket, so that each write stays one piece.
struct Played {
  Played() : ends(pair()), channel(ends[0], ::dup(ends[0])) {}
  ~Played() { ::close(ends[1]); }
  Played(const Played&) = delete;
  Played& operator=(const Played&) = delete;

  static std::array<int, 2> pair() {
    std::array<int, 2> made{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, made.data()) == 0);
    return made;
  }

  /// Sends a control frame; then what a turn of the loop does at its end.
  void control(const Message& message) {
    channel.send_control(kOurs, message);
    channel.flush_due(ds::Clock::time_point::min());
  }

  /// Names of the frames of the next piece; empty if nothing was written.
  std::string piece() {
    std::array<std::byte, 65536> buffer;
    const ssize_t got = ::read(ends[1], buffer.data(), buffer.size());
    if (got <= 0) return {};
    decoder.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
    std::string names;
    while (const auto frame = decoder.next()) names += name(frame->message);
    return names;
  }

  static char name(const Message& message) {
    if (std::holds_alternative<Hello>(message)) return 'H';
    if (std::holds_alternative<Ready>(message)) return 'R';
    if (std::holds_alternative<Started>(message)) return 'S';
    if (std::holds_alternative<Output>(message)) return 'O';
    if (std::holds_alternative<Exited>(message)) return 'E';
    return std::holds_alternative<Bye>(message) ? 'B' : '?';
  }

  std::array<int, 2> ends;
  AgentChannel channel;
  Decoder decoder{Decoder::Start::preamble};
};

Output output(std::span<const std::byte> bytes, std::uint8_t flags) {
  return {.rank = 0, .stream = 1, .flags = flags, .bytes = bytes};
}

}  // namespace

TEST_CASE("a rank that only starts and ends is one write") {
  Played p;
  p.channel.send_text(kPreamble);
  CHECK(p.piece().empty());
  p.control(Hello{});
  CHECK(p.piece() == "H");
  p.control(Ready{});
  CHECK(p.piece() == "R");
  p.channel.send_control(kOurs, Ready{});
  p.channel.send_control(kOurs, Ready{});
  CHECK(p.piece().empty());
  p.channel.flush_due(ds::Clock::time_point::min());
  CHECK(p.piece() == "RR");  // one turn, one write
  CHECK(p.channel.wake_at() == ds::Clock::time_point::max());
  p.control(Started{});
  p.channel.send_output(kOurs, output({}, Output::kLast));
  p.control(Exited{});
  p.channel.flush_due(ds::Clock::time_point::min());
  CHECK(p.piece().empty());
  CHECK_FALSE(p.channel.blocked());
  p.channel.send_last(kOurs, Bye{});
  CHECK(p.piece() == "SEOB");
  CHECK_FALSE(p.channel.anything_waiting());
  CHECK(p.channel.output_waiting() == 0);
}

TEST_CASE("patience ends by the clock, and with any frame that somebody waits for") {
  Played p;
  p.channel.send_text(kPreamble);
  p.control(Hello{});
  CHECK(p.piece() == "H");
  p.control(Started{});
  const auto due = p.channel.wake_at();
  p.control(Started{});
  CHECK(p.channel.wake_at() == due);  // company does not make it longer
  p.channel.flush_due(due - std::chrono::milliseconds(1));
  CHECK(p.piece().empty());
  p.channel.flush_due(due);
  CHECK(p.piece() == "SS");

  p.control(Started{});
  p.control(Exited{.wait_status = 7 << 8});
  CHECK(p.piece() == "SE");
  p.control(Started{});
  const std::array<std::byte, 2> line = {std::byte{'a'}, std::byte{'\n'}};
  p.channel.send_output(kOurs, output(line, 0));
  CHECK(p.piece() == "SO");
  p.channel.send_output(kOurs, output(line, 0));
  CHECK(p.piece() == "O");
  CHECK(p.channel.output_waiting() == 0);
}

TEST_CASE("what the system does not take is not held: it waits for the system") {
  Played p;
  const int small = 32768;  // a packet of joined frames fits, all of them do not
  ::setsockopt(p.ends[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
  const Bytes much(1000);
  for (int i = 0; i < 400; ++i) p.channel.send_output(kOurs, output(much, 0));
  REQUIRE(p.channel.anything_waiting());
  p.control(Started{});
  CHECK(p.channel.blocked());
  CHECK(p.channel.wake_at() == ds::Clock::time_point::max());
}

TEST_CASE("a root that does not read gets no news, so that what waits for it has a limit") {
  Played p;
  const std::string text(100'000, 'x');
  for (int i = 0; i < 10; ++i) p.channel.send_control(kOurs, Problem{text});
  CHECK(p.channel.takes_news());
  p.channel.send_control(kOurs, Problem{text});
  CHECK_FALSE(p.channel.takes_news());
}
