// Link: one proven connection between two ranks of a group. Moves messages in both directions, in
// order, and never blocks.
//
// A message begins with a head of 32 bytes in the machine's byte order:
//
//   data     the bytes follow
//   offer    the bytes lie at `address` in the sender's memory; the receiver reads them there
//   taken    the offered bytes have been read
//   refused  the offered bytes cannot be read: send them as data
//
// A short message is data: it leaves at once, whether the receiver waits for it or not. A long one
// between ranks of one machine is an offer, which saves a copy and all of the kernel's buffers.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/base/unique_fd.h"
#include "engine/comm/mesh/peer_memory.h"

namespace ds::comm {

class Link {
 public:
  /// `fd` is non-blocking. Messages of at least `offer_from` bytes are offered.
  Link(UniqueFd fd, PeerMemory peer, std::size_t offer_from);

  /// Adds a message. `slot` must be the same at both ends. The memory must live until idle() or
  /// forget(). Zero bytes add nothing: both ends know the size.
  void send(std::uint64_t slot, std::span<const std::byte> data);
  void receive(std::uint64_t slot, std::span<std::byte> into);
  /// Drops all messages.
  void forget();
  /// Notes what epoll(7) reports, edge-triggered.
  void note(std::uint32_t events);
  /// Moves bytes as far as that is possible now.
  void advance();
  /// Returns false when advance() needs a new message or event before it can move more.
  [[nodiscard]] bool can_move() const { return can_move_; }
  /// Returns true when every message is done and nothing is left to write.
  [[nodiscard]] bool idle() const;
  /// Returns true while a message has not arrived.
  [[nodiscard]] bool is_receiving() const { return in_at_ < in_.size(); }
  /// Returns true when the peer ended the connection, or it broke.
  [[nodiscard]] bool ended() const { return ended_; }
  /// Tells the peer that nothing follows what was written. Any thread.
  void say_goodbye() const;
  /// Ends both directions. Any thread.
  void close() const;
  [[nodiscard]] int descriptor() const { return fd_.get(); }

 private:
  struct Message {
    std::uint64_t slot = 0;
    std::span<const std::byte> data{};  // where the bytes are or belong
  };
  enum class Kind : std::uint64_t { data = 1, offer, taken, refused };
  struct Head {
    Kind kind = Kind::data;
    std::uint64_t slot = 0, bytes = 0, address = 0;
  };
  /// What is being written.
  struct Sending {
    Head head{};
    std::span<const std::byte> data{};  // follows the head
    std::size_t at = 0;                 // bytes written, of head and data
  };

  void write_some();
  bool choose_sending();
  void finish_sending();
  bool read_some();
  [[nodiscard]] bool wants_input() const { return is_receiving() || awaiting_answer_; }
  /// Reads into two places, one after the other. Returns no bytes when the kernel has none now.
  std::size_t read_into(iovec first, iovec second);
  bool read_head();
  bool take_head();
  bool read_data();
  bool read_offer();
  void finish_incoming();
  std::size_t take_buffered(iovec into);

  const UniqueFd fd_;
  PeerMemory peer_;
  std::size_t offer_from_;
  bool readable_ = true, writable_ = true;  // until the kernel says that it would block
  bool hung_up_ = false;                    // the end is behind what can still be read
  bool ended_ = false;
  bool can_move_ = false;

  std::vector<Message> out_, in_;
  std::size_t out_at_ = 0, in_at_ = 0;  // the first that is not done
  std::vector<Head> answers_;           // to the peer's offers; written before the next message
  std::optional<Sending> sending_;
  bool awaiting_answer_ = false;  // to the offer of the message at out_at_

  std::optional<Head> head_;  // of the message that is being read
  bool accepted_ = false;     // it is the message at in_at_
  std::size_t got_ = 0;       // bytes of it
  // Bytes that were read beyond the current message, so that a short message costs one call
  std::array<std::byte, 512> buffer_;
  std::size_t buffered_from_ = 0, buffered_to_ = 0;
};

}  // namespace ds::comm
