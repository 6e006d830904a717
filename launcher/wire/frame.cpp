// Frames: one list of fields per message serves both directions.
#include "launcher/wire/frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "engine/base/error.h"
#include "launcher/wire/fields.h"

namespace ds::launcher {
namespace {

// The type byte of each message, in the order of Message. Numbers are never used again.
constexpr std::uint8_t kTypes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 14,
                                   15, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42};
static_assert(std::size(kTypes) == std::variant_size_v<Message>);

struct Header {
  std::uint32_t length = 0;  // of the payload
  std::uint8_t type = 0;
  std::uint8_t version = kWireVersion;
  std::uint16_t reserved = 0;
  Envelope envelope;
};

template <class Archive>
void fields(Archive& a, Header& h) {
  a(h.length), a(h.type), a(h.version), a(h.reserved);
  a(h.envelope.job), a(h.envelope.epoch), a(h.envelope.incarnation);
}

/// Makes the alternative of Message whose type byte is `type`.
template <std::size_t I = 0>
std::optional<Message> empty_message(std::uint8_t type) {
  if constexpr (I == std::variant_size_v<Message>) {
    return std::nullopt;
  } else {
    if (kTypes[I] == type) return Message(std::in_place_index<I>);
    return empty_message<I + 1>(type);
  }
}

void write_header(Bytes& out, const Envelope& envelope, std::uint8_t type, std::size_t length) {
  Header header{.length = static_cast<std::uint32_t>(length), .type = type, .envelope = envelope};
  FieldWriter writer(out);
  fields(writer, header);
}

constexpr std::size_t kUsualPayload = 256;  // grows from there, not from nothing

}  // namespace

bool operator==(const Output& a, const Output& b) {
  return a.rank == b.rank && a.stream == b.stream && a.flags == b.flags && a.time == b.time &&
         std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
}

bool operator==(const Stdin& a, const Stdin& b) {
  return a.rank == b.rank && a.last == b.last &&
         std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
}

Bytes encode(const Envelope& envelope, const Message& message) {
  Bytes payload;
  payload.reserve(kUsualPayload);
  FieldWriter writer(payload);
  // The field lists take mutable structs, since reading uses them too; writing changes nothing.
  std::visit(
      [&]<class T>(const T& part) {
        fields(writer, const_cast<T&>(part));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      },
      message);
  if (payload.size() > kMaxFrameBytes) {
    throw Error(
        ErrorKind::config,
        fmt::format("command and environment take {} bytes, at most {} can be sent to a node",
                    payload.size(), kMaxFrameBytes),
        "put long lists into a file");
  }
  Bytes frame;
  frame.reserve(kFrameHeaderBytes + payload.size());
  write_header(frame, envelope, kTypes[message.index()], payload.size());
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

void write_output_header(std::span<std::byte, kOutputHeaderBytes> room, const Envelope& envelope,
                         const Output& output) {
  Bytes head;
  head.reserve(kOutputHeaderBytes);
  constexpr std::size_t kOwn = kOutputHeaderBytes - kFrameHeaderBytes;
  write_header(head, envelope, kTypes[Message(output).index()], kOwn + output.bytes.size());
  FieldWriter writer(head);
  Output bare = output;
  bare.bytes = {};
  fields(writer, bare);
  DS_ASSERT(head.size() == kOutputHeaderBytes);
  std::copy(head.begin(), head.end(), room.begin());
}

void Decoder::feed(std::span<const std::byte> bytes) {
  if (error_) return;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

/// Keeps the beginning of the next frame, in no more room than suits it: a launcher has thousands
/// of decoders, and frames are long only now and then.
std::optional<Frame> Decoder::wait_for_more() {
  constexpr std::size_t kKept = 4096;
  const auto rest = buffer_.begin() + static_cast<std::ptrdiff_t>(at_);
  if (buffer_.capacity() > 4 * std::max(buffer_.size() - at_, kKept)) {
    buffer_ = Bytes(rest, buffer_.end());
  } else {
    buffer_.erase(buffer_.begin(), rest);
  }
  at_ = 0;
  return std::nullopt;
}

std::optional<Frame> Decoder::fail(std::string text) {
  error_ = std::move(text);
  return std::nullopt;
}

std::string Decoder::noise() const {
  if (!in_noise_) return noise_;
  // What might have been the beginning of a preamble is noise too, once nothing follows.
  const std::string_view all(reinterpret_cast<const char*>(buffer_.data()), buffer_.size());
  std::string text = noise_ + std::string(all.substr(at_));
  if (text.size() > kNoiseKept) text.erase(0, text.size() - kNoiseKept);
  return text;
}

void Decoder::skip_noise() {
  const std::string_view all(reinterpret_cast<const char*>(buffer_.data()), buffer_.size());
  const std::size_t found = all.find(kPreamble, at_);
  // The last bytes may be the beginning of the preamble.
  const std::size_t keep = std::min(all.size() - at_, kPreamble.size() - 1);
  const std::size_t end = found != std::string_view::npos ? found : all.size() - keep;
  noise_ += all.substr(at_, end - at_);
  noise_bytes_ += end - at_;
  if (noise_.size() > kNoiseKept) noise_.erase(0, noise_.size() - kNoiseKept);
  in_noise_ = found == std::string_view::npos;
  at_ = in_noise_ ? end : end + kPreamble.size();
  if (in_noise_ && noise_bytes_ > kMaxNoiseBytes)
    fail("what answers there is no dslaunch agent: it prints without end");
}

std::optional<Frame> Decoder::next() {
  if (in_noise_ && !error_) skip_noise();
  if (error_) return std::nullopt;
  if (in_noise_) return wait_for_more();
  const std::span<const std::byte> rest = std::span(buffer_).subspan(at_);
  if (rest.size() < kFrameHeaderBytes) return wait_for_more();
  FieldReader head(rest.first(kFrameHeaderBytes));
  Header header;
  fields(head, header);
  if (header.version != kWireVersion) {
    return fail(fmt::format("frame of version {}, this dslaunch speaks {}: the builds differ",
                            header.version, kWireVersion));
  }
  if (header.length > kMaxFrameBytes)
    return fail(fmt::format("frame of {} bytes, at most {}", header.length, kMaxFrameBytes));
  std::optional<Message> message = empty_message(header.type);
  if (!message) return fail(fmt::format("frame of unknown type {}", header.type));
  if (rest.size() < kFrameHeaderBytes + header.length) return wait_for_more();
  FieldReader body(rest.subspan(kFrameHeaderBytes, header.length));
  std::visit([&](auto& m) { fields(body, m); }, *message);
  if (!body.complete())
    return fail(fmt::format("broken frame of type {}, {} bytes", header.type, header.length));
  at_ += kFrameHeaderBytes + header.length;
  return Frame{header.envelope, std::move(*message)};
}

}  // namespace ds::launcher
