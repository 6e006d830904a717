// Any bytes as what four ranks write, in any pieces and at any times: batches, folds, spools and
// relays lose nothing, add nothing and keep the order of each rank.
#include <array>
#include <cstdint>
#include <cstring>
#include <string>

#include "engine/base/error.h"
#include "launcher/logs/last_lines.h"
#include "launcher/logs/line_batcher.h"
#include "launcher/logs/line_fold.h"
#include "launcher/logs/line_relay.h"
#include "launcher/logs/spool.h"

using namespace ds::launcher;

namespace {

constexpr int kRanks = 4;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

/// The way of output of one stream through an agent and the root.
struct Way {
  Way()
      : fold([this](const FoldedLine& line) {
          for (const int rank : line.ranks) folded[index(rank)] += line.text;
        }) {
    fold.start(std::vector<bool>(kRanks, true));
  }

  void write(int rank, std::string_view text) {
    said[index(rank)] += text;
    LineBatcher& batcher = batchers[index(rank)];
    while (!text.empty()) {
      const std::span<std::byte> space = batcher.space();
      DS_ASSERT(!space.empty());
      const std::size_t count = std::min(space.size(), text.size());
      std::memcpy(space.data(), text.data(), count);
      text.remove_prefix(count);
      batcher.added(count, now);
      pass_on(rank);
    }
  }
  void pass_on(int rank) {
    while (const auto batch = batchers[index(rank)].take(now)) pass(rank, *batch);
  }
  void pass(int rank, const LineBatch& batch) {
    spool.push({.rank = rank, .flags = batch.flags, .bytes = batch.bytes});
    last.add(rank, 1, text_of(batch.bytes));
    if (now.time_since_epoch().count() % 2 == 0) arrive();
  }
  /// What waits in the spool comes to the root.
  void arrive() {
    for (; const auto output = spool.front(); spool.pop()) {
      arrived[index(output->rank)] += text_of(output->bytes);
      relay.batch(output->rank, 1, output->flags, output->bytes, {out, err});
      fold.add(output->rank, output->flags, text_of(output->bytes), now, now);
    }
  }
  void finish() {
    for (int rank = 0; rank < kRanks; ++rank) {
      pass_on(rank);
      if (const auto rest = batchers[index(rank)].take_rest()) pass(rank, *rest);
    }
    arrive();
    for (int rank = 0; rank < kRanks; ++rank) fold.ended(rank, now, now);
    fold.flush();
    relay.finish({out, err});
  }

  std::array<LineBatcher, kRanks> batchers{LineBatcher(16), LineBatcher(16), LineBatcher(16),
                                           LineBatcher(16)};
  ds::Clock::time_point now{std::chrono::hours(1)};
  Spool spool{std::uint64_t{1} << 30, false};
  LastLines last{kRanks};
  LineRelay relay{kRanks, true};
  OutputBuffer out, err;
  std::array<std::string, kRanks> said, arrived, folded;
  LineFold fold;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Way way;
  // An order: a byte with the rank and how much time passes, a byte with a length, the text.
  for (std::size_t at = 0; at + 2 <= size;) {
    const int rank = data[at] % kRanks;
    way.now += std::chrono::milliseconds((data[at] >> 2) * 10) + std::chrono::nanoseconds(data[at]);
    const std::size_t length = std::min<std::size_t>(data[at + 1], size - at - 2);
    way.fold.tick(way.now);
    for (int each = 0; each < kRanks; ++each) way.pass_on(each);
    way.write(rank, {reinterpret_cast<const char*>(data + at + 2), length});
    at += 2 + length;
  }
  way.finish();
  DS_ASSERT(way.arrived == way.said, "batches and spool");
  std::size_t bytes = 0;
  for (int rank = 0; rank < kRanks; ++rank) {
    const std::string& text = way.said[index(rank)];
    bytes += text.size();
    std::string& folded = way.folded[index(rank)];
    const bool ended_for_it = folded.size() == text.size() + 1 && folded.back() == '\n';
    if (ended_for_it) folded.pop_back();
    DS_ASSERT(folded == text, "fold");
    const std::vector<std::string> last = way.last.of(rank);
    DS_ASSERT(last.size() <= LastLines::kLines);
  }
  DS_ASSERT(way.out.size() >= bytes, "relay");
  DS_ASSERT(way.err.empty());
  return 0;
}
