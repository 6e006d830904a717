// Any bytes on the port of a root: TLS that has proven nothing, and records behind it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "launcher/join/join_records.h"
#include "launcher/join/tls_session.h"

namespace {

using namespace ds::launcher;

void check(bool good) {
  if (!good) std::abort();
}

/// In two pieces, the cut chosen by the first byte: what comes out must not depend on it.
void check_records(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const std::size_t cut = std::to_integer<std::size_t>(bytes[0]) % bytes.size();
  JoinDecoder whole;
  whole.feed(bytes);
  JoinDecoder pieces;
  pieces.feed(bytes.first(cut));
  std::size_t came = 0;
  while (pieces.next()) ++came;
  pieces.feed(bytes.subspan(cut));
  while (pieces.next()) ++came;
  std::size_t expected = 0;
  while (const auto record = whole.next()) {
    ++expected;
    const Bytes encoded = encode_join(*record);
    JoinDecoder again;
    again.feed(encoded);
    const auto second = again.next();
    check(second && encode_join(*second) == encoded);
  }
  check(came == expected && whole.error() == pieces.error());
}

void check_tls(std::span<const std::byte> bytes) {
  static const JoinKey key = JoinKey::from_secret("the secret of a fuzzer");
  for (const auto side : {TlsSession::Side::root, TlsSession::Side::joiner}) {
    TlsSession session(side, key);
    Bytes plain;
    session.receive(bytes, plain);
    (void)session.take_wire();
    check(plain.empty() && !session.established());  // nobody guesses the key
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check_records(bytes);
  if (size > 0 && data[0] % 8 == 6) check_tls(bytes);  // 22 is a TLS handshake's first byte
  return 0;
}
