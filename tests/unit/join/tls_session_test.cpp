// Both ends of the joins' TLS in one process: bytes carried by hand, in pieces.
#include "launcher/join/tls_session.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

namespace ds::launcher {
namespace {

Bytes bytes_of(std::string_view text) {
  const auto view = std::as_bytes(std::span(text.data(), text.size()));
  return {view.begin(), view.end()};
}
std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Carries what waits on either side to the other, `piece` bytes at a time, until both are silent.
void carry(TlsSession& a, Bytes& to_a, TlsSession& b, Bytes& to_b, std::size_t piece) {
  const auto feed = [piece](TlsSession& to, const Bytes& wire, Bytes& plain) {
    for (std::size_t at = 0; at < wire.size(); at += piece)
      to.receive(std::span(wire).subspan(at, std::min(piece, wire.size() - at)), plain);
  };
  for (int turn = 0; turn < 20; ++turn) {
    feed(b, a.take_wire(), to_b);
    feed(a, b.take_wire(), to_a);
  }
}

struct Pair {
  explicit Pair(const std::string& joiner_key, const std::string& root_key = "the secret of a test")
      : joiner(TlsSession::Side::joiner, JoinKey::from_secret(joiner_key)),
        root(TlsSession::Side::root, JoinKey::from_secret(root_key)) {}
  void run(std::size_t piece = 100000) { carry(joiner, to_joiner, root, to_root, piece); }
  TlsSession joiner;
  TlsSession root;
  Bytes to_joiner;
  Bytes to_root;
};

TEST_CASE("two ends with one key talk, however the bytes are cut") {
  for (const std::size_t piece : {1U, 7U, 1000U, 100000U}) {
    Pair pair("the secret of a test");
    pair.joiner.send(bytes_of("early"));  // waits for the handshake
    pair.run(piece);
    REQUIRE(pair.joiner.established());
    REQUIRE(pair.root.established());
    pair.root.send(bytes_of(std::string(100000, 'x')));
    pair.joiner.send(bytes_of(", late"));
    pair.run(piece);
    CHECK(text_of(pair.to_root) == "early, late");
    CHECK(text_of(pair.to_joiner) == std::string(100000, 'x'));
    pair.joiner.close();
    pair.run(piece);
    CHECK(pair.root.ended());
    CHECK_FALSE(pair.root.problem());
  }
}

TEST_CASE("without the key nothing gets through") {
  Pair pair("another secret of a test");
  pair.joiner.send(bytes_of("hello"));
  pair.run();
  CHECK_FALSE(pair.root.established());
  CHECK_FALSE(pair.joiner.established());
  REQUIRE(pair.root.problem());
  REQUIRE(pair.joiner.problem());
  CHECK(pair.joiner.problem()->find("does not have this job's key") != std::string::npos);
  CHECK(pair.to_root.empty());
}

TEST_CASE("bytes that are no TLS are a problem and no crash") {
  Pair pair("the secret of a test");
  pair.root.receive(bytes_of("GET / HTTP/1.1\r\nHost: here\r\n\r\n"), pair.to_root);
  REQUIRE(pair.root.problem());
  pair.root.receive(bytes_of("more"), pair.to_root);
  pair.root.send(bytes_of("x"));
  CHECK(pair.to_root.empty());
}

TEST_CASE("a changed byte ends the stream") {
  Pair pair("the secret of a test");
  pair.run();
  pair.joiner.send(bytes_of("text"));
  Bytes wire = pair.joiner.take_wire();
  wire.back() ^= std::byte{1};
  pair.root.receive(wire, pair.to_root);
  CHECK(pair.to_root.empty());
  CHECK(pair.root.problem());
}

TEST_CASE("a recorded connection cannot be played again") {
  const JoinKey key = JoinKey::from_secret("the secret of a test");
  TlsSession joiner(TlsSession::Side::joiner, key);
  TlsSession root(TlsSession::Side::root, key);
  Bytes none;
  Bytes got;
  const Bytes hello = joiner.take_wire();
  root.receive(hello, got);
  joiner.receive(root.take_wire(), none);
  joiner.send(bytes_of("start"));
  const Bytes rest = joiner.take_wire();
  root.receive(rest, got);
  CHECK(text_of(got) == "start");
  TlsSession other(TlsSession::Side::root, key);
  Bytes again;
  other.receive(hello, again);
  (void)other.take_wire();
  other.receive(rest, again);
  CHECK(again.empty());
  CHECK(other.problem());
}

}  // namespace
}  // namespace ds::launcher
