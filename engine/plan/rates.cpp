// parse_rates() and lower_bound().
#include "engine/plan/rates.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace ds {
namespace {

/// Parses a decimal number with an optional suffix K, M, G, T or P.
std::optional<double> decimal(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || !(number > 0) || !std::isfinite(number)) return std::nullopt;
  if (rest == end) return number;
  constexpr std::string_view kUnits = "KMGTP";
  const std::size_t unit = kUnits.find(*rest == 'k' ? 'K' : *rest);
  if (rest + 1 != end || unit == std::string_view::npos) return std::nullopt;
  return number * std::pow(1000.0, static_cast<double>(unit + 1));
}

[[noreturn]] void fail(std::string_view word) {
  throw Error(ErrorKind::usage, fmt::format("--rates: '{}' is not a rate", word),
              "give a comma-separated list of flops, link, net, pcie, device, host and nvme, for "
              "example flops=800T,net=50G,nvme=12G/6G");
}

double rate_of(std::string_view value, std::string_view word) {
  const std::optional<double> rate = decimal(value);
  if (!rate) fail(word);
  return *rate;
}

void set_nvme(Rates& rates, std::string_view value, std::string_view word) {
  const std::size_t slash = value.find('/');
  rates.nvme_read = rate_of(value.substr(0, slash), word);
  rates.nvme_write =
      slash == std::string_view::npos ? rates.nvme_read : rate_of(value.substr(slash + 1), word);
}

void set(Rates& rates, std::string_view word) {
  const std::size_t equal = word.find('=');
  if (equal == std::string_view::npos) fail(word);
  const std::string_view name = word.substr(0, equal), value = word.substr(equal + 1);
  if (name == "nvme") return set_nvme(rates, value, word);
  for (const auto& [known, field] : {std::pair{"flops", &Rates::flops},
                                     {"link", &Rates::link},
                                     {"net", &Rates::net},
                                     {"pcie", &Rates::pcie},
                                     {"host", &Rates::host}}) {
    if (name != known) continue;
    rates.*field = rate_of(value, word);
    return;
  }
  fail(word);
}

}  // namespace

Rates parse_rates(std::string_view text) {
  Rates rates;
  while (true) {
    const std::size_t comma = text.find(',');
    set(rates, text.substr(0, comma));
    if (comma == std::string_view::npos) return rates;
    text.remove_prefix(comma + 1);
  }
}

LowerBound lower_bound(const StepWork& work, const Rates& rates, int slots) {
  LowerBound bound;
  const auto add = [&](const char* name, double amount, double rate) {
    if (amount <= 0 || rate <= 0) return;
    bound.parts.emplace_back(name, amount / rate);
    bound.overlapped = std::max(bound.overlapped, amount / rate);
    bound.in_turn += amount / rate;
  };
  // Both directions of a link work at the same time.
  const auto both = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(std::max(a, b));
  };
  const Traffic& t = work.traffic;
  const double node = slots;
  add("compute", work.flops, rates.flops);
  add("links", both(t.sent_in_node, t.received_in_node), rates.link);
  add("network", node * both(t.sent_to_nodes, t.received_from_nodes), rates.net);
  add("pcie", both(t.to_host, t.to_device), rates.pcie);
  add("optimizer", static_cast<double>(t.optimizer_device), rates.device);
  add("host optimizer", node * static_cast<double>(t.optimizer_host), rates.host);
  add("nvme reads", node * static_cast<double>(t.nvme_read), rates.nvme_read);
  add("nvme writes", node * static_cast<double>(t.nvme_written), rates.nvme_write);
  return bound;
}

}  // namespace ds
