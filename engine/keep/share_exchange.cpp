// First the headers, so that both ends know the sizes, then the bytes, from slot to slot.
#include "engine/keep/share_exchange.h"

#include <vector>

#include "engine/base/error.h"

namespace ds {
namespace {

/// What a rank tells its buddy and its ward.
struct ShareCard {
  KeptHeader header{};
  bool has_share = false, has_room = false;
};

std::span<std::byte> bytes_of_card(ShareCard& card) {
  return std::as_writable_bytes(std::span(&card, 1));
}

/// Sends and receives at most two pieces each.
class Exchange {
 public:
  Exchange(Group& group, Deadline deadline)
      : group_(group),
        deadline_(deadline),
        send_(static_cast<std::size_t>(group.size())),
        receive_(send_.size()) {}

  void send(int to, std::span<const std::byte> bytes) {
    if (to != kNoBuddy) send_[static_cast<std::size_t>(to)] = bytes;
  }
  void receive(int from, std::span<std::byte> bytes) {
    if (from != kNoBuddy) receive_[static_cast<std::size_t>(from)] = bytes;
  }
  void run(const char* about) {
    group_.about(about);
    group_.all_to_all(send_, receive_, deadline_);
  }

 private:
  Group& group_;
  const Deadline deadline_;
  std::vector<std::span<const std::byte>> send_;
  std::vector<std::span<std::byte>> receive_;
};

bool fits(const KeptHeader& header, const SlotMemory& slot) {
  return header.text_at >= KeptSlot::kPieces && header.text_bytes >= 0 &&
         header.text_at <= slot.size() && header.text_bytes <= slot.size() - header.text_at;
}

constexpr std::int64_t kSlowest = 8 << 20;  // bytes per second

}  // namespace

Clock::duration exchange_time(std::int64_t bytes, Clock::duration silence) {
  return silence + std::chrono::seconds((bytes + kSlowest - 1) / kSlowest);
}

std::string exchange_shares(Group& group, const KeepRoles& roles, SlotMemory* own, SlotMemory* ward,
                            Deadline deadline) {
  const std::optional<KeptHeader> header = own != nullptr ? own->slot().header() : std::nullopt;
  ShareCard card{.header = header.value_or(KeptHeader{}),
                 .has_share = header.has_value(),
                 .has_room = ward != nullptr};
  ShareCard of_ward, of_buddy;
  Exchange cards(group, deadline);
  cards.send(roles.buddy, bytes_of_card(card));
  cards.send(roles.ward, bytes_of_card(card));
  cards.receive(roles.ward, bytes_of_card(of_ward));
  if (roles.buddy == roles.ward) {
    cards.run("keep.headers");
    of_buddy = of_ward;
  } else {
    cards.receive(roles.buddy, bytes_of_card(of_buddy));
    cards.run("keep.headers");
  }

  const bool takes = of_ward.has_share && card.has_room;
  DS_ASSERT(!takes || fits(of_ward.header, *ward), "ranks told their sizes at the start");
  Exchange shares(group, deadline);
  if (card.has_share && of_buddy.has_room) shares.send(roles.buddy, own->contents(*header));
  if (takes) {
    ward->slot().begin();
    shares.receive(roles.ward, ward->contents(of_ward.header));
  }
  shares.run("keep.shares");
  if (takes) ward->slot().seal(of_ward.header);
  if (roles.ward == kNoBuddy || of_ward.has_share) return {};
  return fmt::format("rank {} has no share", roles.ward);
}

}  // namespace ds
