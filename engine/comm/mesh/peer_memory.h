// PeerMemory: reads the memory of another rank on the same machine, with one copy
// (process_vm_readv).
//
// Each member of a group shows a card: which boot of which machine it runs on, its process id, and
// the address and value of a random word in its memory. A rank whose word can be read, and has the
// value on the card, is on this machine, visible under that process id, and may be read. Each
// later read ends with the word, so bytes that the owner has taken back, or that lie in an
// unrelated process, are never accepted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ds::comm {

struct MemoryCard {
  std::string machine{};            // the kernel's boot id; empty: do not read
  std::uint64_t pid_namespace = 0;  // its inode
  std::uint64_t process = 0;
  std::uint64_t address = 0;  // of the word
  std::uint64_t word = 0;     // never 0
};

/// Lets the ranks that have the card read this process, until revoke() or the destructor.
class OwnMemory {
 public:
  /// `readable` false: makes a card that nobody can use. Errors: Error{system} when the system has
  /// no randomness.
  explicit OwnMemory(bool readable);
  ~OwnMemory() { revoke(); }
  OwnMemory(const OwnMemory&) = delete;

  [[nodiscard]] const MemoryCard& card() const { return card_; }
  /// Makes reads that have not ended fail at their readers. Any thread.
  void revoke() { word_ = 0; }

 private:
  std::atomic<std::uint64_t> word_;
  MemoryCard card_;
};

class PeerMemory {
 public:
  /// Nothing can be read.
  PeerMemory() = default;
  /// Tries to read the peer's word.
  PeerMemory(const MemoryCard& own, const MemoryCard& peer);

  [[nodiscard]] bool readable() const { return readable_; }
  /// Returns why a peer on this machine cannot be read; empty for other peers.
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }

  enum class Result {
    done,
    impossible,  // these addresses cannot be read: memory of a device, for instance
    revoked      // the peer failed or ended
  };
  /// Reads `into.size()` bytes from the peer's `address`.
  [[nodiscard]] Result read(std::uint64_t address, std::span<std::byte> into) const;

 private:
  bool read_with_word(std::uint64_t address, std::span<std::byte> into, std::uint64_t& word) const;

  MemoryCard peer_{};
  bool readable_ = false;
  std::string obstacle_;
};

}  // namespace ds::comm
