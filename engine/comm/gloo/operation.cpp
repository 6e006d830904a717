// GlooGroup::Operation: posts messages, waits for them, and names the peer at fault.
#include "engine/comm/gloo/operation.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "engine/base/error.h"

namespace ds::comm {

using std::chrono::milliseconds;

namespace {

// The watchdog enforces deadlines; Gloo's own timeout would count time in which the job was
// suspended.
constexpr milliseconds kForever = std::chrono::hours(24 * 365);

}  // namespace

GlooGroup::Operation::Operation(GlooGroup& group, std::string_view name, Deadline deadline,
                                std::optional<std::uint64_t> bytes)
    : group_(group), name_(name), messages_(group.messages_) {
  if (group_.is_aborted()) fail("the group was aborted");
  if (group_.failed_) fail("the group had already failed");
  group_.forget_lateness();
  watch_.emplace(*group_.watchdog_, deadline, group_.late_);
  group_.log_.begin(bytes ? ++group_.calls_ : 0, name_, group_.about_, bytes.value_or(0));
}

GlooGroup::Operation::~Operation() {
  group_.log_.end();
  forget_messages();
}

void GlooGroup::Operation::receive(int from, std::span<std::byte> into, std::uint64_t slot) {
  if (into.empty()) return;
  Message message{.peer = from,
                  .buffer = group_.context_->createUnboundBuffer(into.data(), into.size())};
  post(std::move(message), slot);
}

void GlooGroup::Operation::send(int to, std::span<const std::byte> data, std::uint64_t slot) {
  if (data.empty()) return;
  // Gloo has one type for both directions; it only reads from this buffer.
  auto* bytes = const_cast<std::byte*>(data.data());
  Message message{.peer = to,
                  .outgoing = true,
                  .buffer = group_.context_->createUnboundBuffer(bytes, data.size())};
  post(std::move(message), slot);
}

// All parts of a message share its slot: a pair keeps the order of equal slots. The slot contains
// the length, so that a message shorter than its receiver expects never matches.
void GlooGroup::Operation::post(Message message, std::uint64_t slot) {
  ::gloo::transport::UnboundBuffer& buffer = *message.buffer;
  message.parts = (buffer.size + group_.chunk_bytes_ - 1) / group_.chunk_bytes_;
  slot ^= mark_of(buffer.size);
  const int peer = message.peer;
  const bool outgoing = message.outgoing;
  messages_.push_back(std::move(message));
  {
    const std::lock_guard lock(group_.mutex_);
    group_.waiting_.push_back(&buffer);
  }
  try {
    for (std::size_t at = 0; at < buffer.size; at += group_.chunk_bytes_) {
      const std::size_t bytes = std::min(group_.chunk_bytes_, buffer.size - at);
      outgoing ? buffer.send(peer, slot, at, bytes) : buffer.recv(peer, slot, at, bytes);
    }
  } catch (const std::exception&) {
    fail_of_peer(peer);
  }
}

// Events from before a message was posted wake nobody, so this checks once before the first wait.
void GlooGroup::Operation::finish() {
  look_at_news(nullptr);
  for (Message& message : messages_) finish(message);
  forget_messages();
}

void GlooGroup::Operation::finish_first() {
  look_at_news(nullptr);
  if (!messages_.empty()) finish(messages_.front());
}

void GlooGroup::Operation::finish(Message& message) {
  while (message.parts > 0) {
    bool arrived = false;
    try {
      arrived = wait(message, kForever);
    } catch (const std::exception&) {
      fail_of_peer(message.peer);
    }
    if (!arrived) look_at_news(&message);
  }
}

// Returns false when it was woken because of an event. Throws when the connection ended.
bool GlooGroup::Operation::wait(Message& message, milliseconds gloo_timeout) {
  const bool arrived = message.outgoing ? message.buffer->waitSend(gloo_timeout)
                                        : message.buffer->waitRecv(gloo_timeout);
  if (arrived) --message.parts;
  return arrived;
}

// A peer whose connection ended is at fault only if this operation still needs it: a peer that has
// done its part may leave.
void GlooGroup::Operation::look_at_news(const Message* waited_for) {
  if (!group_.has_news()) return;
  const News news = group_.news();
  if (news.aborted) fail("the group was aborted");
  if (!news.hopeless.empty()) fail(news.hopeless);
  for (Message& message : messages_) {
    if (news.ended[static_cast<std::size_t>(message.peer)] && !is_complete(message))
      fail_of_peer(message.peer);
  }
  if (news.late) fail_if_late(waited_for);
}

// Reports who is waited for before the others see this rank's links end, which checking the other
// messages may cause.
void GlooGroup::Operation::fail_if_late(const Message* waited_for) {
  const double seconds = std::chrono::duration<double>(Clock::now() - begun_).count();
  if (waited_for != nullptr) {
    early_report_ = message_of(
        fmt::format("no answer from {} after {:.3g} s", group_.name_of(waited_for->peer), seconds));
    static_cast<void>(group_.report_fault(early_report_));
  }
  const std::string missing = missing_peers();
  if (missing.empty()) return;  // everything arrived at the last moment
  fail(fmt::format("no answer from {} after {:.3g} s", missing, seconds));
}

// Checks without waiting; when the message is incomplete, Gloo ends all links of the group.
bool GlooGroup::Operation::is_complete(Message& message) {
  try {
    int wakes = 0;  // one earlier wake-up may still be pending
    while (message.parts > 0 && wakes < 2) wakes += wait(message, milliseconds(1)) ? 0 : 1;
  } catch (const std::exception&) {
    return false;
  }
  return message.parts == 0;
}

void GlooGroup::Operation::forget_messages() {
  {
    const std::lock_guard lock(group_.mutex_);
    group_.waiting_.clear();
  }
  messages_.clear();
}

// The first connection that ended is the likely cause of the others' end. Gloo tells the waiting
// thread before on_link_ended(), so there may be no event yet.
void GlooGroup::Operation::fail_of_peer(int peer) {
  const News news = group_.news();
  if (news.aborted) fail("the group was aborted");
  const int culprit = news.first_ended >= 0 ? news.first_ended : peer;
  const std::string other = group_.guard_ ? group_.guard_->suspicion() : "";
  fail(fmt::format("{} closed the connection{}{}", group_.name_of(culprit),
                   other.empty() ? "" : "; ", other));
}

// Returns the peers that are waited for. Checking ends the group's links if a message is
// incomplete.
std::string GlooGroup::Operation::missing_peers() {
  std::vector<int> missing;
  for (const bool outgoing : {false, true}) {
    for (Message& message : messages_) {
      if (message.outgoing != outgoing || is_complete(message)) continue;
      if (std::find(missing.begin(), missing.end(), message.peer) == missing.end())
        missing.push_back(message.peer);
    }
    // Ranks that sent nothing are the cause. Ranks that did not receive are named only when
    // everything arrived.
    if (!missing.empty()) break;
  }
  std::string names;
  for (const int peer : missing) names += (names.empty() ? "" : ", ") + group_.name_of(peer);
  return names;
}

std::string GlooGroup::Operation::message_of(std::string_view what) const {
  return fmt::format("{} (of group {}): {}{}{}: {}", group_.name_of(group_.rank_),
                     group_.spec_.name, name_, group_.about_.empty() ? "" : " ", group_.about_,
                     what);
}

void GlooGroup::Operation::fail(std::string_view what) {
  std::string message = message_of(what);
  if (!group_.failed_) {
    group_.failed_ = true;
    const std::string first = group_.report_fault(message);
    if (first != message && first != early_report_)
      message += fmt::format("; the first report was: {}", first);
    group_.log_.fail(message);
    const std::lock_guard lock(group_.mutex_);
    group_.news_.closing = true;
  }
  group_.context_->close_all();
  throw Error(ErrorKind::comm, message);
}

}  // namespace ds::comm
