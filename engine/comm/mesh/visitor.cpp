// Visitor: the acceptor's side of one connection, message by message.
#include "engine/comm/mesh/visitor.h"

#include <algorithm>
#include <utility>

#include "engine/base/error.h"

namespace ds::comm {

Visitor::Visitor(const Household& household, const Hello& own_hello)
    : household_(&household), own_hello_(own_hello) {}

std::size_t Visitor::wanted() const {
  if (stage_ == Stage::link || stage_ == Stage::over) return 0;
  return message_bytes_ - input_.size();
}

void Visitor::feed(std::span<const std::byte> bytes) {
  DS_ASSERT(bytes.size() <= wanted());
  input_.insert(input_.end(), bytes.begin(), bytes.end());
  // The first 8 bytes show whether the peer speaks the protocol; waiting for all 40 is needless.
  if (stage_ == Stage::hello && input_.size() >= 8 && !has_magic(input_)) end();
  if (wanted() == 0 && stage_ != Stage::over) finish_message();
}

std::vector<Frame> Visitor::take_questions() { return std::exchange(questions_, {}); }

void Visitor::answer(const Frame& frame) {
  const std::vector<std::byte> bytes = encode(frame);
  output_.insert(output_.end(), bytes.begin(), bytes.end());
}

void Visitor::finish_message() {
  switch (stage_) {
    case Stage::hello:
      std::copy(input_.begin(), input_.end(), their_hello_.begin());
      output_.insert(output_.end(), own_hello_.begin(), own_hello_.end());
      stage_ = Stage::proof;
      message_bytes_ = kMacBytes;
      break;
    case Stage::proof:
      check_proof();
      break;
    case Stage::introduction:
    case Stage::store:
      if (!have_head_) {
        const std::optional<std::size_t> body = body_bytes(input_);
        if (!body || (stage_ == Stage::introduction && *body > 4 * kMaxKey)) return end();
        have_head_ = true;
        message_bytes_ = *body;
      } else {
        const std::optional<Frame> frame = decode_body(input_);
        if (!frame) return end();
        have_head_ = false;
        message_bytes_ = kFrameHead;
        if (stage_ == Stage::introduction) {
          meet(*frame);
        } else {
          questions_.push_back(*frame);
        }
      }
      break;
    case Stage::link:
    case Stage::over:
      break;
  }
  input_.clear();
}

void Visitor::check_proof() {
  const Mac expected = make_mac(household_->key, Side::dialer, their_hello_, own_hello_);
  if (!equal_macs(input_, expected)) {
    output_.insert(output_.end(), kMacBytes, std::byte{0});
    return end();
  }
  const Mac own = make_mac(household_->key, Side::acceptor, their_hello_, own_hello_);
  output_.insert(output_.end(), own.begin(), own.end());
  stage_ = Stage::introduction;
  message_bytes_ = kFrameHead;
}

void Visitor::meet(const Frame& frame) {
  const auto refuse = [&](const std::string& why) {
    answer({FrameKind::refused, frame.id, frame.key, why});
    end();
  };
  if (frame.kind != FrameKind::introduce) return end();
  if (frame.value != household_->job) {
    return refuse(fmt::format("this is job {}, not {}", household_->job, frame.value));
  }
  if (frame.key == "store") {
    if (!household_->serves_store) return refuse("this rank does not serve the store");
    stage_ = Stage::store;
  } else if (frame.key.starts_with("link ")) {
    link_ = frame.key.substr(5);
    stage_ = Stage::link;
  } else {
    return end();
  }
  answer({FrameKind::answer, frame.id, frame.key, {}});
}

void Visitor::end() {
  stage_ = Stage::over;
  input_.clear();
}

}  // namespace ds::comm
