// Every Output passes here: credit, last lines, log file, filter, fold, prefix, queue.
#include "launcher/job/output_hub.h"

#include <fmt/format.h>

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "launcher/job/job_facts.h"
#include "launcher/job/output_setup.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {

namespace {

std::string_view text_of(const Output& output) {
  return {reinterpret_cast<const char*>(output.bytes.data()), output.bytes.size()};
}

Clock::time_point time_of(std::uint64_t value) {
  return Clock::time_point(std::chrono::nanoseconds(value));
}

std::uint64_t lines_of(std::string_view text) {
  return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

OutputHub::OutputHub(asio::io_context& io, const Setup& setup, Events events)
    : io_(io),
      events_(std::move(events)),
      policy_(setup.policy),
      job_id_(setup.job_id),
      plan_(plan_output(policy_, setup.placement, job_id_,
                        look_at_screens(setup.out_fd, setup.err_fd))),
      started_(Clock::now()),
      started_wall_(std::chrono::system_clock::now()),
      relay_(setup.placement.world_size(), same_file(setup.out_fd, setup.err_fd)),
      last_(setup.placement.world_size()),
      taken_after_(setup.placement.ranks.size()),
      fold_timer_(io),
      book_(setup.placement.nodes.size()),
      waiting_(UINT64_MAX, false, SIZE_MAX),
      patience_(io),
      queue_(setup.out_fd, setup.err_fd,
             [this] { asio::post(io_, life_.guard([this] { on_change(); })); }) {
  if (setup.follow_first) plan_.sent.front() |= 1;
  if (policy_.fold && setup.placement.world_size() > 1) {
    for (const int stream : {1, 2})
      folds_[stream - 1].emplace(
          [this, stream](const FoldedLine& line) { show_folded(stream, line); });
  }
  if (plan_.files_on_nodes || plan_.files.empty()) return;
  make_log_folders(plan_.files);
  files_ = std::make_unique<RankFiles>(plan_.files, RankFiles::Begin::empty, [this] {
    asio::post(io_, life_.guard([this] { on_change(); }));
  });
}

// Agents, names and times.

void OutputHub::fill(Spec& spec, const Placement& placement) {
  if (plan_.files_on_nodes) plan_.files = log_files(policy_, placement, job_id_);
  plan_spec(plan_, spec);
  for (RankSpec& rank : spec.ranks)
    if (watched_.contains(rank.rank)) rank.sent = 3;
}

void OutputHub::prepared(int agent) {
  if (!std::exchange(agent_at(agent).has_credit, true)) events_.on_credit(agent, {book_.window()});
}

OutputHub::Agent& OutputHub::agent_at(int agent) {
  const auto index = static_cast<std::size_t>(agent);
  if (index >= agents_.size()) agents_.resize(index + 1);
  return agents_[index];
}

void OutputHub::greeted(int agent, const Hello& hello) {
  agent_at(agent).clock.greeted(hello.clock, Clock::now());
}

void OutputHub::heard(int agent, const Heartbeat& beat) {
  agent_at(agent).clock.heard(beat, Clock::now());
}

void OutputHub::start(const Placement& placement, const std::vector<std::string>& hosts) {
  if (names_.empty()) {
    started_ = Clock::now();
    started_wall_ = std::chrono::system_clock::now();
  }
  names_.clear();
  for (const RankPlace& place : placement.ranks) {
    const auto node = static_cast<std::size_t>(place.node_rank);
    names_.push_back({.rank = placement.shown_rank(place.rank),
                      .local_rank = place.local_rank,
                      .node_rank = placement.shown_node(place.node_rank),
                      .node = placement.nodes[node].host.name,
                      .host = printable(hosts[node]),
                      .group = placement.groups[static_cast<std::size_t>(place.group)].name});
  }
  for (FoldPrefix& last : fold_prefixes_) last = {};
  for (const int stream : {1, 2}) {
    std::vector<bool> writes;
    for (const std::uint8_t shown : plan_.shown) writes.push_back((shown & stream) != 0);
    if (folds_[stream - 1]) folds_[stream - 1]->start(writes);
  }
  if (plan_.untouched) return;
  std::vector<std::string> prefixes;
  for (const RankName& name : names_) {
    const RankName* one = &name;
    for (const int stream : {1, 2}) prefixes.push_back(prefix_of({&one, 1}, stream, started_));
  }
  relay_.set_prefixes(std::move(prefixes));
}

LineTime OutputHub::line_time(Clock::time_point at) const {
  const auto elapsed = std::max(at - started_, Clock::duration::zero());
  return {started_wall_ + std::chrono::duration_cast<std::chrono::system_clock::duration>(elapsed),
          elapsed};
}

std::string OutputHub::prefix_of(std::span<const RankName* const> ranks, int stream,
                                 Clock::time_point at) const {
  std::string prefix = plan_.prefix.render(ranks, stream, line_time(at));
  const bool in_colour = plan_.colour[stream - 1] && !prefix.empty() && ranks.size() == 1;
  return in_colour ? coloured(prefix, ranks.front()->rank) : prefix;
}

// Lines.

void OutputHub::take(int agent, const Output& output, std::size_t came) {
  const std::string_view text = text_of(output);
  some_came_ = true;
  const bool on_credit = output.rank != -1 && (output.flags & Output::kTail) == 0;
  if (on_credit) {
    const auto grant = book_.took(static_cast<std::size_t>(agent), kOutputHeaderBytes + came);
    if (grant) events_.on_credit(agent, {*grant});
  }
  if (output.stream != 1 && output.stream != 2) return;
  if (output.rank == -1) return say(fmt::format("dslaunch: {}", printable(text)));
  if (output.rank < 0 || static_cast<std::size_t>(output.rank) >= names_.size()) return;
  last_.add(output.rank, output.stream, text);
  if (!on_credit) return;
  const bool timed = plan_.stamped_files || plan_.prefix.has_time() || folds_[0];
  Output here = output;
  here.time = clock_value(timed ? agent_at(agent).clock.here(output.time, Clock::now()) : started_);
  if (plan_.shows(output.rank, output.stream)) {
    taken_ += text.size();
    if (!text.empty()) taken_after_[static_cast<std::size_t>(output.rank)] = taken_;
  }
  wait_or_pass(here);
}

/// `output.time` is of our clock.
void OutputHub::wait_or_pass(const Output& output) {
  if (book_.held()) return waiting_.push(output);
  pass(output);
  look_at_reader();
}

void OutputHub::pass(const Output& output) {
  const std::string_view text = text_of(output);
  if (output.rank == -1) {
    relay_.own_line(text, screens());
    return write_out();
  }
  const Clock::time_point at = time_of(output.time);
  if (files_ && !out_of_patience_) keep(output, text, at);
  if (!plan_.shows(output.rank, output.stream)) return;
  const bool drops = !waits_for_reader_ || plan_.drop_here;
  if (drops && queue_.queued() > OutputQueue::kHigh) {
    dropped_lines_ += lines_of(text);
    return;
  }
  show(output, text, at);
  write_out();
}

void OutputHub::show(const Output& output, std::string_view text, Clock::time_point at) {
  if (std::optional<LineFold>& fold = folds_[output.stream - 1]) {
    const auto flags = static_cast<std::uint8_t>(output.flags & ~Output::kLast);
    fold->add(output.rank, flags, text, at, Clock::now());
    if ((output.flags & Output::kLast) != 0) fold->ended(output.rank, at, Clock::now());
    return arm_fold_timer();
  }
  if (!plan_.prefix.has_time())
    return relay_.batch(output.rank, output.stream, output.flags, output.bytes, screens());
  const RankName* name = &names_[static_cast<std::size_t>(output.rank)];
  relay_.batch(output.rank, output.stream, output.flags, output.bytes,
               prefix_of({&name, 1}, output.stream, at), screens());
}

void OutputHub::show_folded(int stream, const FoldedLine& line) {
  FoldPrefix& last = fold_prefixes_[stream - 1];
  const bool same = std::ranges::equal(last.ranks, line.ranks) &&
                    (line.first == last.at || !plan_.prefix.has_time());
  if (!same) {
    std::vector<const RankName*> ranks;
    for (const int rank : line.ranks) ranks.push_back(&names_[static_cast<std::size_t>(rank)]);
    last.text = prefix_of(ranks, stream, line.first);
    last.ranks.assign(line.ranks.begin(), line.ranks.end());
    last.at = line.first;
  }
  const int rank = line.ranks.size() == 1 ? line.ranks.front() : -1;
  relay_.line(rank, stream, line.text, last.text, screens());
}

void OutputHub::keep(const Output& output, std::string_view text, Clock::time_point at) {
  const std::string stamp = plan_.stamped_files ? time_text(line_time(at).wall) + ' ' : "";
  files_->add(static_cast<std::size_t>(output.rank), output.stream, text, stamp);
}

void OutputHub::arm_fold_timer() {
  if (fold_armed_) return;
  auto due = folds_[0]->wake_at();
  const auto other = folds_[1]->wake_at();
  if (other && (!due || *other < *due)) due = other;
  if (!due) return;
  fold_armed_ = true;
  fold_timer_.expires_at(*due);
  fold_timer_.async_wait(life_.guard([this](const asio::error_code& error) {
    if (error) return;
    fold_armed_ = false;
    for (auto& fold : folds_) fold->tick(Clock::now());
    push();
    arm_fold_timer();
  }));
}

void OutputHub::say(std::string_view line) {
  wait_or_pass({.rank = -1, .stream = 2, .bytes = std::as_bytes(std::span(line))});
}

}  // namespace ds::launcher
