// Builds the chain of stages, and drives it by timers and by changes of the writing threads.
#include "launcher/job/output_hub.h"

#include <asio/post.hpp>
#include <utility>

#include "launcher/job/job_facts.h"
#include "launcher/job/output_setup.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {

namespace {

/// The longest wait for log files after everything else has ended.
constexpr std::chrono::seconds kFilePatience{10};

std::vector<RankName> rank_names(const Placement& placement,
                                 const std::vector<std::string>& hosts) {
  std::vector<RankName> names;
  for (const RankPlace& place : placement.ranks) {
    const auto node = static_cast<std::size_t>(place.node_rank);
    names.push_back({.rank = placement.shown_rank(place.rank),
                     .local_rank = place.local_rank,
                     .node_rank = placement.shown_node(place.node_rank),
                     .node = placement.nodes[node].host.name,
                     .host = printable(hosts[node]),
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
      flow_(setup.placement.nodes.size(), events_.on_credit),
      last_(setup.placement.world_size()),
      chain_({.plan = plan_,
              .fold = policy_.fold && setup.placement.world_size() > 1,
              .one_file = same_file(setup.out_fd, setup.err_fd),
              .out_fd = setup.out_fd,
              .err_fd = setup.err_fd},
             flow_, posted(&OutputHub::on_change)),
      fold_timer_(io),
      patience_(io) {
  if (setup.follow_first) plan_.sent.front() |= 1;
}

std::function<void()> OutputHub::posted(void (OutputHub::*call)()) {
  return [this, call] { asio::post(io_, life_.guard([this, call] { (this->*call)(); })); };
}

// Agents.

void OutputHub::fill(Spec& spec, const Placement& placement) {
  if (plan_.files_on_nodes) plan_.files = log_files(policy_, placement, job_id_);
  plan_spec(plan_, spec);
  for (RankSpec& rank : spec.ranks)
    if (watched_.contains(rank.rank)) rank.sent = 3;
}

void OutputHub::start(const Placement& placement, const std::vector<std::string>& hosts) {
  chain_.start(rank_names(placement, hosts), plan_.shown);
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
  if (output.rank < 0 || static_cast<std::size_t>(output.rank) >= chain_.prefixes.ranks()) return;
  last_.add(output.rank, output.stream, text);
  if ((output.flags & Output::kTail) != 0) return;
  const bool timed = plan_.stamped_files || chain_.prefixes.has_time() || chain_.fold;
  Output here = output;
  here.time = clock_value(timed ? clocks_.of(agent).here(output.time, Clock::now())
                                : chain_.clock.started());
  chain_.front->take(here);
  if (chain_.fold) arm_fold_timer();
}

void OutputHub::arm_fold_timer() {
  if (fold_armed_) return;
  const auto due = chain_.fold->wake_at();
  if (!due) return;
  fold_armed_ = true;
  fold_timer_.expires_at(*due);
  fold_timer_.async_wait(life_.guard([this](const asio::error_code& error) {
    if (error) return;
    fold_armed_ = false;
    chain_.fold->tick(Clock::now());
    chain_.front->look();
    arm_fold_timer();
  }));
}

// The reader, the log disk, the end.

void OutputHub::on_change() {
  chain_.front->look();
  if (chain_.fold) arm_fold_timer();
  if (const auto problem = chain_.files ? chain_.files->problem() : std::nullopt)
    say("dslaunch: " + *problem);
  if (chain_.screen.is_low()) chain_.filter->say_dropped();
  if (const auto why = chain_.screen.closed()) events_.on_closed(*why);
  if (chain_.written()) events_.on_written();
}

void OutputHub::leave_slow_reader() {
  if (!chain_.screen.leave_slow_reader()) return;
  if (flow_.held()) flow_.discard();
  posted (&OutputHub::on_change)();
}

void OutputHub::finish() {
  const bool first = !std::exchange(finished_, true);
  fold_timer_.cancel();
  chain_.front->finish();
  if (chain_.files && first) {
    patience_.expires_after(kFilePatience);
    patience_.async_wait(life_.guard([this](const asio::error_code& error) {
      if (error) return;
      chain_.files->give_up();
      on_change();
    }));
  }
  on_change();
}

std::vector<std::string> OutputHub::incomplete_logs() const {
  std::vector<std::string> lines;
  if (chain_.files)
    if (const std::string here = incomplete_text(chain_.files->incomplete()); !here.empty())
      lines.push_back(here);
  for (const auto& [agent, line] : incomplete_) lines.push_back(line);
  return lines;
}

// For `tail` and `attach`.

Clock::time_point OutputHub::written_at(int agent, std::uint64_t agent_time) {
  const Clock::time_point now = Clock::now();
  return chain_.prefixes.has_time() ? clocks_.of(agent).here(agent_time, now) : now;
}

std::string OutputHub::plain_prefix(int rank, int stream, Clock::time_point at) const {
  if (plan_.untouched || static_cast<std::size_t>(rank) >= chain_.prefixes.ranks()) return {};
  return chain_.prefixes.plain(rank, stream, chain_.clock.of(at));
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
