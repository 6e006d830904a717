#include "launcher/exec/exec_output.h"

#include <asio/post.hpp>
#include <utility>

#include "launcher/exec/folded_text.h"
#include "launcher/job/job_facts.h"
#include "launcher/job/verdict.h"

namespace ds::launcher::exec {
namespace {

/// Returns 2 prefixes for each node, 1 per stream.
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
      tree_(static_cast<int>(names_.size())),
      flow_(names_.size(), events_.on_credit),
      screen_(setup.out_fd, setup.err_fd, [this] { asio::post(io_, [this] { on_change(); }); }),
      relay_(static_cast<int>(names_.size()), same_file(setup.out_fd, setup.err_fd), screen_),
      filter_({.shown = std::vector<std::uint8_t>(names_.size(), 3),
               .drops = [this] { return !screen_.waits_for_reader() && screen_.is_full(); }},
              relay_),
      backlog_(
          flow_, [this](bool was) { return screen_.is_behind(was); }, filter_) {
  if (setup.prefixed || names_.size() != 1) relay_.set_prefixes(prefixes(names_, setup.prefixed));
}

bool ExecOutput::folds(const Output& output) const {
  return setup_.fold == Fold::both || (setup_.fold == Fold::standard_output && output.stream == 1);
}

void ExecOutput::take(int node, const Output& output, std::size_t came) {
  flow_.took(node, output, came);
  if (output.stream != 1 && output.stream != 2) return;
  if (output.rank == -1) return say("dslaunch: " + printable(text_of(output)));
  if (folds(output)) return tree_.add(node, output.stream, text_of(output));
  Output known = output;
  known.rank = node;
  backlog_.take(known);
}

void ExecOutput::on_change() {
  backlog_.look();
  if (screen_.is_low()) filter_.say_dropped();
  if (const auto why = screen_.closed(); why && !std::exchange(closed_, true))
    events_.on_closed(*why);
  end_when_drained();
}

void ExecOutput::leave_slow_reader() {
  if (!screen_.leave_slow_reader()) return;
  if (flow_.held()) flow_.discard();
  asio::post(io_, [this] { on_change(); });
}

void ExecOutput::finish(std::string last_words, std::vector<bool> ended) {
  finished_ = true;
  last_words_ = std::move(last_words);
  ended_ = std::move(ended);
  tree_.finish();
  backlog_.finish();
  on_change();
}

/// Prints the folded output after all output that is shown as it arrives.
void ExecOutput::end_when_drained() {
  if (!finished_ || !backlog_.drained()) return;
  if (!std::exchange(folded_printed_, true)) {
    const PutText put = [this](std::string_view text) {
      screen_.buffers().out.append(text);
      screen_.push();
    };
    if (setup_.diff)
      print_diff(tree_.groups(ended_), names_, put);
    else
      print_folded(tree_.groups(), names_, put);
    if (!last_words_.empty()) say(last_words_);
  }
  if (backlog_.drained() && screen_.written()) events_.on_written();
}

}  // namespace ds::launcher::exec
