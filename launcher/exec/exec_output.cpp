// Relay, tree and queue in one place.
#include "launcher/exec/exec_output.h"

#include <asio/post.hpp>
#include <cerrno>
#include <system_error>
#include <utility>

#include "launcher/exec/folded_text.h"
#include "launcher/job/job_facts.h"

namespace ds::launcher::exec {
namespace {

/// For both streams of each node.
std::vector<std::string> prefixes(const std::vector<std::string>& names, bool prefixed) {
  std::vector<std::string> prefixes;
  for (const std::string& name : names)
    prefixes.insert(prefixes.end(), 2, prefixed ? name + ": " : "");
  return prefixes;
}

}  // namespace

ExecOutput::ExecOutput(asio::io_context& io, const ExecOutputSetup& setup,
                       std::vector<std::string> names, Events events)
    : io_(io),
      setup_(setup),
      names_(std::move(names)),
      events_(std::move(events)),
      relay_(static_cast<int>(names_.size()), same_file(setup.out_fd, setup.err_fd)),
      tree_(static_cast<int>(names_.size())),
      queue_(setup.out_fd, setup.err_fd,
             [this] { asio::post(io_, [this] { on_queue_change(); }); }) {
  relay_.set_prefixes(prefixes(names_, setup.prefixed));
}

void ExecOutput::take(int node, const Output& output) {
  if (output.stream != 1 && output.stream != 2) return;
  const bool folded =
      setup_.fold == Fold::both || (setup_.fold == Fold::standard_output && output.stream == 1);
  if (folded) {
    tree_.add(node, output.stream,
              {reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size()});
    return;
  }
  // Once all is to stop nobody waits for a reader that does not read.
  if (!waits_for_reader_ && queue_.queued() > OutputQueue::kHigh) return;
  relay_.batch(node, output.stream, output.flags, output.bytes, {out_, err_});
  push();
}

void ExecOutput::say(std::string_view lines) {
  relay_.own_line(lines, {out_, err_});
  push();
}

void ExecOutput::push() {
  queue_.push(1, out_);
  queue_.push(2, err_);
  look_at_reader();
}

void ExecOutput::look_at_reader() {
  const std::size_t queued = queue_.queued();
  const bool pause =
      waits_for_reader_ && (paused_ ? queued >= OutputQueue::kLow : queued > OutputQueue::kHigh);
  if (std::exchange(paused_, pause) != pause) events_.on_pause(pause);
}

void ExecOutput::on_queue_change() {
  look_at_reader();
  if (const int error = queue_.broken(1); error != 0 && !std::exchange(closed_, true))
    events_.on_closed(error == EPIPE ? "" : std::generic_category().message(error));
  if (!finished_) return;
  const bool nobody_reads = !waits_for_reader_ && queue_.queued() > OutputQueue::kHigh;
  if (queue_.queued() == 0 || nobody_reads) events_.on_written();
}

void ExecOutput::leave_slow_reader() {
  if (!std::exchange(waits_for_reader_, false)) return;
  asio::post(io_, [this] { on_queue_change(); });
}

void ExecOutput::finish(std::string_view last_words, const std::vector<bool>& ended) {
  finished_ = true;
  relay_.finish({out_, err_});
  tree_.finish();
  const std::vector<OutputGroup> groups = tree_.groups(setup_.diff ? ended : std::vector<bool>());
  out_.append(setup_.diff ? diff_text(groups, names_) : folded_text(groups, names_));
  push();
  if (!last_words.empty()) say(last_words);
  on_queue_change();
}

}  // namespace ds::launcher::exec
