#include "launcher/fleet/fleet.h"

#include <fmt/format.h>

#include <algorithm>

namespace ds::launcher {

using What = Fleet::News::What;

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

void Fleet::dial(int agent) {
  Record& record = this->record(agent);
  DS_ASSERT(record.stage == Stage::queued);
  set_stage(record, Stage::opening);
  record.last_heard = now_;
  // A lost host may be dialed for as long as the job runs: that must not hold up the others' time.
  if (!record.again) progressed();
  act(OpenAgent{agent, record.host});
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

void Fleet::kill(int agent) {
  DS_ASSERT(is_busy(agent));
  need_not_be_ready(agent);
  act(KillAgent{agent});
  set_due(agent, Due::give_up, kGiveUpAfterKill);
}

void Fleet::close(int agent) {
  Record& record = this->record(agent);
  DS_ASSERT(record.stage != Stage::queued && record.stage != Stage::gone);
  const bool opening = record.stage == Stage::opening && !record.again;
  if (record.stage == Stage::preparing || opening) progressed();
  set_stage(record, Stage::gone);
  clear_due(agent);
  act(CloseAgent{agent});
}

// Events.

/// Takes an agent from one stage to the next and tells it; returns false if it is not in `from`.
bool Fleet::step(int agent, Stage from, Stage to, News news) {
  if (stage(agent) != from) return false;
  set_stage(record(agent), to);
  news.agent = agent;
  news.was = from;
  tell(std::move(news));
  return true;
}

void Fleet::on(const AgentGreeted& event) {
  const bool again = this->again(event.agent);
  const Stage next = again ? Stage::sweeping : Stage::idle;
  if (!step(event.agent, Stage::opening, next, {.what = What::greeted})) return;
  record(event.agent).last_heard = now_;
  progressed();
  queue(event.agent);
  if (again) act(SendSweep{event.agent});
}

void Fleet::end(int agent, News news) {
  const Stage was = record(agent).stage;
  if (was == Stage::queued || was == Stage::gone) return;
  news.agent = agent;
  news.was = was;
  close(agent);
  tell(std::move(news));
}

std::string loss_reason(const Fleet::News& news, const std::string& host) {
  switch (news.what) {
    case What::left:
      return host + ": the agent exited unexpectedly";
    case What::silent:
      return fmt::format("{}: nothing heard for {}", host, span_text(news.span));
    case What::no_greeting:
      return fmt::format(
          "{}: no agent answered within {}; a startup file of the login shell or a forced command "
          "may be blocking there",
          host, span_text(news.span));
    case What::not_ready:
      return fmt::format("{}: the agent was not ready within {}", host, span_text(news.span));
    case What::not_swept:
      return host + ": no answer in time";
    case What::unanswered:
      return host + ": no answer to KILL";
    default:
      return news.reason;
  }
}

std::string loss_stage(const Fleet::News& news) {
  const bool starting = news.what == What::no_greeting || news.what == What::not_ready;
  return starting ? "agent start" : news.stage;
}

std::string span_text(std::chrono::milliseconds span) {
  const auto count = span.count();
  if (count >= 600'000 && count % 60'000 == 0) return fmt::format("{} min", count / 60'000);
  if (count < 1000) return fmt::format("{} ms", count);
  return fmt::format("{:.6g} s", static_cast<double>(count) / 1000);
}

}  // namespace ds::launcher
