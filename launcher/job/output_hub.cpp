#include "launcher/job/output_hub.h"

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

#include "launcher/job/job_facts.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {
namespace {

/// The longest wait for log files after everything else has ended.
constexpr std::chrono::seconds kFilePatience{10};

/// `hosts`: the machines' own names, by node; empty: not known yet.
std::vector<RankName> rank_names(const Placement& placement,
                                 const std::vector<std::string>& hosts) {
  std::vector<RankName> names;
  for (const RankPlace& place : placement.ranks) {
    const auto node = static_cast<std::size_t>(place.node_rank);
    names.push_back({.rank = placement.shown_rank(place.rank),
                     .local_rank = place.local_rank,
                     .node_rank = placement.shown_node(place.node_rank),
                     .node = placement.nodes[node].host.name,
                     .host = hosts.empty() ? std::string() : printable(hosts[node]),
                     .group = placement.groups[static_cast<std::size_t>(place.group)].name});
  }
  return names;
}

}  // namespace

OutputHub::OutputHub(asio::io_context& io, const Setup& setup, Events events)
    : io_(io),
      events_(std::move(events)),
      policy_(setup.policy),
      job_id_(setup.job_id),
      plan_(plan_output(policy_, setup.placement, job_id_,
                        look_at_screens(setup.out_fd, setup.err_fd))),
      names_(rank_names(setup.placement, {})),
      flow_(setup.placement.nodes.size(), events_.on_credit),
      last_(setup.placement.world_size()),
      prefixes_(plan_.prefix, plan_.colour[0], plan_.colour[1]),
      screen_(setup.out_fd, setup.err_fd, [this] { change_soon(); }),
      relay_(setup.placement.world_size(), same_file(setup.out_fd, setup.err_fd), screen_),
      fold_timer_(io),
      patience_(io) {
  if (setup.follow_first) plan_.sent.front() |= 1;
  connect_stages(policy_.fold && setup.placement.world_size() > 1);
}

void OutputHub::connect_stages(bool fold) {
  const bool files_here = !plan_.files_on_nodes && !plan_.files.empty();
  OutputStage* next = &relay_;
  if (fold) next = &fold_.emplace(prefixes_, clock_, relay_);
  const auto drops = [this] {
    return screen_.is_full() && (plan_.drop_here || !screen_.waits_for_reader());
  };
  next = &filter_.emplace(
      ShowFilter::Setup{.shown = plan_.shown,
                        .drops = drops,
                        .elsewhere = files_here ? "; the log files have them" : ""},
      *next);
  if (files_here) {
    make_log_folders(plan_.files);
    next = &files_.emplace(
        plan_.files, plan_.output.stamped ? &clock_ : nullptr, [this] { change_soon(); }, *next);
  }
  front_.emplace(
      flow_, [this](bool was) { return is_behind(was); }, *next);
}

void OutputHub::change_soon() {
  asio::post(io_, life_.guard([this] { on_change(); }));
}

void OutputHub::fill(Spec& spec, const Placement& placement) {
  if (plan_.files_on_nodes) plan_.files = log_files(policy_, placement, job_id_);
  plan_spec(plan_, spec);
  for (RankSpec& rank : spec.ranks)
    if (watched_.contains(rank.rank)) rank.sent = 3;
}

void OutputHub::start(const Placement& placement, const std::vector<std::string>& hosts) {
  if (prefixes_.ranks() == 0) clock_.start();
  DS_ASSERT(placement.ranks.size() <= names_.size());
  std::ranges::copy(rank_names(placement, hosts), names_.begin());
  prefixes_.set_names(names_);
  const auto ranks = static_cast<std::ptrdiff_t>(placement.ranks.size());
  if (fold_) fold_->start({plan_.shown.begin(), plan_.shown.begin() + ranks});
  if (plan_.untouched) return;
  relay_.set_prefixes(prefixes_.all(clock_.of(clock_.started())));
  if (prefixes_.has_time()) relay_.set_timed(prefixes_, clock_);
}

void OutputHub::take(int agent, const Output& output, std::size_t came) {
  flow_.took(agent, output, came);
  const std::string_view text = text_of(output);
  if (output.stream != 1 && output.stream != 2) return;
  if (output.rank == -1 && (output.flags & Output::kLogs) != 0) {
    incomplete_[agent] = printable(text);
    return;
  }
  if (output.rank == -1) return say("dslaunch: " + printable(text));
  if (output.rank < 0 || static_cast<std::size_t>(output.rank) >= prefixes_.ranks()) return;
  last_.add(output.rank, output.stream, text);
  if ((output.flags & Output::kTail) != 0) return;
  const bool timed = plan_.output.stamped || prefixes_.has_time() || fold_;
  Output here = output;
  here.time =
      clock_value(timed ? clocks_.of(agent).here(output.time, Clock::now()) : clock_.started());
  front_->take(here);
  if (fold_) arm_fold_timer();
}

void OutputHub::arm_fold_timer() {
  if (fold_armed_) return;
  const auto due = fold_->wake_at();
  if (!due) return;
  fold_armed_ = true;
  fold_timer_.expires_at(*due);
  fold_timer_.async_wait(life_.guard([this](const asio::error_code& error) {
    if (error) return;
    fold_armed_ = false;
    fold_->tick(Clock::now());
    front_->look();
    arm_fold_timer();
  }));
}

void OutputHub::on_change() {
  front_->look();
  if (fold_) arm_fold_timer();
  if (const auto problem = files_ ? files_->problem() : std::nullopt) say("dslaunch: " + *problem);
  if (screen_.is_low()) filter_->say_dropped();
  if (const auto why = screen_.closed()) events_.on_closed(*why);
  const bool written = front_->drained() && (!files_ || files_->written()) && screen_.written();
  if (written) events_.on_written();
}

void OutputHub::leave_slow_reader() {
  if (!screen_.leave_slow_reader()) return;
  if (flow_.held()) flow_.discard();
  change_soon();
}

void OutputHub::finish() {
  const bool first = !std::exchange(finished_, true);
  fold_timer_.cancel();
  front_->finish();
  if (files_ && first) {
    patience_.expires_after(kFilePatience);
    patience_.async_wait(life_.guard([this](const asio::error_code& error) {
      if (error) return;
      files_->give_up();
      on_change();
    }));
  }
  on_change();
}

std::vector<std::string> OutputHub::incomplete_logs() const {
  std::vector<std::string> lines;
  if (files_)
    if (const std::string here = incomplete_text(files_->incomplete()); !here.empty())
      lines.push_back(here);
  for (const auto& [agent, line] : incomplete_) lines.push_back(line);
  return lines;
}

std::optional<std::uint8_t> OutputHub::watch(int rank, bool on) {
  const std::uint8_t planned = plan_.sent[static_cast<std::size_t>(rank)];
  if (planned == 3) return std::nullopt;
  if (on)
    watched_.insert(rank);
  else
    watched_.erase(rank);
  return on ? std::uint8_t{3} : planned;
}

}  // namespace ds::launcher
