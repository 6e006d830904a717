// Any bytes at a rank's socket: before the proof they never get further; as requests to the
// coordinator they are answered or refused, and its answers read back.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/error.h"
#include "engine/comm/mesh/coordinator.h"
#include "engine/comm/mesh/handshake.h"

using namespace ds;
using namespace ds::comm;

namespace {

const Membership kMember{.key = "00ff", .job = "job/0"};

void stranger(std::span<const std::byte> bytes) {
  Handshake handshake(kMember, true, make_hello());
  std::size_t written = 0;
  while (handshake.wanted() > 0 && bytes.size() >= handshake.wanted()) {
    const auto message = bytes.first(handshake.wanted());
    bytes = bytes.subspan(message.size());
    written += handshake.take(message).size();
  }
  DS_ASSERT(handshake.stage() != Handshake::Stage::accepted, "nobody gets in without the key");
  DS_ASSERT(written <= sizeof(Hello) + sizeof(SignedNote));
}

void member(std::string_view bytes, std::size_t step) {
  Coordinator coordinator(2, std::chrono::seconds(20), Clock::time_point());
  Clock::time_point now{};
  for (int turn = 0; turn < 3; ++turn) {
    now += std::chrono::seconds(step);
    const auto answer = coordinator.answer(bytes, now);
    const auto kind = static_cast<Request>(ByteReader(bytes).number());
    if (answer && kind == Request::report)
      DS_ASSERT(decode_findings(*answer).has_value(), "findings read back");
  }
  if (const auto report = decode_rank_report(bytes))
    DS_ASSERT(decode_rank_report(encode(*report)).has_value(), "a report reads back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  stranger(std::as_bytes(std::span(data + 1, size - 1)));
  member({reinterpret_cast<const char*>(data) + 1, size - 1}, data[0]);
  return 0;
}
