#include "launcher/control/messages.h"

#include "launcher/wire/fields.h"

namespace ds::launcher {
namespace {

constexpr std::size_t kHeader = 4;

/// The number of each message, in the order of ControlMessage.
constexpr std::uint8_t kNumbers[] = {1, 2, 3, 4, 5, 33, 34, 35, 36, 40, 37, 38, 39};
static_assert(std::size(kNumbers) == std::variant_size_v<ControlMessage>);

/// Returns the message with this number; nothing if there is none or its fields do not fill `body`.
template <std::size_t I = 0>
std::optional<ControlMessage> decode(std::uint8_t number, std::span<const std::byte> body) {
  if constexpr (I == std::variant_size_v<ControlMessage>) {
    return std::nullopt;
  } else {
    if (kNumbers[I] != number) return decode<I + 1>(number, body);
    std::variant_alternative_t<I, ControlMessage> message;
    FieldReader reader(body);
    std::apply([&](auto&... field) { (reader(field), ...); }, message.fields());
    return reader.complete() ? std::optional<ControlMessage>(message) : std::nullopt;
  }
}

}  // namespace

void encode_control(const ControlMessage& message, Bytes& out) {
  Bytes body;
  FieldWriter writer(body);
  writer(kNumbers[message.index()]);
  const auto write = [&](auto&... field) { (writer(field), ...); };
  std::visit([&](auto copy) { std::apply(write, copy.fields()); }, message);
  FieldWriter{out}(static_cast<std::uint32_t>(body.size()));
  out.insert(out.end(), body.begin(), body.end());
}

void ControlDecoder::feed(std::span<const std::byte> bytes) {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<ControlMessage> ControlDecoder::next() {
  const std::span<const std::byte> rest = std::span(buffer_).subspan(taken_);
  if (broken_ || rest.size() < kHeader) return std::nullopt;
  std::uint32_t length = 0;
  FieldReader{rest.first(kHeader)}(length);
  if (length == 0 || length > kMaxControlFrame) {
    broken_ = true;
    return std::nullopt;
  }
  if (rest.size() < kHeader + length) return std::nullopt;
  const std::span<const std::byte> body = rest.subspan(kHeader, length);
  std::optional<ControlMessage> message =
      decode(std::to_integer<std::uint8_t>(body[0]), body.subspan(1));
  broken_ = !message;
  taken_ += kHeader + length;
  return message;
}

}  // namespace ds::launcher
