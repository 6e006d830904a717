// Questions and answers as RFC 1035 writes them, and what a hostile server may write.
#include <doctest/doctest.h>

#include "launcher/dns/dns_packet.h"
#include "support/dns_message.h"

using namespace ds::launcher;
using ds::test::kAnswerFlags;
using ds::test::MessageWriter;

namespace {

const DnsQuestion kQuestion{"gpt-0.gpt", RecordType::a};

std::optional<DnsReply> decoded(const MessageWriter& message) {
  return decode_reply(message.bytes());
}

}  // namespace

TEST_CASE("a question has the bytes of RFC 1035") {
  MessageWriter expected;
  expected.head(0xABCD, 0x0100, {1, 0, 0, 0}).question("gpt-0.gpt", 1);
  CHECK(encode_question(0xABCD, kQuestion) == expected.bytes());
}

TEST_CASE("what a DNS name is") {
  CHECK(is_dns_name("gpt-0.gpt.ns.svc.cluster.local"));
  CHECK(is_dns_name("A_b"));
  CHECK(is_dns_name(std::string(63, 'a')));
  const std::string label(49, 'a');
  const std::string most = label + "." + label + "." + label + "." + label + "." + label + ".abc";
  CHECK(most.size() == 253);
  CHECK(is_dns_name(most));
  const std::string bad[] = {"",         ".",   "a..b", ".a",      "a.", std::string(64, 'a'),
                             most + "d", "a b", "a\\b", "\xC3\xA9"};
  for (const std::string& name : bad) {
    CAPTURE(name);
    CHECK_FALSE(is_dns_name(name));
  }
}

TEST_CASE("addresses of both kinds, behind pointers too") {
  MessageWriter message;
  message.head(7, kAnswerFlags, {1, 2, 0, 0}).question("gpt-0.gpt", 1);
  message.pointer(12).u16(1).u16(1).u32(5).u16(4).u32(0x0A000001);
  message.address("GPT-0.gpt", "10.0.0.2");
  const auto reply = decoded(message);
  REQUIRE(reply);
  CHECK(reply->id == 7);
  CHECK(reply->question == kQuestion);
  const DnsAnswer answer = answer_of(*reply, kQuestion);
  CHECK(answer.addresses == std::vector<std::vector<std::uint8_t>>{{10, 0, 0, 1}, {10, 0, 0, 2}});
  CHECK(answer.alias.empty());

  MessageWriter v6;
  v6.head(7, kAnswerFlags, {1, 1, 0, 0}).question("a", 28).address("a", "fd00::1");
  const DnsQuestion question{"a", RecordType::aaaa};
  const DnsAnswer six = answer_of(decoded(v6).value(), question);
  REQUIRE(six.addresses.size() == 1);
  CHECK(six.addresses[0].size() == 16);
  CHECK(six.addresses[0][0] == 0xFD);
  CHECK(answer_of(decoded(v6).value(), {"a", RecordType::a}).addresses.empty());
}

TEST_CASE("a chain of aliases in any order; a circle and a loose end give nothing") {
  MessageWriter chain;
  chain.head(1, kAnswerFlags, {1, 3, 0, 0}).question("a", 1);
  chain.cname("b", "c.d").address("c.d", "10.0.0.9").cname("a", "b");
  const DnsAnswer answer = answer_of(decoded(chain).value(), {"a", RecordType::a});
  CHECK(answer.addresses.size() == 1);
  CHECK(answer.alias == "c.d");

  MessageWriter circle;
  circle.head(1, kAnswerFlags, {1, 2, 0, 0}).question("a", 1).cname("a", "b").cname("b", "a");
  CHECK(answer_of(decoded(circle).value(), {"a", RecordType::a}).addresses.empty());

  MessageWriter loose;
  loose.head(1, kAnswerFlags, {1, 1, 1, 0}).question("a", 1).cname("a", "b").soa("x", 30, 5);
  const DnsAnswer end = answer_of(decoded(loose).value(), {"a", RecordType::a});
  CHECK(end.alias == "b");
  CHECK(end.negative_ttl == 5);
}

TEST_CASE("an address of another name is none of the question") {
  MessageWriter message;
  message.head(1, kAnswerFlags, {1, 1, 0, 0}).question("a", 1).address("evil", "10.6.6.6");
  CHECK(answer_of(decoded(message).value(), {"a", RecordType::a}).addresses.empty());
}

TEST_CASE("the negative TTL is the smaller of the SOA's TTL and its minimum") {
  for (const auto& [ttl, minimum] : {std::pair{5U, 30U}, std::pair{30U, 5U}}) {
    MessageWriter message;
    message.head(1, kAnswerFlags | 3U, {1, 0, 1, 0}).question("a", 1).soa("cluster", ttl, minimum);
    const auto reply = decoded(message);
    REQUIRE(reply);
    CHECK(reply->rcode == kNameError);
    CHECK(answer_of(*reply, {"a", RecordType::a}).negative_ttl == 5);
  }
  MessageWriter without;
  without.head(1, kAnswerFlags | 3U, {1, 0, 0, 0}).question("a", 1);
  CHECK_FALSE(answer_of(decoded(without).value(), {"a", RecordType::a}).negative_ttl);
  CHECK(rcode_name(2) == "SERVFAIL");
  CHECK(rcode_name(11) == "rcode 11");
}

TEST_CASE("names that loop, run on or leave the message are refused") {
  const auto refused = [](const MessageWriter& message) { return !decoded(message); };
  CHECK(refused(MessageWriter().head(1, kAnswerFlags, {1, 0, 0, 0}).pointer(12).u16(1).u16(1)));
  CHECK(refused(MessageWriter().head(1, kAnswerFlags, {1, 0, 0, 0}).pointer(14).u16(1).u16(1)));
  CHECK(refused(MessageWriter().head(1, kAnswerFlags, {1, 0, 0, 0}).pointer(4000).u16(1).u16(1)));
  CHECK(refused(
      MessageWriter().head(1, kAnswerFlags, {1, 0, 0, 0}).u8(1).u8('a').pointer(12).u16(1).u16(1)));
  CHECK(refused(MessageWriter().head(1, kAnswerFlags, {1, 0, 0, 0}).u8(0x40).u8('a').u8(0)));
  std::string endless = "a";
  for (int i = 0; i < 130; ++i) endless += ".a";
  CHECK(refused(MessageWriter().head(1, kAnswerFlags, {1, 0, 0, 0}).question(endless, 1)));
}

TEST_CASE("every cut of an answer is refused, unless it says that it is cut") {
  MessageWriter message;
  message.head(1, kAnswerFlags, {1, 2, 1, 0}).question("a", 1);
  message.address("a", "10.0.0.1").address("a", "10.0.0.2").soa("x", 1, 1);
  std::vector<std::byte> bytes = message.bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(decode_reply(std::span(bytes).first(size)));
  }
  CHECK(decode_reply(bytes));
  bytes[2] |= std::byte{0x02};
  const auto cut = decode_reply(std::span(bytes).first(bytes.size() / 2));
  REQUIRE(cut);
  CHECK(cut->truncated);
  CHECK(cut->answers.size() == 1);
}

TEST_CASE("what is no answer: a question, another kind of message, lying sizes, two questions") {
  CHECK_FALSE(decode_reply(encode_question(1, kQuestion)));
  CHECK_FALSE(decoded(MessageWriter().head(1, 0x8900, {0, 0, 0, 0})));
  MessageWriter lie;
  lie.head(1, kAnswerFlags, {0, 1, 0, 0}).name("a").u16(1).u16(1).u32(5).u16(5).u32(1).u8(1);
  CHECK_FALSE(decoded(lie));
  MessageWriter two;
  two.head(1, kAnswerFlags, {2, 0, 0, 0}).question("a", 1).question("b", 1);
  CHECK_FALSE(decoded(two));
  const auto bare = decoded(MessageWriter().head(1, 0x8185, {0, 0, 0, 0}));
  REQUIRE(bare);
  CHECK_FALSE(bare->question);
  CHECK(rcode_name(bare->rcode) == "REFUSED");
}

TEST_CASE("records of other classes and types are passed over") {
  MessageWriter message;
  message.head(1, kAnswerFlags, {1, 3, 0, 0}).question("a", 1);
  message.name("a").u16(16).u16(1).u32(5).u16(3).u8(2).u8('h').u8('i');  // TXT
  message.name("a").u16(1).u16(3).u32(5).u16(4).u32(0x7F000001);         // class CH
  message.address("a", "10.0.0.1");
  CHECK(answer_of(decoded(message).value(), {"a", RecordType::a}).addresses ==
        std::vector<std::vector<std::uint8_t>>{{10, 0, 0, 1}});
}
