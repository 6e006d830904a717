// Lookups of missing nodes: one per place; the last result is kept until the next one.
#include "launcher/commands/start/missing_stages.h"

#include <algorithm>
#include <utility>

namespace ds::launcher {

MissingStages::MissingStages(asio::io_context& io,
                             std::function<std::string(const std::string&)> dial_of)
    : dial_of_(std::move(dial_of)), dns_(io) {}

void MissingStages::look(const std::vector<std::string>& places) {
  for (std::size_t i = 0; i < std::min(places.size(), kMost); ++i)
    dns_.look_up(dial_of_(places[i]), [this, place = places[i]](const DnsResult& result) {
      stages_[place] =
          result.problem == DnsProblem::none ? "has a DNS record, but has not joined" : result.text;
    });
}

std::string MissingStages::stage_of(const std::string& place) const {
  const auto found = stages_.find(place);
  return found == stages_.end() ? std::string() : found->second;
}

}  // namespace ds::launcher
