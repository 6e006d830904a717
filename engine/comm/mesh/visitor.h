// Visitor: one connection as its acceptor sees it. Proof, introduction, then requests to the store
// or a link. Pure: bytes in, bytes and events out; the Door reads and writes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/comm/mesh/frame.h"
#include "engine/comm/mesh/proof.h"

namespace ds::comm {

/// What all visitors of one acceptor share.
struct Household {
  std::string key;  // the job key; may be empty
  std::string job;  // job id and epoch; a visitor of another job is refused
  bool serves_store = false;
};

class Visitor {
 public:
  enum class Stage {
    hello,         // unproven: waits for the dialer's hello
    proof,         // unproven: waits for the dialer's HMAC
    introduction,  // proven: waits for the introduction
    store,         // sends requests
    link,  // is the link `link()`; its descriptor may be handed over once the output is written
    over   // to be closed once the output is written
  };

  Visitor(const Household& household, const Hello& own_hello);

  [[nodiscard]] Stage stage() const { return stage_; }
  [[nodiscard]] bool proven() const { return stage_ != Stage::hello && stage_ != Stage::proof; }
  /// How many bytes may be read now; zero for none. Never beyond the current message, so that a
  /// link's own bytes stay in its socket.
  [[nodiscard]] std::size_t wanted() const;
  /// Takes the next bytes, at most wanted() of them.
  void feed(std::span<const std::byte> bytes);

  /// Bytes to write, in order; the Door removes what it has written.
  [[nodiscard]] std::vector<std::byte>& output() { return output_; }
  /// Returns the requests that became complete, and forgets them.
  [[nodiscard]] std::vector<Frame> take_questions();
  [[nodiscard]] const std::string& link() const { return link_; }
  void answer(const Frame& frame);

 private:
  void finish_message();
  void check_proof();
  void meet(const Frame& frame);
  void end();

  const Household* household_;
  Hello own_hello_;
  Hello their_hello_{};
  Stage stage_ = Stage::hello;
  std::size_t message_bytes_ = kHelloBytes;  // of the current message, as far as known
  bool have_head_ = false;                   // of a frame
  std::vector<std::byte> input_;
  std::vector<std::byte> output_;
  std::vector<Frame> questions_;
  std::string link_;
};

}  // namespace ds::comm
