#include "launcher/fleet/fleet.h"

#include <algorithm>

#include "engine/base/error.h"

namespace ds::launcher {

using What = Fleet::News::What;

Fleet::Record& Fleet::record(int agent) {
  DS_ASSERT(agent >= 0 && agent < size());
  return records_[static_cast<std::size_t>(agent)];
}

const Fleet::Record& Fleet::record(int agent) const {
  DS_ASSERT(agent >= 0 && agent < size());
  return records_[static_cast<std::size_t>(agent)];
}

/// Changes the stage of an agent and keeps the counts by stage.
void Fleet::set_stage(Record& record, Stage stage) {
  const auto count = [&](int by) {
    const bool unready =
        record.stage == Stage::preparing || (record.stage == Stage::opening && !record.again);
    const bool left = record.stage != Stage::queued && record.stage != Stage::gone;
    unready_ += unready ? by : 0;
    running_ += record.stage == Stage::running ? by : 0;
    left_ += left ? by : 0;
  };
  count(-1);
  record.stage = stage;
  count(+1);
}

// Orders.

int Fleet::add(int host, bool again) {
  records_.push_back({.host = host, .again = again});
  return size() - 1;
}

void Fleet::dial(int agent) {
  Record& record = this->record(agent);
  DS_ASSERT(record.stage == Stage::queued);
  set_stage(record, Stage::opening);
  record.last_heard = now_;
  progressed();
  act(OpenAgent{agent, record.host});
}

void Fleet::sweep_within(int agent, std::chrono::milliseconds span) {
  const Record& record = this->record(agent);
  DS_ASSERT(record.again);
  if (record.due == Due::swept && record.due_at <= now_ + span) return;
  set_due(agent, Due::swept, span);
}

void Fleet::give_spec(int agent, int node) {
  Record& record = this->record(agent);
  DS_ASSERT(record.stage == Stage::idle);
  set_stage(record, Stage::preparing);
  // An idle agent was allowed a longer silence.
  record.last_heard = now_;
  progressed();
  queue(agent);
  act(SendSpec{agent, node});
}

void Fleet::start(int agent) {
  Record& record = this->record(agent);
  DS_ASSERT(record.stage == Stage::ready);
  set_stage(record, Stage::running);
  next_beat_ = std::min(next_beat_, now_ + beat_period());
}

void Fleet::limit_time(int agent, std::chrono::milliseconds span) {
  set_due(agent, Due::time_up, span);
}

void Fleet::stop(int agent, std::chrono::milliseconds grace) {
  DS_ASSERT(is_busy(agent));
  act(StopAgent{agent, grace});
  set_due(agent, Due::kill, grace + kKillMargin);
}

void Fleet::expect_end(int agent, std::chrono::milliseconds grace) {
  if (is_busy(agent) && !is_being_killed(agent)) set_due(agent, Due::kill, grace + kKillMargin);
}

void Fleet::kill(int agent) {
  DS_ASSERT(is_busy(agent));
  // The agent need not become ready any more.
  if (Record& record = this->record(agent); record.stage == Stage::preparing)
    set_stage(record, Stage::ready);
  act(KillAgent{agent});
  set_due(agent, Due::give_up, kGiveUpAfterKill);
}

void Fleet::dismiss(int agent) {
  Record& record = this->record(agent);
  DS_ASSERT(record.stage == Stage::idle);
  set_stage(record, Stage::leaving);
  act(DismissAgent{agent});
  set_due(agent, Due::leave, kLeaveWithin);
}

void Fleet::close(int agent) {
  Record& record = this->record(agent);
  DS_ASSERT(record.stage != Stage::queued && record.stage != Stage::gone);
  const bool unready = record.stage == Stage::preparing || record.stage == Stage::opening;
  if (unready) progressed();
  set_stage(record, Stage::gone);
  clear_due(agent);
  act(CloseAgent{agent});
}

// Events.

void Fleet::on(const AgentGreeted& event) {
  Record& record = this->record(event.agent);
  if (record.stage != Stage::opening) return;
  record.last_heard = now_;
  progressed();
  set_stage(record, record.again ? Stage::sweeping : Stage::idle);
  queue(event.agent);
  if (record.again) act(SendSweep{event.agent});
  tell({.what = What::greeted, .agent = event.agent, .was = Stage::opening});
}

void Fleet::on(const AgentReady& event) {
  Record& record = this->record(event.agent);
  if (record.stage != Stage::preparing) return;
  progressed();
  set_stage(record, Stage::ready);
  tell({.what = What::ready, .agent = event.agent, .was = Stage::preparing, .port = event.port});
}

void Fleet::on(const AgentCleared& event) {
  Record& record = this->record(event.agent);
  if (record.stage != Stage::running) return;
  set_stage(record, Stage::idle);
  clear_due(event.agent);
  tell({.what = What::cleared, .agent = event.agent, .was = Stage::running});
}

void Fleet::on(const AgentSwept& event) {
  Record& record = this->record(event.agent);
  if (record.stage != Stage::sweeping) return;
  set_stage(record, Stage::idle);
  clear_due(event.agent);
  tell({.what = What::swept, .agent = event.agent, .was = Stage::sweeping, .killed = event.killed});
}

void Fleet::on(const AgentDone& event) { end(event.agent, {.what = What::left}); }

void Fleet::on(const AgentLost& event) {
  end(event.agent, {.what = What::lost, .reason = event.reason, .stage = event.stage});
}

void Fleet::end(int agent, News news) {
  const Stage was = record(agent).stage;
  if (was == Stage::queued || was == Stage::gone) return;
  news.agent = agent;
  news.was = was;
  close(agent);
  tell(std::move(news));
}

}  // namespace ds::launcher
