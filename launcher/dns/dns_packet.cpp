// Every read is checked against the end; a name's pointers only lead backwards.
#include "launcher/dns/dns_packet.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "engine/base/error.h"

namespace ds::launcher {

namespace {

constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxLabel = 63;
constexpr std::size_t kMaxAliases = 16;
constexpr std::uint16_t kInternet = 1;
constexpr std::uint16_t kResponse = 0x8000;
constexpr std::uint16_t kTruncated = 0x0200;
constexpr std::uint16_t kRecursionDesired = 0x0100;
constexpr std::uint16_t kOpcode = 0x7800;

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t at() const { return at_; }
  void go_to(std::size_t at) { at <= bytes_.size() ? void(at_ = at) : fail(); }

  std::uint8_t u8() {
    if (at_ >= bytes_.size()) return fail(), std::uint8_t{0};
    return std::to_integer<std::uint8_t>(bytes_[at_++]);
  }
  std::uint16_t u16() {
    const std::uint16_t high = u8();
    return static_cast<std::uint16_t>(high << 8U | u8());
  }
  std::uint32_t u32() {
    const std::uint32_t high = u16();
    return high << 16U | u16();
  }

  /// Lower case; bytes that are no letters, digits, '-' or '_' as \DDD, so that a dot separates.
  std::string name() {
    std::string name;
    std::size_t behind = 0;   // the first pointer: reading goes on there
    std::size_t limit = at_;  // pointers lead before it, and it falls with each: no loops
    std::size_t size = 0;
    for (std::uint8_t length = u8(); ok_ && length != 0; length = u8()) {
      if (length >= 0xC0) {
        const std::size_t target = (length & 0x3FU) << 8U | u8();
        if (behind == 0) behind = at_;
        if (target >= limit) return fail(), name;
        limit = at_ = target;
        continue;
      }
      size += length + 1U;
      if (length > kMaxLabel || size > kMaxName + 1) return fail(), name;
      if (!name.empty()) name += '.';
      for (; length > 0; --length) add_letter(name, u8());
    }
    if (behind != 0) at_ = behind;
    return name;
  }

 private:
  void fail() {
    ok_ = false;
    at_ = bytes_.size();
  }
  static void add_letter(std::string& name, std::uint8_t byte) {
    const char c = static_cast<char>(byte);
    if (c >= 'A' && c <= 'Z') {
      name += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_') {
      name += c;
    } else {
      name += fmt::format("\\{:03}", byte);
    }
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

/// What stands before the data of every record.
struct RecordHead {
  std::string name;
  std::uint16_t type = 0;
  std::uint16_t klass = 0;
  std::uint32_t ttl = 0;
  std::size_t end = 0;
};

RecordHead read_head(Reader& in) {
  RecordHead head;
  head.name = in.name();
  head.type = in.u16();
  head.klass = in.u16();
  head.ttl = in.u32();
  if (head.ttl > 0x7FFFFFFF) head.ttl = 0;  // RFC 2181
  const std::size_t size = in.u16();
  head.end = in.at() + size;
  return head;
}

/// False: the message ends inside it, or its data is not what its type says.
bool read_answer(Reader& in, std::vector<DnsRecord>& answers) {
  const RecordHead head = read_head(in);
  DnsRecord record{head.name, static_cast<RecordType>(head.type), head.ttl, {}, {}};
  const bool known = head.klass == kInternet;
  if (known && record.type == RecordType::cname) {
    record.target = in.name();
    if (in.at() != head.end) return false;
  } else if (known && (record.type == RecordType::a || record.type == RecordType::aaaa)) {
    if (head.end - in.at() != (record.type == RecordType::a ? 4U : 16U)) return false;
    while (in.ok() && in.at() < head.end) record.address.push_back(in.u8());
  }
  in.go_to(head.end);
  if (!in.ok()) return false;
  if (!record.target.empty() || !record.address.empty()) answers.push_back(std::move(record));
  return true;
}

bool read_authority(Reader& in, std::optional<std::uint32_t>& soa_minimum) {
  const RecordHead head = read_head(in);
  if (in.ok() && head.klass == kInternet && head.type == static_cast<int>(RecordType::soa)) {
    in.name();  // the zone's server
    in.name();  // its mailbox
    for (int i = 0; i < 4; ++i) in.u32();
    const std::uint32_t minimum = in.u32();
    if (!in.ok() || in.at() != head.end) return false;
    soa_minimum = std::min(head.ttl, minimum);
  }
  in.go_to(head.end);
  return in.ok();
}

std::optional<DnsQuestion> read_question(Reader& in) {
  const std::string name = in.name();
  const std::uint16_t type = in.u16();
  const bool ours = in.u16() == kInternet && (type == static_cast<int>(RecordType::a) ||
                                              type == static_cast<int>(RecordType::aaaa));
  if (!in.ok() || !ours) return std::nullopt;
  return DnsQuestion{name, static_cast<RecordType>(type)};
}

void put16(std::vector<std::byte>& out, unsigned value) {
  out.push_back(static_cast<std::byte>(value >> 8U & 0xFFU));
  out.push_back(static_cast<std::byte>(value & 0xFFU));
}

}  // namespace

bool is_dns_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxName) return false;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    if (end == at || end - at > kMaxLabel) return false;
    at = end + 1;
  }
  // Nothing that the reader would escape, so that questions come back as they went out.
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

std::vector<std::byte> encode_question(std::uint16_t id, const DnsQuestion& question) {
  DS_ASSERT(is_dns_name(question.name));
  std::vector<std::byte> out;
  for (const unsigned word : {unsigned{id}, unsigned{kRecursionDesired}, 1U, 0U, 0U, 0U})
    put16(out, word);
  for (std::size_t at = 0; at < question.name.size();) {
    const std::size_t end = std::min(question.name.find('.', at), question.name.size());
    out.push_back(static_cast<std::byte>(end - at));
    for (; at < end; ++at) out.push_back(static_cast<std::byte>(question.name[at]));
    at = end + 1;
  }
  out.push_back(std::byte{0});
  put16(out, static_cast<unsigned>(question.type));
  put16(out, kInternet);
  return out;
}

std::optional<DnsReply> decode_reply(std::span<const std::byte> bytes) {
  Reader in(bytes);
  DnsReply reply;
  reply.id = in.u16();
  const std::uint16_t flags = in.u16();
  if (!in.ok() || (flags & kResponse) == 0 || (flags & kOpcode) != 0) return std::nullopt;
  reply.truncated = (flags & kTruncated) != 0;
  reply.rcode = flags & 0xFU;
  std::array<std::uint16_t, 4> counts{};
  for (std::uint16_t& count : counts) count = in.u16();
  if (!in.ok() || counts[0] > 1) return std::nullopt;
  if (counts[0] == 1) reply.question = read_question(in);
  if (!in.ok()) return std::nullopt;
  for (int i = 0; i < counts[1]; ++i)
    if (!read_answer(in, reply.answers))
      return reply.truncated ? std::optional(reply) : std::nullopt;
  for (int i = 0; i < counts[2]; ++i)
    if (!read_authority(in, reply.soa_minimum))
      return reply.truncated ? std::optional(reply) : std::nullopt;
  return reply;
}

DnsAnswer answer_of(const DnsReply& reply, const DnsQuestion& question) {
  DnsAnswer answer;
  answer.rcode = reply.rcode;
  std::string name = question.name;
  std::set<std::string> seen;  // aliases in a circle end where they meet themselves
  for (bool further = true; further && seen.size() < kMaxAliases && seen.insert(name).second;) {
    further = false;
    for (const DnsRecord& record : reply.answers) {
      if (record.type != RecordType::cname || record.name != name) continue;
      name = record.target;
      further = true;
      break;
    }
  }
  for (const DnsRecord& record : reply.answers)
    if (record.type == question.type && record.name == name)
      answer.addresses.push_back(record.address);
  if (answer.addresses.empty()) answer.negative_ttl = reply.soa_minimum;
  if (name != question.name) answer.alias = name;
  return answer;
}

std::string rcode_name(int rcode) {
  constexpr std::array kNames = {"NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED"};
  if (rcode >= 0 && rcode < static_cast<int>(kNames.size()))
    return kNames[static_cast<std::size_t>(rcode)];
  return fmt::format("rcode {}", rcode);
}

}  // namespace ds::launcher
