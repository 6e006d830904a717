// Reader of TensorBoard's event files, for tests: checks every frame and collects the points.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/monitor/crc32c.h"

namespace ds::test {

struct EventFacts {
  std::string version{};
  std::int64_t start = -1;  // step of the last SessionLog START; -1: none
  /// By tag: (step, value), in the order of the file, without what a START has purged.
  std::map<std::string, std::vector<std::pair<std::int64_t, double>>> points{};
  int records = 0;
  bool ends_whole = true;  // the text ends with a whole record
  bool is_sound = true;    // all checksums and messages are right
};

/// Reads fields of one message of protocol buffers, of the four wire types that events use.
class MessageReader {
 public:
  explicit MessageReader(std::string_view text) : rest_(text) {}
  /// Moves to the next field. Returns false at the end, or where the message is broken.
  bool next() {
    if (rest_.empty() || broken) return false;
    const std::uint64_t key = varint();
    field = static_cast<int>(key >> 3U);
    const auto wire = key & 7U;
    number = 0;
    bytes = {};
    if (wire == 0) {
      number = varint();
    } else if (wire == 1 || wire == 5) {
      number = fixed(wire == 1 ? 8 : 4);
    } else if (wire == 2) {
      bytes = take(varint());
    } else {
      broken = true;
    }
    return !broken;
  }
  int field = 0;
  std::uint64_t number = 0;
  std::string_view bytes;
  bool broken = false;

  static std::uint64_t little_endian(std::string_view text) {
    std::uint64_t sum = 0;
    for (std::size_t i = text.size(); i-- > 0;)
      sum = sum << 8U | static_cast<unsigned char>(text[i]);
    return sum;
  }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) {
      broken = true;
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::uint64_t fixed(std::size_t size) { return little_endian(take(size)); }
  std::uint64_t varint() {
    std::uint64_t sum = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const std::string_view byte = take(1);
      if (broken) return 0;
      sum |= static_cast<std::uint64_t>(byte[0] & 0x7F) << shift;
      if ((byte[0] & 0x80) == 0) return sum;
    }
    broken = true;
    return 0;
  }
  std::string_view rest_;
};

inline bool read_value(std::string_view text, std::string& tag, double& value) {
  MessageReader reader(text);
  while (reader.next()) {
    if (reader.field == 1) tag = reader.bytes;
    if (reader.field == 2)
      value = static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(reader.number)));
  }
  return !reader.broken;
}

inline bool read_event(std::string_view text, EventFacts& facts) {
  MessageReader reader(text);
  std::int64_t step = 0;
  while (reader.next()) {
    if (reader.field == 2) step = static_cast<std::int64_t>(reader.number);
    if (reader.field == 3) facts.version = reader.bytes;
    if (reader.field == 7 && reader.bytes == std::string_view("\x08\x01", 2)) {
      facts.start = step;
      for (auto& [tag, points] : facts.points)
        std::erase_if(points, [&](const auto& point) { return point.first >= step; });
    }
    if (reader.field != 5) continue;
    MessageReader summary(reader.bytes);
    while (summary.next()) {
      std::string tag;
      double value = 0;
      if (summary.field != 1 || !read_value(summary.bytes, tag, value)) return false;
      facts.points[tag].emplace_back(step, value);
    }
    if (summary.broken) return false;
  }
  return !reader.broken;
}

/// Adds the records of `text` to `facts`, up to where the text is cut.
inline void read_events(std::string_view text, EventFacts& facts) {
  const auto sum_at = [](std::string_view part) {
    return static_cast<std::uint32_t>(MessageReader::little_endian(part.substr(0, 4)));
  };
  const auto masked = [](std::string_view part) {
    return std::rotr(crc32c(part), 15) + 0xA282EAD8U;
  };
  while (!text.empty()) {
    facts.ends_whole = false;
    if (text.size() < 12) return;
    const std::uint64_t size = MessageReader::little_endian(text.substr(0, 8));
    if (sum_at(text.substr(8)) != masked(text.substr(0, 8))) facts.is_sound = false;
    if (!facts.is_sound || text.size() < 16 + size) return;
    const std::string_view data = text.substr(12, size);
    facts.is_sound = sum_at(text.substr(12 + size)) == masked(data) && read_event(data, facts);
    if (!facts.is_sound) return;
    ++facts.records;
    text.remove_prefix(16 + size);
    facts.ends_whole = true;
  }
}

}  // namespace ds::test
