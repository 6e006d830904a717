// What a static libssh meets where it thinks its socket is.
#include "launcher/transport/libssh/socket_turn.h"

#include <doctest/doctest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

using ds::launcher::libssh::SessionSocket;
using ds::launcher::libssh::SocketTurn;

namespace {

/// A session's socket and the server's end of it.
struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()) == 0);
    near = ends[0];
    far = ends[1];
    socket.assign(near);
  }
  ~Pair() {
    ::close(near);
    ::close(far);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  // As libssh calls them.
  [[nodiscard]] ssize_t say(std::string_view text) const {
    return ::send(near, text.data(), text.size(), MSG_NOSIGNAL);
  }
  [[nodiscard]] int ask(short events) const {
    pollfd look{near, events, 0};
    return ::poll(&look, 1, 0) == 1 ? look.revents : 0;
  }
  [[nodiscard]] std::string hear() const {
    std::array<char, 4096> text{};
    const ssize_t count = ::recv(near, text.data(), text.size(), 0);
    return {text.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
  }
  /// What the server has got so far.
  [[nodiscard]] std::string arrived() const {
    std::string text(100000, '\0');
    const ssize_t count = ::recv(far, text.data(), text.size(), MSG_DONTWAIT);
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
  }
  void answer(std::string_view text) const {
    REQUIRE(::send(far, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  }

  int near = -1;
  int far = -1;
  SessionSocket socket;
};

}  // namespace

TEST_CASE("packets of one turn leave at its end, in order") {
  Pair pair;
  {
    const SocketTurn turn(pair.socket);
    CHECK(pair.say("one ") == 4);
    CHECK(pair.say("two") == 3);
    CHECK(pair.arrived().empty());
  }
  CHECK(pair.arrived() == "one two");
  CHECK(pair.say("beside") == 6);  // outside of a turn: to the kernel
  CHECK(pair.arrived() == "beside");
}

TEST_CASE("the server is let greet first: what was kept until then leaves with the answer") {
  Pair pair;
  pair.socket.let_server_begin();
  {
    const SocketTurn turn(pair.socket);
    CHECK(pair.say("greeting ") == 9);
  }
  CHECK(pair.arrived().empty());
  pair.answer("server");
  pair.socket.now_readable();
  {
    const SocketTurn turn(pair.socket);
    CHECK(pair.ask(POLLIN) == POLLIN);
    CHECK(pair.hear() == "server");
    CHECK(pair.say("answer") == 6);
  }
  CHECK(pair.arrived() == "greeting answer");
}

TEST_CASE("a server that says nothing hears us all the same") {
  Pair pair;
  pair.socket.let_server_begin();
  {
    const SocketTurn turn(pair.socket);
    CHECK(pair.say("greeting ") == 9);
  }
  pair.socket.speak();
  CHECK(pair.arrived() == "greeting ");
  const SocketTurn turn(pair.socket);
  CHECK(pair.say("more") == 4);
  pair.socket.flush();
  CHECK(pair.arrived() == "more");
}

TEST_CASE("a socket is readable when the loop has said so and bytes are there") {
  Pair pair;
  pair.answer("hello");
  const SocketTurn turn(pair.socket);
  CHECK(pair.ask(POLLIN) == 0);
  pair.socket.now_readable();
  CHECK(pair.ask(POLLIN) == POLLIN);
  CHECK(pair.hear() == "hello");
  CHECK(pair.ask(POLLIN) == 0);
  pair.socket.now_readable();  // the loop may be wrong: libssh would take it for an error
  CHECK(pair.ask(POLLIN) == 0);
}

TEST_CASE("what the loop has read comes first, then what it left") {
  Pair pair;
  pair.answer(" and more");
  pair.socket.arrived("read", true);
  const SocketTurn turn(pair.socket);
  CHECK(pair.ask(POLLIN) == POLLIN);
  CHECK(pair.hear() == "read");
  CHECK(pair.ask(POLLIN) == POLLIN);
  CHECK(pair.hear() == " and more");
  CHECK(pair.ask(POLLIN) == 0);
}

TEST_CASE("while the loop reads nothing overtakes it") {
  Pair pair;
  pair.socket.arrived("one ", true);
  pair.answer("three");
  pair.socket.leave_to_loop();  // which has read "two " and not said so yet
  {
    const SocketTurn turn(pair.socket);
    CHECK(pair.ask(POLLIN) == POLLIN);
    CHECK(pair.hear() == "one ");
    CHECK(pair.ask(POLLIN) == 0);
  }
  pair.socket.arrived("two ", true);
  const SocketTurn turn(pair.socket);
  CHECK(pair.ask(POLLIN) == POLLIN);
  CHECK(pair.hear() == "two ");
  CHECK(pair.ask(POLLIN) == POLLIN);
  CHECK(pair.hear() == "three");
}

TEST_CASE("bytes that were not taken in one turn stand before those of the next") {
  Pair pair;
  std::string buffer = "first ";
  pair.socket.arrived(buffer, false);
  { const SocketTurn turn(pair.socket); }
  buffer = "second";
  pair.socket.arrived(buffer, false);
  const SocketTurn turn(pair.socket);
  CHECK(pair.ask(POLLIN) == POLLIN);
  CHECK(pair.hear() == "first second");
  CHECK(pair.ask(POLLIN) == 0);
}

TEST_CASE("a failed reading is told as an error") {
  Pair pair;
  pair.socket.broke(ECONNRESET);
  const SocketTurn turn(pair.socket);
  CHECK(pair.ask(POLLIN) == POLLIN);
  std::array<char, 8> text{};
  CHECK(::recv(pair.near, text.data(), text.size(), 0) == -1);
  CHECK(errno == ECONNRESET);
}

TEST_CASE("the end of the connection and the end of writing are told") {
  Pair pair;
  const SocketTurn turn(pair.socket);
  CHECK(pair.ask(POLLOUT) == POLLOUT);
  CHECK(pair.ask(POLLOUT) == 0);  // once is enough
  ::shutdown(pair.far, SHUT_WR);
  pair.socket.now_readable();
  CHECK(pair.ask(POLLIN | POLLOUT) == POLLIN);
  CHECK(pair.hear().empty());
}

TEST_CASE("what a full socket does not take is refused, then told and taken") {
  Pair pair;
  const std::string much(10000, 'x');
  std::size_t taken = 0;
  bool refused = false;
  for (int i = 0; i < 1000 && !refused; ++i) {
    const SocketTurn turn(pair.socket);
    const ssize_t count = pair.say(much);
    REQUIRE(count >= 0);  // never "try again"
    taken += static_cast<std::size_t>(count);
    refused = count == 0;
  }
  REQUIRE(refused);
  {
    const SocketTurn turn(pair.socket);
    CHECK(pair.ask(POLLOUT) == 0);
  }
  std::size_t seen = 0;
  for (std::string text = pair.arrived(); !text.empty(); text = pair.arrived()) seen += text.size();
  pair.socket.now_writable();
  seen += pair.arrived().size();
  CHECK(seen == taken);
  const SocketTurn turn(pair.socket);
  CHECK(pair.ask(POLLOUT) == POLLOUT);
  CHECK(pair.say("more") == 4);
}

TEST_CASE("a server that has gone is an error at the next packet") {
  Pair pair;
  ::close(pair.far);
  pair.far = -1;
  {
    const SocketTurn turn(pair.socket);
    CHECK(pair.say("lost") == 4);
  }
  const SocketTurn turn(pair.socket);
  CHECK(pair.say("again") == -1);
  CHECK(pair.ask(POLLIN) == POLLIN);
}

TEST_CASE("after a farewell nothing goes out; what was sent before does") {
  Pair pair;
  const SocketTurn turn(pair.socket);
  CHECK(pair.say("last words") == 10);
  pair.socket.farewell();
  CHECK(pair.say("end of channel") == 14);
  CHECK(pair.arrived() == "last words");
}

TEST_CASE("a descriptor that libssh closes is let go of: its number may be another's next") {
  Pair pair;
  {
    const SocketTurn turn(pair.socket);
    CHECK(pair.say("bye") == 3);
    ::close(pair.near);
    CHECK(pair.arrived() == "bye");
    const int reused = ::dup(pair.far);
    CHECK(reused == pair.near);
    CHECK(pair.say("another's") == -1);  // to the new one, whose peer has gone
  }
  CHECK(pair.arrived().empty());
}
