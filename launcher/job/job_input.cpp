// Passes input from the reader's thread to the event loop; the window limits the bytes read.
#include "launcher/job/job_input.h"

#include <asio/post.hpp>
#include <memory>
#include <utility>

namespace ds::launcher {

void JobInput::start(const std::vector<int>& agents, int node) {
  if (choice_.kind == StdinChoice::Kind::none) return;
  agents_ = agents;
  if (choice_.kind == StdinChoice::Kind::one) agents_ = {agents[static_cast<std::size_t>(node)]};
  window_.start(agents_);
  if (ended_) return pass({}, true);
  if (!reader_) {
    reader_ = std::make_unique<InputReader>(fd_, [this](std::vector<std::byte> bytes, bool last) {
      asio::post(io_, life_.guard([this, bytes = std::move(bytes), last] { pass(bytes, last); }));
    });
  }
  allow();
}

void JobInput::pass(const std::vector<std::byte>& bytes, bool last) {
  ended_ = last;
  const int rank = choice_.kind == StdinChoice::Kind::one ? choice_.rank : -1;
  for (const int agent : agents_) send_(agent, {.rank = rank, .last = last, .bytes = bytes});
  window_.sent(bytes.size());
  allow();
}

void JobInput::taken(int agent, std::uint64_t bytes) {
  window_.taken(agent, bytes);
  allow();
}

void JobInput::allow() {
  if (reader_ && !ended_) reader_->allow(window_.room());
}

}  // namespace ds::launcher
