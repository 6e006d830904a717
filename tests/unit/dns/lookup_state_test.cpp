// One look against scripted servers and a clock that is an argument.
#include "launcher/dns/lookup_state.h"

#include <doctest/doctest.h>

#include "support/dns_message.h"

using ds::Clock;
using namespace ds::launcher;
using namespace std::chrono_literals;
using ds::test::kAnswerFlags;
using ds::test::MessageWriter;

namespace {

const Clock::time_point kStart{};

/// A look, and its queries so far.
class Look {
 public:
  explicit Look(std::vector<std::string> candidates,
                std::vector<std::string> servers = {"10.0.0.10"}, bool tcp_only = false)
      : state_({.candidates = std::move(candidates),
                .servers = std::move(servers),
                .tcp_only = tcp_only},
               kStart) {
    take();
  }
  /// Answers the newest query of this kind.
  void answer(RecordType type, std::size_t server, const std::string& address, unsigned rcode = 0,
              Clock::duration at = 1ms, unsigned flags = kAnswerFlags) {
    const LookupQuery query = newest(type, server);
    MessageWriter message;
    message.head(1, flags | rcode, {1, address.empty() ? 0U : 1U, rcode == 3 ? 1U : 0U, 0});
    message.question(query.question.name, static_cast<unsigned>(type));
    if (!address.empty()) message.address(query.question.name, address);
    if (rcode == 3) message.soa("cluster.local", 30, 5);
    state_.on_reply(query.number, decode_reply(message.bytes()).value(), kStart + at);
    take();
  }
  void both(std::size_t server, unsigned rcode, Clock::duration at = 1ms) {
    answer(RecordType::a, server, "", rcode, at);
    if (!state_.end()) answer(RecordType::aaaa, server, "", rcode, at);
  }
  void refuse(RecordType type, std::size_t server) {
    state_.on_trouble(newest(type, server).number, "Connection refused", kStart + 1ms);
    take();
  }
  void time(Clock::duration at) {
    state_.on_time(kStart + at);
    take();
  }
  [[nodiscard]] const LookupQuery& newest(RecordType type, std::size_t server) const {
    const LookupQuery* found = nullptr;
    for (const LookupQuery& query : sent)
      if (query.question.type == type && query.server == server) found = &query;
    REQUIRE(found != nullptr);
    return *found;
  }
  [[nodiscard]] bool over() const { return state_.end().has_value(); }
  [[nodiscard]] const LookupEnd& end() const { return state_.end().value(); }
  [[nodiscard]] Clock::duration wakes() const { return state_.wake_at() - kStart; }
  [[nodiscard]] int queries() const { return state_.queries(); }

  std::vector<LookupQuery> sent;

 private:
  void take() {
    for (LookupQuery& query : state_.take_queries()) sent.push_back(std::move(query));
  }
  LookupState state_;
};

using Addresses = std::vector<std::vector<std::uint8_t>>;
const std::vector<std::string> kPodNames = {"g.ns.svc.cluster.local", "g.svc.cluster.local",
                                            "g.cluster.local", "g"};
constexpr unsigned kNxDomain = 3;
constexpr unsigned kServFail = 2;

}  // namespace

TEST_CASE("a name that is there costs two queries") {
  Look look(kPodNames);
  look.answer(RecordType::a, 0, "10.1.0.1");
  CHECK_FALSE(look.over());
  look.answer(RecordType::aaaa, 0, "");
  REQUIRE(look.over());
  CHECK(look.end().addresses == Addresses{{10, 1, 0, 1}});
  CHECK(look.end().problem == DnsProblem::none);
  CHECK(look.queries() == 2);
}

TEST_CASE("a name that is nowhere costs two queries a candidate, and the first problem counts") {
  Look look(kPodNames);
  for (int i = 0; i < 3; ++i) look.both(0, kNxDomain);
  look.both(0, kServFail);
  REQUIRE(look.over());
  CHECK(look.queries() == 8);
  CHECK(look.end().problem == DnsProblem::no_record);
  CHECK(look.end().text ==
        "no DNS record (NXDOMAIN from 10.0.0.10); for g: SERVFAIL from 10.0.0.10");
  CHECK(look.end().negative_ttl == 5s);
}

TEST_CASE("a later candidate's address is found") {
  Look look(kPodNames);
  look.both(0, kNxDomain);
  look.both(0, 0);
  CHECK(look.sent.back().question.name == "g.cluster.local");
  look.answer(RecordType::aaaa, 0, "fd00::7");
  look.answer(RecordType::a, 0, "10.1.0.1");
  REQUIRE(look.over());
  REQUIRE(look.end().addresses.size() == 2);
  CHECK(look.end().addresses[0].size() == 4);
  CHECK(look.end().addresses[1].size() == 16);
}

TEST_CASE("a name of the search list's second domain costs four queries") {
  Look look(kPodNames);
  look.both(0, kNxDomain);
  look.answer(RecordType::a, 0, "10.1.0.1");
  look.answer(RecordType::aaaa, 0, "");
  REQUIRE(look.over());
  CHECK(look.queries() == 4);
}

TEST_CASE("no address, says the server: another text than NXDOMAIN") {
  Look look({"g"});
  look.both(0, 0);
  CHECK(look.end().problem == DnsProblem::no_record);
  CHECK(look.end().text == "no DNS record (no address, says 10.0.0.10)");
  CHECK_FALSE(look.end().negative_ttl);
}

TEST_CASE("every server is asked; the first address counts, a slow server gets 0.25 s more") {
  Look look({"g"}, {"10.0.0.10", "10.0.0.11"});
  CHECK(look.queries() == 4);
  look.both(0, kNxDomain, 10ms);
  CHECK_FALSE(look.over());
  CHECK(look.wakes() == 260ms);
  look.answer(RecordType::a, 1, "10.1.0.1", 0, 200ms);
  REQUIRE(look.over());  // of AAAA the first server has said that there is none
  CHECK(look.end().addresses == Addresses{{10, 1, 0, 1}});

  Look slow({"g"}, {"10.0.0.10", "10.0.0.11"});
  slow.both(0, kNxDomain, 10ms);
  slow.time(260ms);
  REQUIRE(slow.over());
  CHECK(slow.end().problem == DnsProblem::no_record);
}

TEST_CASE("an answer for one type is not held up by the other's loss") {
  Look look({"g"});
  look.answer(RecordType::a, 0, "10.1.0.1", 0, 10ms);
  CHECK(look.wakes() == 260ms);
  look.time(260ms);
  REQUIRE(look.over());
  CHECK(look.end().addresses == Addresses{{10, 1, 0, 1}});

  Look six({"g"});
  six.answer(RecordType::aaaa, 0, "fd00::7", 0, 10ms);
  six.answer(RecordType::a, 0, "", kServFail, 20ms);
  REQUIRE(six.over());
  CHECK(six.end().addresses.size() == 1);
}

TEST_CASE("silence: two tries, then the end, without the other candidates") {
  Look look(kPodNames);
  CHECK(look.wakes() == 1000ms);
  look.time(1000ms);
  CHECK(look.queries() == 4);
  CHECK(look.wakes() == 3000ms);
  look.time(2999ms);
  CHECK_FALSE(look.over());
  look.time(3000ms);
  REQUIRE(look.over());
  CHECK(look.queries() == 4);
  CHECK(look.end().problem == DnsProblem::no_answer);
  CHECK(look.end().text == "no answer from name server 10.0.0.10 within 3 s");
}

TEST_CASE("an answer to the first try counts after the second was sent") {
  Look look({"g"});
  const int first = look.newest(RecordType::a, 0).number;
  look.time(1000ms);
  CHECK(look.newest(RecordType::a, 0).number != first);
  look.answer(RecordType::a, 0, "10.1.0.1", 0, 1100ms);
  look.answer(RecordType::aaaa, 0, "", 0, 1100ms);
  CHECK(look.end().addresses.size() == 1);
}

TEST_CASE("only what is unanswered is asked again") {
  Look look({"g"});
  look.answer(RecordType::a, 0, "", 0);
  look.time(1000ms);
  CHECK(look.queries() == 3);
  CHECK(look.sent.back().question.type == RecordType::aaaa);
}

TEST_CASE("servers that refuse or fail are named with what they said") {
  Look refused({"g"});
  refused.refuse(RecordType::a, 0);
  refused.refuse(RecordType::aaaa, 0);
  CHECK(refused.end().problem == DnsProblem::no_answer);
  CHECK(refused.end().text == "no answer from name server 10.0.0.10: Connection refused");

  Look failed({"g"}, {"10.0.0.10", "10.0.0.11"});
  failed.both(0, kServFail);
  failed.both(1, 5);
  CHECK(failed.end().problem == DnsProblem::server_failed);
  CHECK(failed.end().text == "SERVFAIL from 10.0.0.10, REFUSED from 10.0.0.11");
}

TEST_CASE("a truncated answer is asked for again over TCP") {
  constexpr unsigned kCut = kAnswerFlags | 0x0200U;
  Look look({"g"});
  look.answer(RecordType::aaaa, 0, "");
  look.answer(RecordType::a, 0, "10.1.0.1", 0, 1ms, kCut);
  CHECK_FALSE(look.over());
  REQUIRE(look.sent.back().tcp);
  look.answer(RecordType::a, 0, "10.1.0.2", 0, 2ms);
  REQUIRE(look.over());
  CHECK(look.end().addresses == Addresses{{10, 1, 0, 2}});
  CHECK(look.queries() == 3);

  Look broken({"g"});
  broken.answer(RecordType::aaaa, 0, "");
  broken.answer(RecordType::a, 0, "10.1.0.1", 0, 1ms, kCut);
  broken.refuse(RecordType::a, 0);
  CHECK(broken.end().addresses == Addresses{{10, 1, 0, 1}});

  Look silent({"g"});
  silent.answer(RecordType::aaaa, 0, "");
  silent.answer(RecordType::a, 0, "10.1.0.1", 0, 1ms, kCut);
  silent.time(1000ms);
  CHECK(silent.queries() == 3);
  silent.time(3000ms);
  CHECK(silent.end().addresses == Addresses{{10, 1, 0, 1}});
}

TEST_CASE("use-vc: TCP alone, asked once") {
  Look look({"g"}, {"10.0.0.10"}, true);
  CHECK(look.sent[0].tcp);
  CHECK(look.sent[1].tcp);
  look.time(1000ms);
  CHECK(look.queries() == 2);
  look.answer(RecordType::a, 0, "10.1.0.1");
  look.answer(RecordType::aaaa, 0, "");
  CHECK(look.over());
}

TEST_CASE("the limit ends a look in the middle of its candidates") {
  Look look({"a", "b", "c"});
  look.time(1000ms);
  look.both(0, kServFail, 2900ms);
  look.time(3900ms);
  CHECK(look.wakes() == 5000ms);
  look.time(5000ms);
  REQUIRE(look.over());
  CHECK(look.end().problem == DnsProblem::server_failed);
  CHECK(look.end().text ==
        "SERVFAIL from 10.0.0.10; for b: no answer from name server 10.0.0.10 within 2.1 s");
}

TEST_CASE("answers for a candidate that is behind us change nothing") {
  Look look({"a", "b"}, {"10.0.0.10", "10.0.0.11"});
  const LookupQuery old = look.newest(RecordType::a, 1);
  look.both(0, kNxDomain, 1ms);
  look.time(251ms);
  CHECK(look.newest(RecordType::a, 1).question.name == "b");
  look.both(0, kNxDomain, 300ms);
  look.both(1, kNxDomain, 300ms);
  CHECK(look.end().problem == DnsProblem::no_record);
  CHECK(old.question.name == "a");
}
