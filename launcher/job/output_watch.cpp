// What tail and attach want to know of the output of ranks, and what they change about it.
#include "launcher/job/output_hub.h"

namespace ds::launcher {

Clock::time_point OutputHub::written_at(int agent, std::uint64_t agent_time) {
  if (!plan_.prefix.has_time()) return Clock::now();
  return agent_at(agent).clock.here(agent_time, Clock::now());
}

std::string OutputHub::plain_prefix(int rank, int stream, Clock::time_point at) const {
  const auto index = static_cast<std::size_t>(rank);
  if (plan_.untouched || index >= names_.size()) return {};
  const RankName* const name = &names_[index];
  return plan_.prefix.render({&name, 1}, stream, line_time(at));
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
