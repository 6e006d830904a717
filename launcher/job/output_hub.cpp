// Relay, ring and queue in one place.
#include "launcher/job/output_hub.h"

#include <asio/post.hpp>
#include <utility>

#include "launcher/job/job_facts.h"

namespace ds::launcher {

OutputHub::OutputHub(asio::io_context& io, const OutputSetup& setup, Events events)
    : io_(io),
      events_(std::move(events)),
      world_size_(setup.world_size),
      relay_(setup.world_size, same_file(setup.out_fd, setup.err_fd)),
      last_(setup.world_size),
      taken_after_(static_cast<std::size_t>(setup.world_size)),
      queue_(setup.out_fd, setup.err_fd,
             [this] { asio::post(io_, [this] { on_queue_change(); }); }) {}

void OutputHub::take(const Output& output) {
  if (output.stream != 1 && output.stream != 2) return;
  if (output.rank < 0 || output.rank >= world_size_) return;
  const std::string_view text{reinterpret_cast<const char*>(output.bytes.data()),
                              output.bytes.size()};
  last_.add(output.rank, output.stream, text);
  taken_ += text.size();
  taken_after_[static_cast<std::size_t>(output.rank)] = taken_;
  // After a signal nobody waits for a reader that does not read.
  if (!waits_for_reader_ && queue_.queued() > OutputQueue::kHigh) return;
  relay_.batch(output.rank, output.stream, output.flags, output.bytes, {out_, err_});
  push();
}

void OutputHub::say(std::string_view line) { relay_.own_line(line, {out_, err_}); }

void OutputHub::push() {
  queue_.push(1, out_);
  queue_.push(2, err_);
  look_at_reader();
}

void OutputHub::look_at_reader() {
  const std::size_t queued = queue_.queued();
  const bool pause =
      waits_for_reader_ && (paused_ ? queued >= OutputQueue::kLow : queued > OutputQueue::kHigh);
  if (std::exchange(paused_, pause) != pause) events_.on_pause(pause);
}

void OutputHub::on_queue_change() {
  look_at_reader();
  if (queue_.broken(1) && !finished_) events_.on_closed();
  if (!finished_) return;
  const bool nobody_reads = !waits_for_reader_ && queue_.queued() > OutputQueue::kHigh;
  if (queue_.queued() == 0 || nobody_reads) events_.on_written();
}

void OutputHub::leave_slow_reader() {
  if (!std::exchange(waits_for_reader_, false)) return;
  asio::post(io_, [this] { on_queue_change(); });
}

void OutputHub::finish() {
  finished_ = true;
  relay_.finish({out_, err_});
  push();
  on_queue_change();
}

}  // namespace ds::launcher
