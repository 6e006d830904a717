#include "launcher/wire/frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"
#include "launcher/wire/fields.h"

namespace ds::launcher {
namespace {

struct MessageType {
  std::uint8_t number;
  const char* name;
};
// In the order of Message. A number that was in use is not given to another message.
constexpr MessageType kTypes[] = {
    {1, "Spec"},       {2, "Go"},        {3, "Signal"},       {4, "Kill"},        {5, "Stop"},
    {6, "Suspend"},    {7, "Resume"},    {8, "Heartbeat"},    {9, "Credit"},      {10, "Sweep"},
    {11, "Probe"},     {12, "Stdin"},    {14, "Window"},      {15, "Watch"},      {16, "FenceOut"},
    {17, "OrderRank"}, {18, "Check"},    {32, "Hello"},       {33, "Ready"},      {34, "Started"},
    {35, "Output"},    {36, "Exited"},   {37, "Problem"},     {38, "Bye"},        {39, "Cleared"},
    {40, "Swept"},     {41, "ErrorFile"}, {42, "Probed"},     {43, "FenceIn"},    {44, "FenceWaits"},
    {45, "MpiFailed"}, {46, "RankNews"}, {47, "Checked"},     {48, "MpiInit"},     {64, "ModexAsk"},
    {65, "ModexAnswer"}, {66, "PmixNotice"}, {67, "NameAsk"}, {68, "NameAnswer"},
    {80, "PmixReady"}, {81, "PmixRank"}, {82, "PmixLine"}};
static_assert(std::size(kTypes) == std::variant_size_v<Message>);

/// Form of the frame header. The version of the messages is in Hello.
constexpr std::uint8_t kHeaderForm = 1;

struct Header {
  std::uint32_t length = 0;  // of the payload
  std::uint8_t type = 0;
  std::uint8_t form = kHeaderForm;
  std::uint16_t reserved = 0;
  Envelope envelope;
};

template <class Archive>
void fields(Archive& a, Header& h) {
  a("length", h.length), a("type", h.type), a("form", h.form), a("reserved", h.reserved);
  a("job", h.envelope.job), a("epoch", h.envelope.epoch);
  a("incarnation", h.envelope.incarnation);
}

/// Makes the alternative of Message whose type byte is `type`.
template <std::size_t I = 0>
std::optional<Message> empty_message(std::uint8_t type) {
  if constexpr (I == std::variant_size_v<Message>) {
    return std::nullopt;
  } else {
    if (kTypes[I].number == type) return Message(std::in_place_index<I>);
    return empty_message<I + 1>(type);
  }
}

void write_header(Bytes& out, const Envelope& envelope, std::uint8_t type, std::size_t length) {
  Header header{.length = static_cast<std::uint32_t>(length), .type = type, .envelope = envelope};
  FieldWriter writer(out);
  fields(writer, header);
}

/// Reads the fields of a message; false if they do not fill the frame exactly.
template <class T>
bool read_message(FieldReader& body, T& message) {
  fields(body, message);
  return body.complete();
}

/// Reads a Hello. One of another version is read up to `build`, which every version begins with.
bool read_message(FieldReader& body, Hello& hello) {
  FieldReader whole = body;
  body(hello.version), body(hello.build);
  if (hello.version != kWireVersion) return body.good();
  fields(whole, hello);
  return whole.complete();
}

constexpr std::size_t kUsualPayload = 256;  // grows from there, not from nothing

}  // namespace

const std::uint32_t kWireVersion = version_of(field_list<Header>() + describe_frames());

std::string describe_frames() {
  std::string text;
  const auto describe = [&]<std::size_t... I>(std::index_sequence<I...> /*all*/) {
    ((text += fmt::format("{} {}: {}\n", kTypes[I].number, kTypes[I].name,
                          field_list<std::variant_alternative_t<I, Message>>())),
     ...);
  };
  describe(std::make_index_sequence<std::variant_size_v<Message>>());
  return text;
}

std::uint32_t version_of(std::string_view description) {
  std::uint32_t hash = 2166136261U;  // FNV-1a's offset and prime for 32 bits
  for (const char c : description) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return hash;
}

bool operator==(const Output& a, const Output& b) {
  return a.rank == b.rank && a.stream == b.stream && a.flags == b.flags && a.time == b.time &&
         std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
}

bool operator==(const Stdin& a, const Stdin& b) {
  return a.rank == b.rank && a.last == b.last &&
         std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
}

namespace {

Bytes encode_payload(const Message& message) {
  Bytes payload;
  payload.reserve(kUsualPayload);
  FieldWriter writer(payload);
  // Field lists take mutable structs because the reader needs them; the writer changes nothing.
  std::visit(
      [&]<class T>(const T& part) {
        fields(writer, const_cast<T&>(part));  // NOLINT(cppcoreguidelines-pro-type-const-cast)
      },
      message);
  if (payload.size() > kMaxFrameBytes) {
    throw Error(ErrorKind::config,
                fmt::format("command and environment take {} bytes; the limit for one node is {}",
                            payload.size(), kMaxFrameBytes),
                "move long lists into a file");
  }
  return payload;
}

}  // namespace

Bytes encode(const Envelope& envelope, const Message& message) {
  const Bytes payload = encode_payload(message);
  Bytes frame;
  frame.reserve(kFrameHeaderBytes + payload.size());
  write_header(frame, envelope, kTypes[message.index()].number, payload.size());
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

SharedFrame::SharedFrame(const Message& message)
    : type_(kTypes[message.index()].number),
      payload_(std::make_shared<const Bytes>(encode_payload(message))) {}

Bytes SharedFrame::header(const Envelope& envelope) const {
  Bytes header;
  header.reserve(kFrameHeaderBytes);
  write_header(header, envelope, type_, payload_->size());
  return header;
}

void write_output_header(std::span<std::byte, kOutputHeaderBytes> room, const Envelope& envelope,
                         const Output& output) {
  Bytes head;
  head.reserve(kOutputHeaderBytes);
  constexpr std::size_t kOwn = kOutputHeaderBytes - kFrameHeaderBytes;
  write_header(head, envelope, kTypes[Message(output).index()].number, kOwn + output.bytes.size());
  FieldWriter writer(head);
  Output bare = output;
  bare.bytes = {};
  fields(writer, bare);
  DS_ASSERT(head.size() == kOutputHeaderBytes);
  std::copy(head.begin(), head.end(), room.begin());
}

/// Keeps the beginning of the next frame and frees memory that it does not need: a launcher has
/// thousands of decoders, and long frames are rare.
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

std::string Decoder::noise() const {
  if (!in_noise_) return noise_;
  // A prefix of the preamble counts as noise when nothing follows it.
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
    fail("no dslaunch agent answers there: more than 1 MiB of other output came first");
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
  if (header.form != kHeaderForm) {
    return fail(fmt::format("frame header of form {}, this dslaunch reads form {}", header.form,
                            kHeaderForm));
  }
  if (header.length > kMaxFrameBytes)
    return fail(fmt::format("frame of {} bytes, at most {}", header.length, kMaxFrameBytes));
  std::optional<Message> message = empty_message(header.type);
  if (!message) return fail(fmt::format("frame of unknown type {}", header.type));
  if (rest.size() < kFrameHeaderBytes + header.length) return wait_for_more();
  FieldReader body(rest.subspan(kFrameHeaderBytes, header.length));
  const bool whole = std::visit([&](auto& m) { return read_message(body, m); }, *message);
  if (!whole)
    return fail(fmt::format("broken frame of type {}, {} bytes", header.type, header.length));
  at_ += kFrameHeaderBytes + header.length;
  return Frame{header.envelope, std::move(*message)};
}

}  // namespace ds::launcher
