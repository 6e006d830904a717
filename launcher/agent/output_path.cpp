#include "launcher/agent/output_path.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "engine/base/own_host_name.h"
#include "launcher/logs/line_batcher.h"
#include "launcher/logs/prefix.h"

namespace ds::launcher {
namespace {

/// Small frames are joined into writes of up to this size.
constexpr std::size_t kJoinedBytes = 16384;

/// Returns true for frames that nobody acts on at once.
bool may_wait(const Message& message) {
  if (std::holds_alternative<Started>(message)) return true;
  const auto* const ended = std::get_if<Exited>(&message);
  return ended != nullptr && ended->stage == Exited::Stage::none && ended->wait_status == 0;
}

bool would_block(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

/// How often the queue for a slow disk is checked.
constexpr std::chrono::milliseconds kDiskPeriod{20};
/// Smallest limit for the text of a frame, whatever credit the root grants.
constexpr std::uint64_t kLeastFrame = 1024;

std::string_view text_of(const Output& output) {
  return {reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size()};
}

}  // namespace

AgentChannel::AgentChannel(int in, int out) : in_(in), out_(out) {
  for (const int fd : {in, out}) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

bool AgentChannel::read_some() {
  std::array<std::byte, 65536> buffer;
  const ssize_t got = ::read(in_.get(), buffer.data(), buffer.size());
  if (got < 0) return would_block(errno);
  decoder_.feed(std::span(buffer).first(static_cast<std::size_t>(got)));
  return got > 0;
}

void AgentChannel::send_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  control_.emplace_back(bytes.begin(), bytes.end());
  control_waiting_ += bytes.size();
}

void AgentChannel::send_control(const Envelope& envelope, const Message& message) {
  if (broken_) return;
  may_wait(message) ? hold() : held_until_.reset();
  control_.push_back(encode(envelope, message));
  control_waiting_ += control_.back().size();
}

void AgentChannel::send_last(const Envelope& envelope, const Message& message) {
  if (broken_) return;
  queue_output(encode(envelope, message));
  flush();
}

void AgentChannel::queue_output(Bytes frame) {
  output_waiting_ += frame.size();
  output_.push_back(std::move(frame));
}

void AgentChannel::send_output(const Envelope& envelope, const Output& output) {
  if (broken_) return;
  std::array<std::byte, kOutputHeaderBytes> head;
  write_output_header(head, envelope, output);
  const bool only_the_end = output.bytes.empty();
  std::size_t taken = 0;
  if (only_the_end) {
    hold();
  } else if (!anything_waiting()) {
    const iovec parts[] = {{head.data(), head.size()},
                           {const_cast<std::byte*>(output.bytes.data()), output.bytes.size()}};
    const ssize_t wrote = ::writev(out_.get(), parts, 2);
    if (wrote < 0 && !would_block(errno)) broken_ = true;
    taken = wrote < 0 ? 0 : static_cast<std::size_t>(wrote);
    if (taken == head.size() + output.bytes.size() || broken_) return;
  }
  Bytes frame(head.begin(), head.end());
  frame.insert(frame.end(), output.bytes.begin(), output.bytes.end());
  if (taken == 0) {
    queue_output(std::move(frame));
  } else {
    current_ = std::move(frame);
    written_ = taken;
  }
  if (held_until_ && !only_the_end) flush();
}

bool AgentChannel::write_current() {
  while (written_ < current_.size()) {
    const ssize_t wrote =
        ::write(out_.get(), current_.data() + written_, current_.size() - written_);
    if (wrote < 0 && errno == EINTR) continue;
    broken_ = wrote < 0 && !would_block(errno);
    if (wrote < 0) return false;
    written_ += static_cast<std::size_t>(wrote);
  }
  current_.clear();
  written_ = 0;
  return true;
}

/// Loads the next frame and small ones after it; returns false if none waits.
bool AgentChannel::load_next() {
  while (!control_.empty() || !output_.empty()) {
    std::deque<Bytes>& queue = control_.empty() ? output_ : control_;
    Bytes& next = queue.front();
    if (!current_.empty() && current_.size() + next.size() > kJoinedBytes) break;
    (&queue == &output_ ? output_waiting_ : control_waiting_) -= next.size();
    if (current_.empty()) {
      current_ = std::move(next);
    } else {
      current_.insert(current_.end(), next.begin(), next.end());
    }
    queue.pop_front();
  }
  return !current_.empty();
}

void AgentChannel::flush() {
  held_until_.reset();
  while (!broken_ && write_current() && load_next()) {
  }
}

void OutputPath::begin(const Spec& spec, const Envelope& envelope) {
  report_files();
  envelope_ = envelope;
  if (!spool_) spool_.emplace(spec.output.spool_bytes, spec.output.drop);
  spool_limit_ = spec.output.spool_bytes;
  stamped_ = spec.output.stamped;
  waits_for_files_.reset();
  ranks_.clear();
  std::vector<std::string> paths;
  bool has_files = false;
  bool all_sent = true;
  for (const RankSpec& rank : spec.ranks) {
    ranks_[rank.rank] = {.index = paths.size(), .sent = rank.sent};
    paths.push_back(rank.log_file);
    has_files = has_files || !rank.log_file.empty();
    all_sent = all_sent && rank.sent == 3;
  }
  plain_ = all_sent && !has_files;
  last_.reset();
  if (!all_sent) last_.emplace(static_cast<int>(paths.size()));
  const auto begins = envelope.epoch == 0 ? RankFiles::Begin::empty : RankFiles::Begin::at_end;
  if (has_files) files_ = std::make_unique<RankFiles>(std::move(paths), begins, [] {});
}

void OutputPath::take(const Output& output) {
  if (!plain_) {
    const auto known = ranks_.find(output.rank);
    if (known == ranks_.end()) return;
    keep(output, known->second);
    if ((known->second.sent & output.stream) == 0) return;
  }
  // Sends as much as credit allows, in frames of the right size. The rest goes to the end of the
  // spool.
  OutputCutter cutter(output, frame_);
  while (const std::optional<Output> piece = cutter.next()) {
    if (!keeping_ && spool_->empty() && may_send()) {
      send(*piece);
    } else {
      spool_->push(*piece);
    }
  }
}

void OutputPath::keep(const Output& output, Rank& rank) {
  if (files_ && files_->has(rank.index)) {
    const std::string stamp =
        stamped_ ? time_text(std::chrono::system_clock::now()) + ' ' : std::string();
    files_->add(rank.index, output.stream, text_of(output), stamp);
  }
  if ((rank.sent & output.stream) == 0)
    last_->add(static_cast<int>(rank.index), output.stream, text_of(output));
  if ((output.flags & Output::kLast) == 0 || --rank.streams_open > 0) return;
  if (last_ && !last_->of(static_cast<int>(rank.index)).empty()) send_last_lines(output.rank, rank);
}

/// Sends the lines that the root has not received yet, and marks them as sent.
void OutputPath::send_last_lines(std::int32_t number, const Rank& rank) {
  std::string tail;
  for (const std::string& line : last_->of(static_cast<int>(rank.index))) tail += line + '\n';
  last_->forget(static_cast<int>(rank.index));
  channel_.send_control(envelope_, Output{.rank = number,
                                          .stream = 1,
                                          .flags = Output::kTail,
                                          .time = clock_value(Clock::now()),
                                          .bytes = std::as_bytes(std::span(tail))});
}

void OutputPath::watch(const Watch& watch) {
  const auto known = ranks_.find(watch.rank);
  if (known == ranks_.end()) return;
  Rank& rank = known->second;
  const bool more = (watch.sent & ~std::exchange(rank.sent, watch.sent)) != 0;
  plain_ = false;
  if (!last_) last_.emplace(static_cast<int>(ranks_.size()));
  if (more) send_last_lines(watch.rank, rank);
}

void OutputPath::send(const Output& output) {
  if (credit_) *credit_ -= std::min(*credit_, kOutputHeaderBytes + output.bytes.size());
  channel_.send_output(envelope_, output);
}

void OutputPath::say(const std::string& text, std::uint8_t flags) {
  if (!channel_.takes_news() && flags == 0) return;
  const std::string line = fmt::format("{}: {}", own_host_name(), text);
  channel_.send_control(
      envelope_,
      Output{.rank = -1, .stream = 2, .flags = flags, .bytes = std::as_bytes(std::span(line))});
}

void OutputPath::credit(const Credit& credit) {
  // What ranks write later still needs credit, which the root grants although nobody reads.
  if (credit.discard && spool_) spool_->discard();
  if (credit.bytes == 0) return;
  if (!credit_) frame_ = std::max(CreditBook::frame_of(credit.bytes), kLeastFrame);
  credit_ = credit_.value_or(0) + credit.bytes;
}

bool OutputPath::may_send() const {
  const bool has_credit = !credit_ || *credit_ >= kOutputHeaderBytes + frame_;
  return has_credit && channel_.output_waiting() < kChannelLimit;
}

bool OutputPath::may_read() const {
  if (files_ && files_->queued() > RankFiles::kHigh) return false;
  if (!spool_) return may_send();  // no Spec yet
  return keeping_ ? !spool_->full() : may_send() && spool_->empty();
}

void OutputPath::move(Clock::time_point now) {
  if (const auto problem = files_ ? files_->problem() : std::nullopt) say(*problem);
  if (!spool_) return;
  while (may_send()) {
    const std::optional<Output> next = spool_->front();
    if (const std::uint64_t lines = spool_->take_dropped(); lines > 0)
      say(fmt::format("{} lines were dropped: the launcher did not read fast enough", lines));
    if (!next) {
      keeping_ = false;
      break;
    }
    send(*next);
    spool_->pop();
  }
  if (may_send()) {
    stuck_since_.reset();
  } else if (!stuck_since_) {
    stuck_since_ = now;
  }
  if (stuck_since_ && spool_limit_ > 0 && now >= *stuck_since_ + kPatience) keeping_ = true;
}

Clock::time_point OutputPath::wake_at() const {
  Clock::time_point at = Clock::time_point::max();
  if (stuck_since_ && !keeping_ && spool_limit_ > 0) at = *stuck_since_ + kPatience;
  const bool looks_at_disk = files_ && (files_->queued() > RankFiles::kHigh || waits_for_files_);
  return looks_at_disk ? std::min(at, Clock::now() + kDiskPeriod) : at;
}

bool OutputPath::done(Clock::time_point now) {
  if (keeping_ || (spool_ && !spool_->empty())) return false;
  if (files_ && files_->queued() > 0) {
    if (!waits_for_files_) waits_for_files_ = now;
    if (now < *waits_for_files_ + kFilePatience) return false;
    files_->give_up("the disk does not answer");
  }
  report_files();
  return true;
}

/// Nothing more is written to the log files: tells the root of those that are incomplete.
void OutputPath::report_files() {
  if (!files_) return;
  const std::string text = incomplete_text(files_->incomplete());
  files_.reset();
  if (!text.empty()) say(text, Output::kLogs);
}

}  // namespace ds::launcher
