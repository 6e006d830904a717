// Tests of control messages: encoding and decoding at any cut, and malformed input.
#include <doctest/doctest.h>

#include <random>
#include <string>

#include "launcher/control/job_socket.h"

using namespace ds::launcher;

namespace {

JobInfo some_info() {
  JobInfo info;
  info.id = "0123456789abcdef";
  info.state = "running";
  info.pid = 4711;
  info.started_ms = 1'700'000'000'000;
  info.ranks = 8;
  info.ranks_left = 7;
  info.nodes = 2;
  info.host = "login1";
  info.folder = "/data";
  info.log = "";
  info.command = {"./a.out", "", "two words", "\xff\n"};
  info.trains = true;
  info.step = 12;
  info.phase = "loaded";
  info.kept = 12;
  info.checkpoint = "/ck/step-00000010";
  return info;
}

/// Checks that a message survives if its bytes are decoded `step` at a time.
template <class T>
void check_passes(T message, std::size_t step) {
  Bytes bytes;
  encode_control(message, bytes);
  ControlDecoder decoder;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    REQUIRE(!decoder.next());
    decoder.feed(std::span(bytes).subspan(at, std::min(step, bytes.size() - at)));
  }
  auto got = decoder.next();
  REQUIRE(got);
  REQUIRE(std::holds_alternative<T>(*got));
  CHECK(!decoder.next());
  CHECK(!decoder.broken());
  CHECK(std::get<T>(*got).fields() == message.fields());
}

bool refuses(const Bytes& bytes) {
  ControlDecoder decoder;
  decoder.feed(bytes);
  return !decoder.next() && decoder.broken();
}

}  // namespace

TEST_CASE("each message survives, whatever the cut") {
  for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
    check_passes(InfoRequest{}, step);
    check_passes(SignalRequest{.signo = 10, .grace_ms = 2500}, step);
    check_passes(OutputRequest{.rank = 7, .follow = true}, step);
    check_passes(WaitRequest{}, step);
    check_passes(CheckpointRequest{}, step);
    const CheckpointOutcome outcome{
        .saved = true, .step = 40, .folder = "/ck/step-00000040", .details = "1.4 GiB"};
    check_passes(outcome, step);
    check_passes(some_info(), step);
    check_passes(Skipped{1u << 30}, step);
    check_passes(Caught{}, step);
    check_passes(Accepted{}, step);
    check_passes(Refused{"no"}, step);
    check_passes(JobDone{-7}, step);
    check_passes(ScaleRequest{.nodes = 3, .add = {"a:2", "b"}, .remove = {"c"}}, step);
    check_passes(Scaled{"a and b are added"}, step);
  }
}

TEST_CASE("output carries its bytes as they are") {
  const std::string text = std::string("\0\xff\n", 3);
  Bytes bytes;
  encode_control(RankOutput{5, 2, 1, "[5] ", std::as_bytes(std::span(text))}, bytes);
  encode_control(Caught{}, bytes);
  ControlDecoder decoder;
  decoder.feed(bytes);
  const auto message = decoder.next();
  REQUIRE(message);
  const auto& output = std::get<RankOutput>(*message);
  CHECK(output.rank == 5);
  CHECK(output.stream == 2);
  CHECK(output.flags == 1);
  CHECK(std::string(reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size()) ==
        text);
  const auto after = decoder.next();
  REQUIRE(after);
  CHECK(std::holds_alternative<Caught>(*after));
}

TEST_CASE("unknown numbers, wrong lengths and wrong fields end the stream") {
  const auto byte = [](int value) { return static_cast<std::byte>(value); };
  CHECK(refuses({byte(0), byte(0), byte(0), byte(0)}));                     // nothing inside
  CHECK(refuses({byte(1), byte(0), byte(0), byte(0), byte(99)}));           // unknown
  CHECK(refuses({byte(0), byte(0), byte(0x11), byte(0)}));                  // 1.1 MiB
  CHECK(refuses({byte(2), byte(0), byte(0), byte(0), byte(36), byte(0)}));  // more than its fields
  CHECK(refuses({byte(3), byte(0), byte(0), byte(0), byte(1), byte(1), byte(0)}));  // less
}

TEST_CASE("random bytes never crash the decoder") {
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes;
    encode_control(some_info(), bytes);
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    bytes.resize(1 + random() % bytes.size());
    ControlDecoder decoder;
    decoder.feed(bytes);
    while (decoder.next()) {
    }
  }
}
