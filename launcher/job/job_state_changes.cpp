// The part of JobState for jobs whose number of nodes may change that ends an epoch so that another
// one begins: losses, failures, pauses, hosts that join or leave.
#include <fmt/format.h>

#include <algorithm>

#include "engine/base/contract.h"
#include "engine/base/rank_channel.h"
#include "engine/base/units.h"
#include "launcher/hosts/fold_names.h"
#include "launcher/job/job_state.h"

namespace ds::launcher {

using namespace std::chrono_literals;

/// Returns whether the ranks of a training have finished a step in this epoch. The next one goes on
/// from there, so it need not be delayed as after a start that fails.
bool JobState::has_stepped() const {
  return !verdict_.epochs.empty() &&
         std::ranges::any_of(verdict_.epochs.back().reached,
                             [](const auto& phase) { return phase.first == kFirstStepPhase; });
}

/// Ends the epoch: another one follows when no rank of this one is left.
/// `paused`: its ranks exit with 94 by themselves.
void JobState::begin_change(EpochRecord change, bool paused) {
  // The ranks that began once more to save have failed, or those that pause got TERM and have saved.
  if (stop_signal_ && (!alarms_.is_set(Alarm::pause) || least_delay(cause_) > 0ms))
    return stop({.kind = Cause::Kind::signal, .signo = *stop_signal_});
  phase_ = Phase::clearing;
  failed_at_ = now_;
  change.nodes_before = node_count();
  change.ranks_before = placement_.world_size();
  if (cause_.kind == Cause::Kind::node && cause_.time.here)
    change.seen = micros(now_ - *cause_.time.here);
  change_ = std::move(change);
  also_lost_.clear();
  clear_alarms_of_epoch();
  const std::chrono::milliseconds delay = next_delay(
      change_.counted || !begun_ || (paused && now_ - begun_at_ < kShortEpoch));
  alarms_.set(Alarm::restart, delay);
  if (!change_.counted || !why_none_left())  // else the verdict follows
    act(Say{fmt::format("{}; {}{}", paused ? "the ranks have paused" : change_.why,
                        paused ? "beginning the next epoch" : "starting all ranks again",
                        delay > 0ms ? " in " + span_text(delay) : "")});
  if (!paused) return stop_for_change();
  alarms_.set(Alarm::stop, policy_.grace);  // all ranks are expected to exit with 94
  alarms_.set(Alarm::say_waiting, kSayWaitingAfter);
}

/// A rank has exited with 94: by itself, or because it was told to pause.
void JobState::ranks_paused() {
  EpochRecord change{.kind = Change::paused, .why = "the ranks have paused"};
  if (alarms_.is_set(Alarm::pause)) {
    change = change_;  // as planned
    change.seen = micros(pause_limit() - alarms_.left(Alarm::pause));  // since the order
  }
  begin_change(std::move(change), /*paused=*/true);
}

/// Stops the ranks of the epoch that ends. Ranks of a training get KILL at once after a failure:
/// the agents hold their states, and a rank whose peer is gone cannot end its step.
void JobState::stop_for_change() {
  const bool planned = change_.kind == Change::joined || change_.kind == Change::left;
  if (!policy_.trains || planned || !begun_) return stop_ranks();
  const bool by_other = change_.kind == Change::failed &&
                        cause_.end.status.code() == contract::kExitUnreachable;
  if (by_other && !alarms_.is_set(Alarm::stop))
    alarms_.set(Alarm::stop, kOwnErrorWithin);
  else
    kill_ranks();
}

/// A rank failed while others exit with 94: the failure counts, and the other ranks are stopped.
void JobState::pause_spoiled() {
  const std::optional<std::string> why = why_never_restarted(cause_);
  if (why && !is_of_joiner(cause_)) {
    cause_.note = *why;
    return stop(cause_);
  }
  alarms_.clear(Alarm::stop);
  change_.kind = why ? Change::left : Change::failed;
  change_.why = printable(cause_text(placement_, cause_));
  change_.counted = !why;
  alarms_.set(Alarm::restart, std::max<Clock::duration>(alarms_.left(Alarm::restart),
                                                        restart_delay(quick_restarts_++)));
  act(Say{change_.why + "; starting all ranks again"});
  if (why) retire_joiner(cause_.node, end_of_joiner(cause_));
  stop_for_change();
}

/// Handles the loss of a node of an epoch that has its nodes.
void JobState::member_lost(int agent, int index, const std::string& reason) {
  const bool had_ranks = node(index).ranks_left > 0;
  const bool was_done = node(index).done;
  const int host = roster_.host_number(agent);
  node_done(index);  // before the cause is set: its ranks are the cause
  const bool left = has_left(host);
  hosts_.lost(host);
  lost_node_ = true;
  // A host that fails before its ranks begin must not stop the others again and again.
  const int failures = begun_ || left ? 0 : hosts_.failed(host);
  if (failures > 0)
    redial_after(HostHistory::delay_after(failures - 1), agent);
  else if (!was_done || may_restart())
    dial_again(agent, reason);
  Cause cause{.kind = Cause::Kind::node,
              .node = index,
              .time = {.here = fleet_.last_heard(agent)},
              .reason = reason};
  if (phase_ == Phase::running && had_ranks) return mark_failure(std::move(cause));
  if (phase_ == Phase::starting) {  // its ranks have not begun
    searching_ = false;
    cause_ = cause;
    if (!unbegun_since_) unbegun_since_ = now_;
    if (now_ - *unbegun_since_ >= policy_.elastic->max_wait) wanted_ = cause;
    return begin_change({.kind = Change::lost, .why = printable(cause_text(placement_, cause))});
  }
  if (phase_ != Phase::clearing) return;
  if (!left && (was_done || change_.kind == Change::lost))
    also_lost_.push_back(host_name(agent));
  if (was_done) return;
  // The loss explains the failure that was reported first.
  if (change_.kind != Change::lost) {
    change_.why += "; " + printable(cause_text(placement_, cause));
    change_.kind = Change::lost;
    change_.counted = false;
    act(Say{printable(cause_text(placement_, cause))});
  }
  if (alarms_.clear(Alarm::stop)) stop_for_change();
}

/// Ends the epoch for hosts that wait, if there is room for them and the policy says so.
void JobState::invite_joiners() {
  const bool was_planned = !change_.why.empty();  // the ranks are to pause, or have not obeyed
  if (!begun_ || was_planned || roster_.waiting() == 0) return;
  if (node_count() >= most_nodes_ || cause_.kind != Cause::Kind::none) return;
  const Admit admit = policy_.elastic->admit;
  const bool wanted = admit == Admit::now || (admit == Admit::automatic && policy_.trains);
  const bool at_once = wanted && can_pause();
  std::vector<std::string> news;
  for (const int agent : roster_.waiting_agents())
    if (told_of_.insert(agent).second) news.push_back(host_name(agent));
  if (news.empty()) return;
  if (at_once) {
    alarms_.set(Alarm::invite, kJoinersTogether);
    return;
  }
  const int room = most_nodes_ - node_count();
  const std::string join = roster_.waiting() <= room
                               ? fmt::format(" and {}", news.size() == 1 ? "joins" : "join")
                               : fmt::format("; of {} that wait, {} {}", roster_.waiting(), room,
                                             room == 1 ? "joins" : "join");
  const std::string why =
      wanted && !std::exchange(told_no_pause_, true)
          ? "; the training is not paused, because its states are neither kept in memory "
            "(elastic.every=0) nor saved (no checkpoint.dir)"
          : "";
  act(Say{printable(fmt::format("{} ready{} at the next restart{}", names_with(news, "is", "are"),
                                join, why))});
}

/// Ends the epoch by plan: a training ends its step, keeps it and exits with 94; other ranks, and
/// those of a training that can neither keep nor save, are stopped.
void JobState::end_epoch(Change kind, const std::string& why) {
  if (stop_signal_) return;
  if (!policy_.trains || !can_pause() || !begun_)
    return begin_change({.kind = kind, .why = printable(why)});
  if (alarms_.is_set(Alarm::pause)) return;  // one pause serves for all
  act(Say{printable(fmt::format("{}; pausing the training", why))});
  act(PauseRanks{});
  change_ = {.kind = kind, .why = printable(why)};
  alarms_.set(Alarm::pause, pause_limit());
}

void JobState::look_at_members_clock() {
  if (alarms_.fires(Alarm::invite) && phase_ == Phase::running && node_count() < most_nodes_) {
    std::vector<std::string> names;
    for (const int agent : roster_.waiting_agents()) names.push_back(host_name(agent));
    if (!names.empty())
      end_epoch(Change::joined, names_with(names, "is", "are") + " ready");
  }
  if (alarms_.fires(Alarm::hold)) forget_earlier_states();
  if (alarms_.fires(Alarm::pause) && phase_ == Phase::running) {
    const std::string why = "the ranks have not paused within " + span_text(pause_limit());
    if (stop_signal_) return stop({.kind = Cause::Kind::signal, .signo = *stop_signal_});
    if (is_too_large()) return begin_change({.kind = Change::left, .why = why});
    act(Say{why + "; the epoch goes on as it is"});
  }
  if (alarms_.fires(Alarm::stop) && phase_ == Phase::clearing)
    policy_.trains ? kill_ranks() : stop_ranks();
}

void JobState::record_start() {
  if (verdict_.epochs.empty()) return;
  if (!policy_.trains && phase_ == Phase::running) ranks_run_well();
  EpochRecord& epoch = verdict_.epochs.back();
  epoch.started = micros(now_ - (verdict_.epochs.size() == 1 ? started_at_ : failed_at_));
}

/// Notes that the ranks of all nodes have started, and those of a training have made a step.
void JobState::ranks_run_well() {
  for (const int agent : roster_.seated_agents()) hosts_.proved(roster_.host_number(agent));
  for (const int agent : roster_.waiting_agents())  // spares of the start
    if (!checked_.contains(agent)) check(agent);
}

void JobState::handle(const PhaseReached& event) {
  // A training that pauses may tell it late. After a loss it concerns states that are lost.
  const bool clears = begun_ && phase_ == Phase::clearing && change_.kind != Change::lost;
  if (elastic() && event.name == kKeptPhase && (phase_ == Phase::running || clears)) {
    keeps_ = true;
    forget_earlier_states();
  }
  if (phase_ != Phase::running || verdict_.epochs.empty()) return;
  verdict_.epochs.back().reached.emplace_back(event.name, micros(event.at - failed_at_));
  if (event.name != kFirstStepPhase) return;
  ranks_run_well();
  alarms_.set(Alarm::hold, kHoldWithin);
  if (stop_signal_) wanted_ = {.kind = Cause::Kind::signal, .signo = *stop_signal_};
}

void JobState::handle(const SizeWanted& event) {
  if (!may_change()) return;
  most_nodes_ = event.nodes;
  told_of_.clear();
  leave_if_too_large(fmt::format("the job will have {}", counted(event.nodes, "node")));
}

/// Ends the epoch if it has nodes that shall leave.
void JobState::leave_if_too_large(const std::string& why) {
  if (!is_placed() || phase_ > Phase::running || !is_too_large()) return;
  searching_ = false;
  alarms_.clear(Alarm::say_missing);
  end_epoch(Change::left, why);
}

/// Returns whether nodes of this epoch shall leave.
bool JobState::is_too_large() const {
  return node_count() > most_nodes_ ||
         std::ranges::any_of(roster_.seated_agents(),
                             [this](int agent) { return shall_leave(agent); });
}

}  // namespace ds::launcher
