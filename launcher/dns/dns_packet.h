// DNS messages (RFC 1035): questions out, answers in. Pure; fed with anything, it ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

enum class RecordType : std::uint16_t { a = 1, cname = 5, soa = 6, aaaa = 28 };

struct DnsQuestion {
  std::string name{};  // full, without the trailing dot, lower case
  RecordType type = RecordType::a;
  friend bool operator==(const DnsQuestion&, const DnsQuestion&) = default;
};

/// One record of class IN that says something about addresses.
struct DnsRecord {
  std::string name{};
  RecordType type = RecordType::a;
  std::uint32_t ttl = 0;
  std::vector<std::uint8_t> address{};  // a: 4 bytes, aaaa: 16
  std::string target{};                 // cname
};

struct DnsReply {
  std::uint16_t id = 0;
  bool truncated = false;
  int rcode = 0;
  std::optional<DnsQuestion> question{};     // none: not exactly one, or of a kind we never ask
  std::vector<DnsRecord> answers{};          // a, aaaa and cname
  std::optional<std::uint32_t> soa_minimum;  // min(TTL, MINIMUM) of the authority's SOA (RFC 2308)
};

/// Labels of 1 to 63 bytes, at most 253 in all.
bool is_dns_name(std::string_view name);

/// A question with recursion desired. `question.name` is a DNS name.
std::vector<std::byte> encode_question(std::uint16_t id, const DnsQuestion& question);

/// None: not the answer of a name server. Of a truncated one the records that are whole.
std::optional<DnsReply> decode_reply(std::span<const std::byte> bytes);

/// What a reply says about its question: the addresses at the end of the chain of aliases.
struct DnsAnswer {
  std::vector<std::vector<std::uint8_t>> addresses{};
  int rcode = 0;
  std::optional<std::uint32_t> negative_ttl{};  // without addresses
  std::string alias{};                          // the end of the chain, when it is another name
};
DnsAnswer answer_of(const DnsReply& reply, const DnsQuestion& question);

/// "NXDOMAIN", "SERVFAIL", "rcode 11".
std::string rcode_name(int rcode);
inline constexpr int kNoError = 0;
inline constexpr int kNameError = 3;

}  // namespace ds::launcher
