// Tests frames: round trips in any pieces, errors, and the vectors of docs/protocol.md.
#include "launcher/wire/frame.h"

#include <doctest/doctest.h>

#include <map>
#include <sstream>
#include <string>

#include "engine/base/error.h"
#include "support/read_file.h"

using namespace ds::launcher;

namespace {

constexpr Envelope kEnvelope{.job = 0x1122334455667788, .epoch = 3, .incarnation = 9};

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::vector<Message> one_of_each() {
  Spec spec{.node_rank = 1,
            .nodes = 4,
            .programs = {{.argv = {"python", "", "a b"},
                          .env = {{"C", "2"}},
                          .cwd = "/tmp",
                          .at_home = true,
                          .login_shell = true,
                          .rank_channel = true},
                         {.argv = {"b"}}},
            .env = {{"A", "1"}, {"B", ""}}};
  spec.ranks = {{.rank = 4, .local_rank = 0, .env = {{"RANK", "4"}}},
                {.rank = 5,
                 .local_rank = 1,
                 .program = 1,
                 .env = {},
                 .sent = 2,
                 .has_stdin = true,
                 .log_file = "/l",
                 .device = "GPU-1"}};
  spec.output = {
      .spool_bytes = 9, .drop = true, .stamped = true, .pty = true, .rows = 24, .columns = 80};
  spec.hold_port = true;
  spec.port = 29500;
  spec.door_question = "who";
  spec.door_answer = "me";
  spec.job_cookie = "cookie";
  spec.keep_agent = true;
  spec.isolate = Isolate::required;
  spec.bind = Bind::cores;
  spec.tell_binding = true;
  spec.leave = true;
  spec.mpi = {.wire = MpiWire::pmi1, .size = 8, .process_mapping = "(vector,(0,2,4))"};
  spec.mpi.cpusets = {"0-3,8", ""};
  spec.limits = {{"nofile", 4096}, {"core", UINT64_MAX}};
  Hello hello{.build = "0.1",
              .pid = 7,
              .hostname = "node",
              .cores = 2,
              .quota_milli = 1500,
              .addresses = {{"::1", "lo", 128}},
              .network = "boot net",
              .devices = {"0", "GPU-1"},
              .devices_limited = true,
              .clock = 12};
  Exited not_found{.rank = 1,
                   .wait_status = 0,
                   .stage = Exited::Stage::exec,
                   .spawn_errno = 2,
                   .detail = "nope",
                   .time = 77};
  return {spec,
          Go{{{"MASTER_PORT", "1"}}},
          Signal{.signo = 10, .rank = 3},
          Kill{},
          Stop{5000},
          Suspend{},
          Resume{},
          Heartbeat{1, 2, std::uint64_t{3} << 40},
          Credit{1U << 31, true},
          Sweep{"cookie", {1, 12}},
          Probe{.search = 2,
                .addresses = {"10.0.0.1", "::1"},
                .port = 40000,
                .question = "who",
                .answer = "me",
                .limit_ms = 1},
          Stdin{.rank = -1, .last = true, .bytes = bytes_of("input\n")},
          Window{24, 80},
          Watch{7, 3},
          FenceOut{.name = "fence", .last = false, .number = 3, .data = "data"},
          OrderRank{.rank = 3, .order = OrderRank::Order::pause},
          Check{.spec = spec, .runs = true, .limit_ms = 60'000},
          hello,
          Ready{40000},
          Started{2, 99},
          Output{.rank = 3,
                 .stream = 2,
                 .flags = Output::kPartial,
                 .time = 77,
                 .bytes = bytes_of("text\n\0x")},
          not_found,
          Problem{"out of processes"},
          Bye{4},
          Cleared{},
          Swept{3},
          ErrorFile{2, "{}"},
          Probed{2, {{0, "refused"}, {1, ""}}},
          FenceIn{.name = "fence", .ranks = {1, 2}, .last = false, .data = "data"},
          FenceWaits{{3, 5}},
          MpiFailed{.rank = 3, .code = -1, .text = "called MPI_Abort(-1)", .time = 8},
          RankNews{.rank = 3,
                   .step = 12,
                   .steps = 100,
                   .micros = 81234,
                   .kept = 11,
                   .phases = {{"met", 5}},
                   .checkpoints = {"checkpoint: step 4 failed: full"},
                   .facts = "build = 7f3e"},
          Checked{.end = not_found, .output = "facts: ", .errors = "dsrunner: no"},
          MpiInit{.rank = 3, .wire = MpiWire::pmix},
          ModexAsk{.rank = 3, .node = 1, .id = 7},
          ModexAnswer{.node = 1, .id = 7, .status = -46, .data = "data"},
          PmixNotice{"event"},
          NameAsk{.rank = 3,
                  .id = 7,
                  .kind = NameAsk::Kind::look_up,
                  .wanted = 1,
                  .once = true,
                  .names = {{"service", ""}}},
          NameAnswer{.rank = 3,
                     .id = 7,
                     .status = NameAnswer::Status::unknown,
                     .found = {{.name = "service", .value = "port", .rank = 2}}},
          PmixReady{{{{{"PMIX_RANK", "3"}}}, {}}},
          PmixRank{.rank = 3, .step = PmixRank::Step::ended},
          PmixLine{.rank = 3, .text = "a line"}};
}

/// The error that a stream of these bytes ends with.
std::string error_of(const Bytes& bytes) {
  Decoder decoder;
  decoder.feed(bytes);
  while (decoder.next()) {
  }
  return decoder.error().value_or("");
}

}  // namespace

TEST_CASE("every message comes out as it went in, whatever pieces the channel makes") {
  const std::vector<Message> messages = one_of_each();
  CHECK(messages.size() == std::variant_size_v<Message>);
  Bytes stream;
  for (const Message& message : messages) {
    const Bytes frame = encode(kEnvelope, message);
    stream.insert(stream.end(), frame.begin(), frame.end());
  }
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, stream.size()}) {
    Decoder decoder;
    std::size_t seen = 0;
    for (std::size_t at = 0; at < stream.size(); at += piece) {
      decoder.feed(std::span(stream).subspan(at, std::min(piece, stream.size() - at)));
      while (const auto frame = decoder.next()) {
        REQUIRE(seen < messages.size());
        CHECK(frame->envelope == kEnvelope);
        CHECK(frame->message == messages[seen++]);
      }
    }
    CHECK(seen == messages.size());
    CHECK(decoder.at_boundary());
    CHECK_FALSE(decoder.error());
  }
}

TEST_CASE("an output frame can be made around text that is already in place") {
  const std::string_view text = "one\ntwo\n";
  const Output output{.rank = 12,
                      .stream = 1,
                      .flags = Output::kLast,
                      .time = std::uint64_t{5} << 50,
                      .bytes = bytes_of(text)};
  Bytes frame(kOutputHeaderBytes);
  write_output_header(std::span<std::byte, kOutputHeaderBytes>(frame), kEnvelope, output);
  frame.insert(frame.end(), output.bytes.begin(), output.bytes.end());
  CHECK(frame == encode(kEnvelope, output));
}

TEST_CASE("what login shells print is skipped up to the preamble, and kept for messages") {
  for (const std::string noise : {"", "Welcome!\n",
                                  "\x01"
                                  "dslaunch-fr",
                                  "no newline"}) {
    Decoder decoder(Decoder::Start::preamble);
    std::string stream = noise;
    stream += kPreamble;
    const Bytes frame = encode(kEnvelope, Bye{7});
    stream.append(reinterpret_cast<const char*>(frame.data()), frame.size());
    std::optional<Frame> got;
    for (const char& c : stream) {
      decoder.feed(bytes_of({&c, 1}));
      if (auto next = decoder.next()) got = next;
    }
    REQUIRE(got);
    CHECK(got->message == Message(Bye{7}));
    CHECK(decoder.noise() == noise);
  }
}

TEST_CASE("noise without end is no agent") {
  Decoder decoder(Decoder::Start::preamble);
  const std::string line(4096, 'y');
  for (int i = 0; i < 300; ++i) {
    decoder.feed(bytes_of(line));
    CHECK_FALSE(decoder.next());
  }
  REQUIRE(decoder.error());
  CHECK(decoder.error()->find("no dslaunch agent") != std::string::npos);
  CHECK(decoder.noise().size() <= 4096);
}

TEST_CASE("what has been taken gives its room back") {
  Decoder decoder;
  const std::string text(std::size_t{256} << 10, 'x');
  const Output output{.rank = 1, .bytes = std::as_bytes(std::span(text))};
  Bytes bytes = encode({}, output);
  const Bytes next = encode({}, Signal{15});
  bytes.insert(bytes.end(), next.begin(), next.end() - 1);
  const std::span all(bytes);
  decoder.feed(all.first(200000));
  CHECK_FALSE(decoder.next());
  decoder.feed(all.subspan(200000));
  CHECK(decoder.next()->message == Message(output));
  CHECK_FALSE(decoder.next());
  CHECK(decoder.room() < 16384);
  decoder.feed(std::span(next).last(1));
  CHECK(decoder.next()->message == Message(Signal{15}));
  CHECK(decoder.at_boundary());
}

TEST_CASE("a frame that is too long, unknown, of another version or torn is named") {
  const Bytes good = encode(kEnvelope, Ready{1});
  const auto damaged = [&](std::size_t at, int value) {
    Bytes bytes = good;
    bytes[at] = static_cast<std::byte>(value);
    return error_of(bytes);
  };
  CHECK(error_of(good).empty());
  CHECK(damaged(3, 0x7F).find("at most") != std::string::npos);
  CHECK(damaged(4, 200).find("unknown type 200") != std::string::npos);
  CHECK(damaged(5, 9).find("form 9") != std::string::npos);
  CHECK(damaged(0, 1).find("broken frame of type 33") != std::string::npos);
  Decoder torn;
  torn.feed(std::span(good).first(good.size() - 1));
  CHECK_FALSE(torn.next());
  CHECK_FALSE(torn.at_boundary());
}

TEST_CASE("a count that lies allocates nothing") {
  Bytes bytes = encode(kEnvelope, Go{});
  for (std::size_t i = 0; i < 4; ++i) bytes[kFrameHeaderBytes + i] = std::byte{0xFF};
  CHECK(error_of(bytes).find("broken frame of type 2") != std::string::npos);
}

TEST_CASE("a command that does not fit in a frame is an error with a hint") {
  CHECK_THROWS_AS(encode(kEnvelope, Go{{{"BIG", std::string(kMaxFrameBytes, 'x')}}}), ds::Error);
}

TEST_CASE("the vectors of docs/protocol.md are what is sent") {
  const std::map<std::string, Message> messages = {{"Go", Go{{{"MASTER_PORT", "4000"}}}},
                                                   {"Kill", Kill{}},
                                                   {"Stop", Stop{5000}},
                                                   {"Ready", Ready{40000}},
                                                   {"Output", Output{.rank = 5,
                                                                     .stream = 2,
                                                                     .flags = Output::kPartial,
                                                                     .time = 21,
                                                                     .bytes = bytes_of("hello")}},
                                                   {"Exited", Exited{.rank = 2,
                                                                     .wait_status = 0,
                                                                     .stage = Exited::Stage::exec,
                                                                     .spawn_errno = 2,
                                                                     .detail = "nope"}},
                                                   {"Cleared", Cleared{}},
                                                   {"Sweep", Sweep{"4f", {12}}},
                                                   {"Swept", Swept{3}},
                                                   {"ErrorFile", ErrorFile{2, "{}"}},
                                                   {"OrderRank", OrderRank{.rank = 0}},
                                                   {"RankNews", RankNews{.rank = 2,
                                                                         .step = 12,
                                                                         .steps = 100,
                                                                         .micros = 81234,
                                                                         .kept = 11,
                                                                         .phases = {{"met", 21}},
                                                                         .checkpoints = {}}}};
  const std::string page = ds::test::read_source("docs/protocol.md");
  const std::string fence = "```vectors\n";
  const std::size_t begin = page.find(fence) + fence.size();
  std::istringstream lines(page.substr(begin, page.find("```", begin) - begin));
  std::size_t seen = 0;
  for (std::string name, hex; lines >> name >> hex; ++seen) {
    CAPTURE(name);
    std::string made;
    for (const std::byte byte : encode(kEnvelope, messages.at(name)))
      made += fmt::format("{:02x}", std::to_integer<int>(byte));
    CHECK(made == hex);
  }
  CHECK(seen == messages.size());
}
