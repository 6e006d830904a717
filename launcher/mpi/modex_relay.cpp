#include "launcher/mpi/modex_relay.h"

namespace ds::launcher {
namespace {

ModexRelay::Out not_found(int node, std::uint64_t id) {
  constexpr int kNotFound = -46;  // PMIX_ERR_NOT_FOUND
  return {node, ModexAnswer{.node = node, .id = id, .status = kNotFound, .data = {}}};
}

}  // namespace

void ModexRelay::begin(const std::vector<std::vector<int>>& ranks) {
  *this = ModexRelay();
  for (std::size_t node = 0; node < ranks.size(); ++node)
    for (const int rank : ranks[node]) node_of_[rank] = static_cast<int>(node);
}

std::vector<ModexRelay::Out> ModexRelay::take(int node, const ModexAsk& ask) {
  const auto found = node_of_.find(ask.rank);
  if (found == node_of_.end() || ended_.contains(found->second)) return {not_found(node, ask.id)};
  open_[found->second].emplace(node, ask.id);
  return {{found->second, ModexAsk{.rank = ask.rank, .node = node, .id = ask.id}}};
}

std::vector<ModexRelay::Out> ModexRelay::take(int node, ModexAnswer&& answer) {
  if (open_[node].erase({answer.node, answer.id}) == 0) return {};
  const int asker = answer.node;
  return {{asker, std::move(answer)}};
}

std::vector<ModexRelay::Out> ModexRelay::ended(int node) {
  ended_.insert(node);
  std::vector<Out> out;
  for (const auto& [asker, id] : open_[node]) out.push_back(not_found(asker, id));
  open_.erase(node);
  return out;
}

}  // namespace ds::launcher
