// Writes the few messages of protocol buffers that scalars need.
#include "engine/monitor/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <utility>

#include "engine/base/own_host_name.h"
#include "engine/monitor/crc32c.h"

namespace ds {
namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::string_view kVersion = "brain.Event:2";
constexpr std::uint32_t kMaskDelta = 0xA282EAD8;  // of TFRecord

enum Wire : unsigned { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

void add_fixed(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> 8 * i & 0xFFU);
}

void add_varint(std::string& out, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7U) out += static_cast<char>((number & 0x7FU) | 0x80U);
  out += static_cast<char>(number);
}

std::size_t varint_size(std::uint64_t number) {
  return (static_cast<std::size_t>(std::bit_width(number | 1U)) + 6) / 7;
}

void add_key(std::string& out, unsigned field, Wire wire) { add_varint(out, field << 3U | wire); }

/// Returns the size of a field of bytes whose number is below 16.
std::size_t field_size(std::size_t content) { return 1 + varint_size(content) + content; }

std::uint32_t masked(std::uint32_t sum) { return (sum >> 15U | sum << 17U) + kMaskDelta; }

std::size_t value_size(const Scalar& scalar) { return field_size(scalar.tag.size()) + 5; }

// Event: wall_time = 1, step = 2.
void add_event_head(std::string& out, double wall_time, std::int64_t step) {
  add_key(out, 1, fixed64);
  add_fixed(out, std::bit_cast<std::uint64_t>(wall_time), 8);
  if (step == 0) return;
  add_key(out, 2, varint);
  add_varint(out, static_cast<std::uint64_t>(step));
}

/// Appends a frame whose data `add` appends, without a second buffer.
template <class Add>
void add_framed(std::string& out, const Add& add) {
  const std::size_t head = out.size(), start = head + 12;
  out.append(12, '\0');
  add();
  const std::string_view data = std::string_view(out).substr(start);
  std::string length;  // short enough to need no heap
  add_fixed(length, data.size(), 8);
  const std::uint32_t sum = masked(crc32c(data));
  add_fixed(length, masked(crc32c(length)), 4);
  std::ranges::copy(length, out.begin() + static_cast<std::ptrdiff_t>(head));
  add_fixed(out, sum, 4);
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

void add_frame(std::string& out, std::string_view data) {
  add_framed(out, [&] { out += data; });
}

// file_version = 3
void add_version(std::string& out, double wall_time) {
  add_framed(out, [&] {
    add_event_head(out, wall_time, 0);
    add_key(out, 3, bytes);
    add_varint(out, kVersion.size());
    out += kVersion;
  });
}

// session_log = 7: SessionLog with status = 1: START = 1
void add_start(std::string& out, double wall_time, std::int64_t step) {
  add_framed(out, [&] {
    add_event_head(out, wall_time, step);
    add_key(out, 7, bytes);
    add_varint(out, 2);
    add_key(out, 1, varint);
    add_varint(out, 1);
  });
}

// summary = 5: Summary with value = 1, repeated: Value with tag = 1, simple_value = 2 (float)
void add_scalars(std::string& out, double wall_time, std::int64_t step,
                 std::span<const Scalar> scalars) {
  std::size_t size = 0;
  for (const Scalar& scalar : scalars) size += field_size(value_size(scalar));
  add_framed(out, [&] {
    add_event_head(out, wall_time, step);
    add_key(out, 5, bytes);
    add_varint(out, size);
    for (const Scalar& scalar : scalars) {
      add_key(out, 1, bytes);
      add_varint(out, value_size(scalar));
      add_key(out, 1, bytes);
      add_varint(out, scalar.tag.size());
      out += scalar.tag;
      add_key(out, 2, fixed32);
      add_fixed(out, std::bit_cast<std::uint32_t>(static_cast<float>(scalar.value)), 4);
    }
  });
}

std::string event_file_name(const std::string& folder, std::int64_t now) {
  std::error_code status;
  for (const auto& entry : std::filesystem::directory_iterator(folder, status)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kPrefix)) continue;
    std::int64_t seconds = 0;
    std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), seconds);
    now = std::max(now, seconds + 1);
  }
  return fmt::format("{}{:010}.{}.{}.ds", kPrefix, now, own_host_name(), ::getpid());
}

EventFile::EventFile(const std::string& folder, std::int64_t first)
    : file_(RecordFile::create(fmt::format(
          "{}/{}", folder, event_file_name(folder, static_cast<std::int64_t>(now_s()))))),
      first_(first) {}

bool EventFile::write(std::int64_t step, std::span<const Scalar> scalars) {
  const double now = now_s();
  text_.clear();
  if (!has_head_) {
    add_version(text_, now);
    add_start(text_, now, first_);
  }
  add_scalars(text_, now, step, scalars);
  const bool is_written = file_.append(text_);
  has_head_ = has_head_ || is_written;
  return is_written;
}

}  // namespace ds
