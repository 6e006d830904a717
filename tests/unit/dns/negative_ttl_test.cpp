// Tests of the negative TTL: SOA records in good, odd and cut answers.
#include <doctest/doctest.h>

#include "launcher/dns/lookup_state.h"
#include "support/dns_message.h"

using namespace ds::launcher;
using ds::test::kAnswerFlags;
using ds::test::MessageWriter;
using std::chrono::seconds;

namespace {

constexpr unsigned kNxDomain = kAnswerFlags | 3U;

std::optional<seconds> ttl_of(const MessageWriter& message) {
  const auto& bytes = message.bytes();
  return negative_ttl({reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()});
}

}  // namespace

TEST_CASE("the negative TTL is the smaller of the SOA's TTL and its minimum") {
  for (const auto& [ttl, minimum] : {std::pair{5U, 30U}, std::pair{30U, 5U}}) {
    MessageWriter message;
    message.head(1, kNxDomain, {1, 0, 1, 0}).question("a", 1).soa("cluster", ttl, minimum);
    CHECK(ttl_of(message) == seconds(5));
  }
}

TEST_CASE("an SOA after aliases and other records of the authority section is found") {
  MessageWriter message;
  message.head(1, kAnswerFlags, {1, 1, 2, 0}).question("a", 1).cname("a", "b");
  message.address("ns.x", "10.0.0.1").soa("x", 30, 7);
  CHECK(ttl_of(message) == seconds(7));
}

TEST_CASE("without an SOA in the authority section there is no negative TTL") {
  MessageWriter none;
  none.head(1, kNxDomain, {1, 0, 0, 0}).question("a", 1);
  CHECK_FALSE(ttl_of(none));
  MessageWriter answer;  // not of the authority section
  answer.head(1, kAnswerFlags, {1, 1, 0, 0}).question("a", 6).soa("a", 30, 7);
  CHECK_FALSE(ttl_of(answer));
}

TEST_CASE("a TTL with its highest bit set counts as 0 (RFC 2181)") {
  MessageWriter message;
  message.head(1, kNxDomain, {1, 0, 1, 0}).question("a", 1).soa("x", 0x80000000, 0xFFFFFFFF);
  CHECK(ttl_of(message) == seconds(0));
}

TEST_CASE("no cut of an answer has a negative TTL, and a name that loops ends the reading") {
  MessageWriter message;
  message.head(1, kNxDomain, {1, 0, 1, 0}).question("a", 1).soa("x", 5, 5);
  const auto& bytes = message.bytes();
  const std::span all(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  for (std::size_t size = 0; size < all.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(negative_ttl(all.first(size)));
  }
  MessageWriter loop;
  CHECK_FALSE(ttl_of(loop.head(1, kNxDomain, {1, 0, 1, 0}).pointer(12).u16(1).u16(1)));
}
