#include "launcher/fleet/loss_reason.h"

#include <fmt/format.h>

namespace ds::launcher {

using What = Fleet::News::What;

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
    case What::lost:
    case What::greeted:
    case What::swept:
    case What::ready:
    case What::cleared:
    case What::time_up:
      break;
  }
  return news.reason;
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
