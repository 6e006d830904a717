// Any bytes at a door: before the proof they never get further; after it they become questions that
// the store answers with frames that read back, and nothing they say makes a visitor want more than
// one frame of memory.
#include <algorithm>
#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "engine/comm/mesh/store_table.h"
#include "engine/comm/mesh/visitor.h"

using namespace ds::comm;

namespace {

const Household kHousehold{.key = "00ff", .job = "job/0", .serves_store = true};
constexpr std::size_t kMostWanted = 7 + kMaxKey + kMaxValue;

// In pieces as a socket may give them; `step` varies their size.
void pour(Visitor& visitor, std::span<const std::byte> bytes, std::size_t step) {
  while (!bytes.empty() && visitor.wanted() > 0) {
    DS_ASSERT(visitor.wanted() <= kMostWanted);
    const std::size_t count = std::min({bytes.size(), visitor.wanted(), step});
    visitor.feed(bytes.first(count));
    bytes = bytes.subspan(count);
  }
}

void check_frames(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t length = body_bytes(bytes).value();
    const std::span<const std::byte> body = bytes.subspan(kFrameHead, length);
    const Frame frame = decode_body(body).value();
    const std::vector<std::byte> again = encode(frame);
    DS_ASSERT(std::equal(again.begin() + kFrameHead, again.end(), body.begin(), body.end()),
              "reads back the same");
    bytes = bytes.subspan(kFrameHead + length);
  }
}

void stranger(std::span<const std::byte> input, std::size_t step) {
  Visitor visitor(kHousehold, make_hello());
  pour(visitor, input, step);
  DS_ASSERT(!visitor.proven() || visitor.stage() == Visitor::Stage::over,
            "nobody gets in without the key");
  DS_ASSERT(visitor.output().size() <= kHelloBytes + kMacBytes);
}

void member(std::span<const std::byte> input, std::size_t step, bool introduced) {
  const Hello acceptor = make_hello();
  const Hello dialer = make_hello();
  Visitor visitor(kHousehold, acceptor);
  pour(visitor, dialer, step);
  pour(visitor, make_mac("00ff", Side::dialer, dialer, acceptor), step);
  visitor.output().clear();
  if (introduced) pour(visitor, encode({FrameKind::introduce, 0, "store", "job/0"}), step);
  pour(visitor, input, step);
  StoreTable table;
  for (const Frame& question : visitor.take_questions()) {
    const auto due = table.on(1, question);
    if (!due) break;
    for (const StoreTable::Outgoing& outgoing : *due) visitor.answer(outgoing.frame);
  }
  check_frames(visitor.output());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = std::size_t{1} + data[0] % 64;
  const auto input = std::as_bytes(std::span(data + 1, size - 1));
  stranger(input, step);
  member(input, step, false);
  member(input, step, true);
  return 0;
}
