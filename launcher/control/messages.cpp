// Encoding of control messages: the fields of each message and the frame around them.
#include "launcher/control/messages.h"

#include "launcher/wire/fields.h"

namespace ds::launcher {
namespace {

template <class A>
void control_fields(A& a, InfoRequest& m) {
  a(m.version);
}
template <class A>
void control_fields(A& a, SignalRequest& m) {
  a(m.version), a(m.signo), a(m.grace_ms);
}
template <class A>
void control_fields(A& a, OutputRequest& m) {
  a(m.version), a(m.rank), a(m.follow);
}
template <class A>
void control_fields(A& a, WaitRequest& m) {
  a(m.version);
}
template <class A>
void control_fields(A& a, CheckpointRequest& m) {
  a(m.version);
}
template <class A>
void control_fields(A& a, CheckpointOutcome& m) {
  a(m.saved), a(m.step), a(m.folder), a(m.details);
}
template <class A>
void control_fields(A& a, JobInfo& m) {
  a(m.id), a(m.state), a(m.pid), a(m.started_ms), a(m.ranks), a(m.ranks_left), a(m.nodes);
  a(m.host), a(m.folder), a(m.log), a(m.command);
  a(m.trains), a(m.step), a(m.checkpoint);
}
template <class A>
void control_fields(A& a, RankOutput& m) {
  a(m.rank), a(m.stream), a(m.flags), a(m.prefix), a(m.bytes);
}
template <class A>
void control_fields(A& a, Skipped& m) {
  a(m.bytes);
}
template <class A>
void control_fields(A&, Caught&) {}
template <class A>
void control_fields(A&, Accepted&) {}
template <class A>
void control_fields(A& a, Refused& m) {
  a(m.reason);
}
template <class A>
void control_fields(A& a, JobDone& m) {
  a(m.code);
}

constexpr std::size_t kHeader = 4;

std::uint32_t length_at(std::span<const std::byte> bytes) {
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < kHeader; ++i)
    length |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
  return length;
}

template <class T>
std::optional<ControlMessage> decode_as(std::span<const std::byte> body) {
  T message;
  FieldReader reader(body);
  control_fields(reader, message);
  if (!reader.complete()) return std::nullopt;
  return message;
}

template <std::size_t... I>
std::optional<ControlMessage> decode_number(std::uint8_t number, std::span<const std::byte> body,
                                            std::index_sequence<I...> /*all*/) {
  std::optional<ControlMessage> message;
  const auto try_type = [&]<class T>(std::type_identity<T>) {
    if (T::kNumber == number) message = decode_as<T>(body);
  };
  (try_type(std::type_identity<std::variant_alternative_t<I, ControlMessage>>{}), ...);
  return message;
}

}  // namespace

void encode_control(const ControlMessage& message, Bytes& out) {
  const std::size_t start = out.size();
  out.resize(start + kHeader);
  std::visit(
      [&out](auto copy) {
        out.push_back(static_cast<std::byte>(copy.kNumber));
        FieldWriter writer(out);
        control_fields(writer, copy);
      },
      message);
  const std::size_t length = out.size() - start - kHeader;
  for (std::size_t i = 0; i < kHeader; ++i)
    out[start + i] = static_cast<std::byte>((length >> (8 * i)) & 0xFFU);
}

void ControlDecoder::feed(std::span<const std::byte> bytes) {
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<ControlMessage> ControlDecoder::next() {
  const std::span<const std::byte> rest = std::span(buffer_).subspan(taken_);
  if (broken_ || rest.size() < kHeader) return std::nullopt;
  const std::uint32_t length = length_at(rest);
  if (length == 0 || length > kMaxControlFrame) {
    broken_ = true;
    return std::nullopt;
  }
  if (rest.size() < kHeader + length) return std::nullopt;
  const std::span<const std::byte> body = rest.subspan(kHeader, length);
  std::optional<ControlMessage> message =
      decode_number(std::to_integer<std::uint8_t>(body[0]), body.subspan(1),
                    std::make_index_sequence<std::variant_size_v<ControlMessage>>{});
  broken_ = !message;
  taken_ += kHeader + length;
  return message;
}

}  // namespace ds::launcher
