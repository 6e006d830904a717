// Writer of DNS messages for tests, byte by byte; it can also write malformed ones.
#pragma once

#include <asio/ip/address.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace ds::test {

/// Appends big-endian numbers, names and records to a message.
class MessageWriter {
 public:
  MessageWriter& u8(unsigned value) {
    bytes_.push_back(static_cast<std::byte>(value & 0xFFU));
    return *this;
  }
  MessageWriter& u16(unsigned value) { return u8(value >> 8U).u8(value); }
  MessageWriter& u32(std::uint32_t value) { return u16(value >> 16U).u16(value & 0xFFFFU); }
  MessageWriter& name(std::string_view text) {
    while (!text.empty()) {
      const std::string_view label = text.substr(0, text.find('.'));
      u8(static_cast<unsigned>(label.size()));
      for (const char c : label) u8(static_cast<unsigned char>(c));
      text.remove_prefix(std::min(text.size(), label.size() + 1));
    }
    return u8(0);
  }
  MessageWriter& pointer(unsigned offset) { return u16(0xC000U | offset); }
  MessageWriter& head(unsigned id, unsigned flags, std::initializer_list<unsigned> counts) {
    u16(id).u16(flags);
    for (const unsigned count : counts) u16(count);
    return *this;
  }
  /// Appends a question: name, type, class IN.
  MessageWriter& question(std::string_view of, unsigned type) { return name(of).u16(type).u16(1); }
  MessageWriter& address(std::string_view of, std::string_view text, std::uint32_t ttl = 5) {
    const asio::ip::address address = asio::ip::make_address(std::string(text));
    name(of).u16(address.is_v4() ? 1 : 28).u16(1).u32(ttl).u16(address.is_v4() ? 4 : 16);
    if (address.is_v4())
      for (const unsigned byte : address.to_v4().to_bytes()) u8(byte);
    else
      for (const unsigned byte : address.to_v6().to_bytes()) u8(byte);
    return *this;
  }
  MessageWriter& cname(std::string_view of, std::string_view target) {
    name(of).u16(5).u16(1).u32(5).u16(static_cast<unsigned>(target.size() + 2));
    return name(target);
  }
  MessageWriter& soa(std::string_view zone, std::uint32_t ttl, std::uint32_t minimum) {
    const std::string server = "ns." + std::string(zone);
    name(zone).u16(6).u16(1).u32(ttl);
    u16(static_cast<unsigned>(2 * (server.size() + 2) + 20));
    name(server).name(server);
    return u32(1).u32(7200).u32(1800).u32(86400).u32(minimum);
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

inline constexpr unsigned kAnswerFlags = 0x8180;  // response, recursion desired and available

}  // namespace ds::test
