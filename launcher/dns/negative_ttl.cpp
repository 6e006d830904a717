// Walks through the records of a DNS message to its SOA.
#include "launcher/dns/negative_ttl.h"

#include <ares.h>

#include <algorithm>
#include <cstdint>

namespace ds::launcher {

namespace {

constexpr std::uint32_t kSoa = 6;
constexpr std::uint32_t kInternet = 1;

/// Reads numbers and skips names; at the first error it stays at the end.
class Reader {
 public:
  explicit Reader(std::span<const unsigned char> message) : message_(message) {}
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] std::size_t at() const { return at_; }
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
  Reader in(message);
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
    const bool soa = in.number(2) == kSoa;
    const bool internet = in.number(2) == kInternet;
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

}  // namespace ds::launcher
