#include "launcher/copy/copy_frames.h"

#include <fmt/format.h>

#include <utility>

#include "engine/base/error.h"

namespace ds::launcher::copy {
namespace {

constexpr const char* kNames[] = {
    "CopyHello", "CopyTask", "CopyEntry",  "CopyListed", "CopyClaim",  "CopyVerdict", "CopyFetch",
    "CopyData",  "CopyEnd",  "CopyResult", "CopyServe",  "CopyServes", "CopyParent",  "CopyOrphan"};
constexpr std::size_t kTypes = std::variant_size_v<CopyMessage>;
static_assert(std::size(kNames) == kTypes);
constexpr std::size_t kHead = 5;  // length of type and fields and newline, then the type

template <std::size_t I = 0>
std::optional<CopyMessage> empty_message(std::size_t type) {
  if constexpr (I == kTypes) {
    return std::nullopt;
  } else {
    if (type == I + 1) return CopyMessage(std::in_place_index<I>);
    return empty_message<I + 1>(type);
  }
}

/// Appends a message of any length. Returns its length without the length field.
std::size_t append(Bytes& out, const CopyMessage& message) {
  const std::size_t begin = out.size();
  FieldWriter writer(out);
  writer(std::uint32_t{0});
  writer(static_cast<std::uint8_t>(message.index() + 1));
  std::visit(
      [&]<class T>(const T& part) {
        fields(writer, const_cast<T&>(part));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      },
      message);
  out.push_back(std::byte{'\n'});
  return out.size() - begin - 4;
}

}  // namespace

std::size_t message_bytes(const CopyMessage& message) {
  Bytes bytes;
  return append(bytes, message);
}

void encode(Bytes& out, const CopyMessage& message) {
  const std::size_t begin = out.size();
  const std::size_t length = append(out, message);
  if (length > kMaxMessageBytes)
    throw Error(ErrorKind::config, fmt::format("a message of the copy takes {} bytes; at most {}",
                                               length, kMaxMessageBytes));
  for (std::size_t i = 0; i < 4; ++i) out[begin + i] = static_cast<std::byte>(length >> (8 * i));
}

void CopyDecoder::feed(std::span<const std::byte> bytes) {
  if (error_) return;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(at_));
  at_ = 0;
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

std::optional<CopyMessage> CopyDecoder::next() {
  const std::span<const std::byte> rest = std::span(buffer_).subspan(at_);
  if (error_ || rest.size() < kHead) return std::nullopt;
  FieldReader head(rest.first(kHead));
  std::uint32_t length = 0;
  std::uint8_t type = 0;
  head(length), head(type);
  std::optional<CopyMessage> message = empty_message(type);
  if (length < 2 || length > kMaxMessageBytes || !message) {
    error_ = fmt::format("invalid data: message of type {}, {} bytes", type, length);
    return std::nullopt;
  }
  if (rest.size() < 4 + length) return std::nullopt;
  FieldReader body(rest.subspan(kHead, length - 2));
  std::visit([&](auto& known) { fields(body, known); }, *message);
  if (!body.complete() || rest[4 + length - 1] != std::byte{'\n'}) {
    error_ = fmt::format("invalid data: broken message of type {}, {} bytes", type, length);
    return std::nullopt;
  }
  at_ += 4 + length;
  return message;
}

std::string describe_copy_frames() {
  std::string text;
  const auto describe = [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
    ((text += fmt::format("{} {}: {}\n", I + 1, kNames[I],
                          field_list<std::variant_alternative_t<I, CopyMessage>>())),
     ...);
  };
  describe(std::make_index_sequence<kTypes>());
  return text;
}

std::uint32_t copy_version() {
  static const std::uint32_t version = version_of(describe_copy_frames());
  return version;
}

}  // namespace ds::launcher::copy
