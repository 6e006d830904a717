// OutputHub and whoever reads: how much may wait for them, and how it ends.
#include <fmt/format.h>

#include <asio/post.hpp>
#include <cerrno>
#include <system_error>
#include <utility>

#include "launcher/job/output_hub.h"

namespace ds::launcher {

namespace {

/// Log files may take this long after the end of everything else.
constexpr std::chrono::seconds kFilePatience{10};

}  // namespace

void OutputHub::push() {
  write_out();
  look_at_reader();
}

void OutputHub::write_out() {
  queue_.push(1, out_);
  queue_.push(2, err_);
}

/// More waits for the reader or the disk than should; `was`: than little.
bool OutputHub::is_behind(bool was) const {
  if (!waits_for_reader_) return false;
  const std::size_t in_files = files_ && !out_of_patience_ ? files_->queued() : 0;
  return (!plan_.drop_here && queue_.queued() > (was ? OutputQueue::kLow : OutputQueue::kHigh)) ||
         in_files > (was ? RankFiles::kLow : RankFiles::kHigh);
}

/// Nobody is granted anything before all that waits here has gone on.
void OutputHub::look_at_reader() {
  if (is_behind(book_.held())) return book_.hold();
  if (!book_.held()) return;
  while (const std::optional<Output> next = waiting_.front()) {
    pass(*next);
    waiting_.pop();
    if (is_behind(false)) return;
  }
  for (const auto& [agent, bytes] : book_.release())
    events_.on_credit(static_cast<int>(agent), {bytes});
  flush_last();
}

void OutputHub::on_change() {
  look_at_reader();
  say_problem();
  if (queue_.queued() < OutputQueue::kLow) say_dropped();
  if (const int error = queue_.broken(1); error != 0)
    events_.on_closed(error == EPIPE ? "" : std::generic_category().message(error));
  leave_when_written();
}

void OutputHub::say_problem() {
  const auto problem = files_ ? files_->problem() : std::nullopt;
  if (problem) say("dslaunch: " + *problem);
}

void OutputHub::say_dropped() {
  if (dropped_lines_ == 0) return;
  const std::uint64_t lines = std::exchange(dropped_lines_, 0);
  say(fmt::format("dslaunch: {} lines were not shown: nobody read fast enough{}", lines,
                  files_ ? "; the log files have them" : ""));
}

void OutputHub::leave_slow_reader() {
  if (!std::exchange(waits_for_reader_, false)) return;
  if (book_.held()) {
    // What the nodes hold back would only be dropped here.
    for (std::size_t agent = 0; agent < agents_.size(); ++agent)
      events_.on_credit(static_cast<int>(agent), {0, true});
  }
  asio::post(io_, life_.guard([this] { on_change(); }));
}

void OutputHub::finish() {
  const bool first = !std::exchange(finished_, true);
  flush_last();
  if (files_ && first) {
    patience_.expires_after(kFilePatience);
    patience_.async_wait(life_.guard([this](const asio::error_code& error) {
      if (error) return;
      out_of_patience_ = true;
      say("dslaunch: log files are incomplete: the disk does not answer");
      on_change();
    }));
  }
  on_change();
}

/// The last of the ranks' output, once all that has come is behind it.
void OutputHub::flush_last() {
  if (!finished_ || book_.held() || std::exchange(flushed_, true)) return;
  fold_timer_.cancel();
  for (auto& fold : folds_)
    if (fold) fold->flush();
  relay_.finish(screens());
  write_out();
  say_dropped();
}

void OutputHub::leave_when_written() {
  if (!flushed_ || book_.held()) return;
  const bool nobody_reads = !waits_for_reader_ && queue_.queued() > OutputQueue::kHigh;
  const bool kept = !files_ || files_->queued() == 0 || out_of_patience_;
  if (kept && (queue_.queued() == 0 || nobody_reads)) events_.on_written();
}

}  // namespace ds::launcher
