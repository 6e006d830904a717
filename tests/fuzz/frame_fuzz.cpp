// Fuzzes the decoder of frames: any bytes give frames that encode to the same bytes, or one error.
#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "launcher/wire/frame.h"

using namespace ds::launcher;

namespace {

/// Returns all frames of the stream, encoded again. `others` counts Hellos of another version:
/// only their first fields are read, and they are written with all.
Bytes decode_all(std::span<const std::byte> bytes, std::size_t piece, Decoder& decoder,
                 std::size_t* others = nullptr) {
  Bytes again;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    decoder.feed(bytes.subspan(at, std::min(piece, bytes.size() - at)));
    while (const auto frame = decoder.next()) {
      const Bytes one = encode(frame->envelope, frame->message);
      again.insert(again.end(), one.begin(), one.end());
      const auto* hello = std::get_if<Hello>(&frame->message);
      if (others != nullptr && hello != nullptr && hello->version != kWireVersion) ++*others;
    }
  }
  return again;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  Decoder whole;
  std::size_t others = 0;
  const Bytes again = decode_all(bytes, size + 1, whole, &others);
  const std::size_t hello_bytes = encode({}, Hello{}).size();
  DS_ASSERT(again.size() <= size + others * hello_bytes, "no frame comes from nothing");
  Decoder second;
  DS_ASSERT(decode_all(again, again.size() + 1, second) == again);
  DS_ASSERT(!second.error() && second.at_boundary());
  Decoder piecewise;
  DS_ASSERT(decode_all(bytes, 7, piecewise) == again, "cuts change nothing");
  DS_ASSERT(piecewise.error() == whole.error());
  if (whole.error()) DS_ASSERT(!whole.error()->empty() && whole.error()->size() < 200);
  Decoder noisy(Decoder::Start::preamble);
  decode_all(bytes, size + 1, noisy);
  DS_ASSERT(noisy.noise().size() <= 4096);
  return 0;
}
