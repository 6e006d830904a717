#include "launcher/dns/lookup_state.h"

#include <ares.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "engine/base/error.h"

namespace ds::launcher {
namespace {

using Kind = DnsAnswer::Kind;

bool says_no(const DnsAnswer& answer) {
  return answer.kind == Kind::no_address || answer.kind == Kind::no_name ||
         answer.kind == Kind::bad_name;
}

DnsResult no_record(const DnsAnswer& answer, const std::string& server) {
  std::string why = "not a domain name";
  if (answer.kind == Kind::no_name) why = "NXDOMAIN from " + server;
  if (answer.kind == Kind::no_address) why = "no address from " + server;
  return {{}, DnsProblem::no_record, fmt::format("no DNS record ({})", why), answer.negative_ttl};
}

/// Adds what is wrong with a server to a text, once.
void add_trouble(const DnsAnswer& answer, const std::string& server, DnsResult& trouble) {
  const bool failed = answer.kind == Kind::failed;
  const std::string text =
      failed ? fmt::format("{} from {}", answer.detail, server)
             : fmt::format("no answer from name server {} {}", server, answer.detail);
  if (failed || trouble.problem == DnsProblem::none)
    trouble.problem = failed ? DnsProblem::server_failed : DnsProblem::no_answer;
  if (trouble.text.find(text) == std::string::npos)
    trouble.text += (trouble.text.empty() ? "" : ", ") + text;
}

/// Reads numbers of a DNS message and skips names; at the first error it stays at the end.
class MessageReader {
 public:
  explicit MessageReader(std::span<const unsigned char> message) : message_(message) {}
  [[nodiscard]] bool ok() const { return ok_; }
  void skip(std::size_t count) {
    ok_ = ok_ && count <= message_.size() - at_;
    at_ = ok_ ? at_ + count : message_.size();
  }
  std::uint32_t number(std::size_t bytes) {
    const std::size_t from = at_;
    skip(bytes);
    std::uint32_t value = 0;
    for (std::size_t i = 0; ok_ && i < bytes; ++i) value = value << 8U | message_[from + i];
    return value;
  }
  void skip_name() {
    char* name = nullptr;
    long size = 0;
    // c-ares reads the first byte without a check.
    ok_ = ok_ && at_ < message_.size() &&
          ares_expand_name(message_.data() + at_, message_.data(),
                           static_cast<int>(message_.size()), &name, &size) == ARES_SUCCESS;
    if (ok_) ares_free_string(name);
    skip(static_cast<std::size_t>(size));
  }

 private:
  std::span<const unsigned char> message_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

std::optional<std::chrono::seconds> negative_ttl(std::span<const unsigned char> message) {
  MessageReader in(message);
  in.skip(4);  // id, flags
  const std::uint32_t questions = in.number(2);
  const std::uint32_t answers = in.number(2);
  const std::uint32_t records = answers + in.number(2);  // with those of the authority section
  in.skip(2);
  for (std::uint32_t i = 0; in.ok() && i < questions; ++i) {
    in.skip_name();
    in.skip(4);
  }
  for (std::uint32_t i = 0; in.ok() && i < records; ++i) {
    in.skip_name();
    const bool soa = in.number(2) == 6;
    const bool internet = in.number(2) == 1;
    const std::uint32_t ttl = in.number(4);
    const std::uint32_t size = in.number(2);
    if (i < answers || !soa || !internet) {
      in.skip(size);
      continue;
    }
    in.skip_name();  // the zone's server
    in.skip_name();  // its mailbox
    in.skip(16);     // serial, refresh, retry, expire
    const std::uint32_t least = std::min(ttl, in.number(4));
    if (!in.ok()) return std::nullopt;
    return std::chrono::seconds(least > 0x7FFFFFFF ? 0 : least);  // RFC 2181, section 8
  }
  return std::nullopt;
}

DnsResult found_addresses(std::vector<asio::ip::address> addresses) {
  std::stable_partition(addresses.begin(), addresses.end(),
                        [](const asio::ip::address& address) { return address.is_v4(); });
  DnsResult result;
  for (asio::ip::address& address : addresses)
    if (std::ranges::count(result.addresses, address) == 0)
      result.addresses.push_back(std::move(address));
  return result;
}

std::string within_text(Clock::duration waited) {
  return fmt::format("within {:.2g} s", std::chrono::duration<double>(waited).count());
}

LookupState::LookupState(std::vector<std::string> names, std::vector<std::string> servers)
    : names_(std::move(names)), servers_(std::move(servers)) {
  DS_ASSERT(!names_.empty() && !servers_.empty());
}

void LookupState::on_answers(const DnsAnswer& v4, const DnsAnswer& v6, bool over) {
  DS_ASSERT(!end_);
  std::vector<asio::ip::address> addresses = v4.addresses;
  addresses.insert(addresses.end(), v6.addresses.begin(), v6.addresses.end());
  if (!addresses.empty()) {
    end_ = found_addresses(std::move(addresses));
    return;
  }
  if (says_no(v4) || says_no(v6)) {
    problems_.push_back(no_record(says_no(v4) ? v4 : v6, server()));
  } else {
    for (const DnsAnswer* answer : {&v4, &v6}) add_trouble(*answer, server(), trouble_);
    if (++tried_ < servers_.size() && !over) {
      server_ = (server_ + 1) % servers_.size();
      return;
    }
    problems_.push_back(trouble_);
  }
  const bool silence = problems_.back().problem == DnsProblem::no_answer;
  if (silence || over || name_ + 1 == names_.size()) return fail();
  ++name_;
  tried_ = 0;
  trouble_ = {};
}

/// The first name is the likely one: its problem counts. A problem of another kind with a later
/// name, such as a server that cannot ask the world, is added to the text.
void LookupState::fail() {
  end_ = problems_.front();
  for (std::size_t i = 1; i < problems_.size(); ++i) {
    if (problems_[i].problem == DnsProblem::no_record) continue;
    end_->text += fmt::format("; for {}: {}", names_[i], problems_[i].text);
    break;
  }
}

}  // namespace ds::launcher
