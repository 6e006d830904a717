// Fuzzes the rank channel: any datagrams of two ranks leave the agent with a bounded number of
// files and frames, and every message that is taken is written again as it came.
#include <sys/mman.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/rank_message.h"
#include "engine/base/rank_socket.h"
#include "fuzz/check_text.h"
#include "launcher/agent/rank_channels.h"
#include "launcher/wire/frame.h"

using namespace ds::launcher;

namespace {

constexpr std::size_t kFiles = 6;

void check_message(std::string_view text) {
  const auto message = ds::parse_rank_message(text);
  if (!message) return;
  DS_ASSERT(ds::encode(*message) == text);
  ds::test::check_for_terminal(text);
}

struct World {
  World() {
    std::vector<RankChannels::End> ends;
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      ChannelPair pair = make_channel_pair();
      ends.push_back({rank, std::move(pair.ours)});
      theirs[static_cast<std::size_t>(rank)] = std::move(pair.theirs);
    }
    channels = RankChannels(std::move(ends), 1);
  }
  void turn() {
    now += std::chrono::milliseconds(50);
    std::vector<pollfd> polled;
    channels.add_polls(polled);
    ::poll(polled.data(), polled.size(), 0);
    channels.turn(polled, store, now);
    DS_ASSERT(store.files().size() <= kFiles);
    for (const Message& message : channels.take_messages(now)) {
      const auto& news = std::get<RankNews>(message);
      DS_ASSERT(news.phases.size() <= NewsOfRank::kMaxWaiting);
      DS_ASSERT(news.checkpoints.size() <= NewsOfRank::kMaxWaiting);
      DS_ASSERT(encode({}, message).size() < std::size_t{256} << 10);
    }
    for (const std::string& line : channels.take_lines()) ds::test::check_for_terminal(line);
  }

  std::array<ds::UniqueFd, 2> theirs;
  RankChannels channels;
  KeptStore store{kFiles};
  ds::Clock::time_point now{std::chrono::hours(1)};
};

}  // namespace

/// Pieces: a byte with the rank and whether a descriptor comes along, a byte with a length, the
/// datagram.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ds::UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
  check_message({reinterpret_cast<const char*>(data), size});
  World world;
  for (std::size_t at = 0; at + 2 <= size;) {
    const std::uint8_t head = data[at];
    const std::size_t length = std::min<std::size_t>(data[at + 1], size - at - 2);
    const std::string_view text(reinterpret_cast<const char*>(data + at + 2), length);
    check_message(text);
    const int socket = world.theirs[head % 2].get();
    if (ds::send_datagram(socket, text, (head & 2) != 0 ? file.get() : -1) == ds::Sent::yes &&
        (head & 4) != 0)
      world.turn();
    if ((head & 8) != 0) (void)ds::receive_datagram(socket);
    if ((head & 16) != 0)
      world.channels.order({.rank = -1, .order = OrderRank::Order::save}, world.store);
    at += 2 + length;
  }
  world.turn();
  for (std::int32_t rank = 0; rank < 2; ++rank) world.channels.ended(rank, world.store, world.now);
  world.turn();
  return 0;
}
