// Fuzzes PMI-1 and PMI-2: any bytes of two ranks, in any pieces, give replies and frames that fit
// their limits, and a rank that breaks the protocol is reported once.
#include <array>
#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "fuzz/check_text.h"
#include "launcher/mpi/fence_gather.h"
#include "launcher/mpi/pmi_node.h"

using namespace ds::launcher;

namespace {

constexpr std::size_t kRanks = 2;
/// The longest line that MPICH 4.0 reads.
constexpr std::size_t kClientLine = 1023 + 64;
/// The same of PMI-2, where a value may be semicolons, which are doubled, and a thread is named.
constexpr std::size_t kClientFrame = 2 * 1024 + 128;

/// Checks a reply as the client reads it: a line, or a length and as many bytes.
void check_reply(const std::string& text) {
  if (text.starts_with("cmd=")) {
    DS_ASSERT(text.size() <= kClientLine);
    DS_ASSERT(text.find('\n') == text.size() - 1);
    return;
  }
  DS_ASSERT(text.size() <= kClientFrame);
  DS_ASSERT(text.size() > 10 && text.find("cmd=") == 6 && text.ends_with(';'));
  DS_ASSERT(std::stoul(text.substr(0, 6)) == text.size() - 6);
  DS_ASSERT(text.find('\n') == std::string::npos);
}

/// One node whose fences the root completes.
struct World {
  World() : node(spec(), "kvs") { gather.begin({{0, 1}}); }
  static Spec spec() {
    Spec spec;
    spec.mpi = {.wire = MpiWire::pmi1, .size = 2, .process_mapping = "(vector,(0,1,2))"};
    spec.ranks = {{.rank = 0, .local_rank = 0, .env = {}}, {.rank = 1, .local_rank = 1, .env = {}}};
    return spec;
  }

  void settle() {
    for (const Message& message : node.take_messages()) {
      if (const auto* failed = std::get_if<MpiFailed>(&message)) {
        DS_ASSERT(++failures[static_cast<std::size_t>(failed->rank)] == 1);
        DS_ASSERT(!failed->text.empty() && failed->text.size() < 400);
        ds::test::check_for_terminal(failed->text);
      } else if (const auto* in = std::get_if<FenceIn>(&message)) {
        gather.take(0, FenceIn(*in), now);
      }
    }
    for (const PmiNode::Answer& answer : node.take_answers()) {
      DS_ASSERT(answer.index < kRanks);
      DS_ASSERT(answer.close == answer.text.empty());
      if (!answer.close) check_reply(answer.text);
      text[answer.index] += answer.text;
    }
    for (const std::string& line : node.take_lines()) ds::test::check_for_terminal(line);
  }

  /// Completes fences. A rank that sends more before that breaks the protocol, so this happens only
  /// where bytes end that are cut differently.
  void release() {
    while (auto next = gather.next_release()) node.take(std::move(next->message));
    settle();
  }

  PmiNode node;
  FenceGather gather;
  ds::Clock::time_point now{std::chrono::hours(1)};
  std::array<int, kRanks> failures{};
  std::array<std::string, kRanks> text;
};

/// A piece for one of the ranks: a byte with the rank and the time that passes, a byte with a
/// length, the bytes.
std::array<std::string, kRanks> replies(const std::uint8_t* data, std::size_t size,
                                        std::size_t most) {
  World world;
  for (std::size_t at = 0; at + 2 <= size;) {
    const std::size_t rank = data[at] % kRanks;
    world.now += std::chrono::milliseconds(data[at] >> 1);
    const std::size_t length = std::min<std::size_t>(data[at + 1], size - at - 2);
    const std::string_view bytes(reinterpret_cast<const char*>(data + at + 2), length);
    for (std::size_t piece = 0; piece < length; piece += most) {
      world.node.take(rank, bytes.substr(piece, most), world.now);
      world.settle();
    }
    world.node.tick(world.now);
    world.settle();
    world.release();
    at += 2 + length;
  }
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    world.node.closed(rank, world.now);
    if ((size >> rank) % 2 == 0) world.node.ended(rank, 0, world.now);
  }
  world.node.tick(world.now + std::chrono::hours(1));
  world.settle();
  return world.text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  DS_ASSERT(replies(data, size, 1000) == replies(data, size, 3), "cuts change nothing");
  return 0;
}
