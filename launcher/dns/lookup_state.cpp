// A grid of servers and types for the candidate at hand.
#include "launcher/dns/lookup_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/error.h"

namespace ds::launcher {

namespace {

using namespace std::chrono_literals;
using Addresses = std::vector<std::vector<std::uint8_t>>;

constexpr auto kHurry = 250ms;  // what the slower servers get once one has answered
constexpr RecordType kTypes[] = {RecordType::a, RecordType::aaaa};

}  // namespace

LookupState::LookupState(LookupPlan plan, Clock::time_point now)
    : plan_(std::move(plan)), limit_(now + plan_.limit) {
  DS_ASSERT(!plan_.candidates.empty() && !plan_.servers.empty() && plan_.tries > 0);
  begin_candidate(now);
}

void LookupState::begin_candidate(Clock::time_point now) {
  cells_.assign(plan_.servers.size() * std::size(kTypes), {});
  candidate_began_ = now;
  hurry_.reset();
  try_ = 0;
  begin_try(now);
}

void LookupState::begin_try(Clock::time_point now) {
  for (std::size_t cell = 0; cell < cells_.size(); ++cell)
    if (cells_[cell].said == Cell::Said::nothing && !cells_[cell].by_tcp) {
      cells_[cell].by_tcp = plan_.tcp_only;
      send(cell, plan_.tcp_only);
    }
  try_ends_ = now + plan_.timeout * (1 << try_);
  ++try_;
}

void LookupState::send(std::size_t cell, bool tcp) {
  const std::size_t server = cell / std::size(kTypes);
  const DnsQuestion question{plan_.candidates[candidate_], kTypes[cell % std::size(kTypes)]};
  queue_.push_back({static_cast<int>(sent_.size()), question, server, tcp});
  sent_.push_back({candidate_, cell, tcp});
}

std::vector<LookupQuery> LookupState::take_queries() { return std::exchange(queue_, {}); }

LookupState::Cell* LookupState::open_cell(int number) {
  const Sent& sent = sent_.at(static_cast<std::size_t>(number));
  if (end_ || sent.candidate != candidate_) return nullptr;
  Cell& cell = cells_[sent.cell];
  // Once TCP was needed, what UDP says is cut.
  return cell.said != Cell::Said::nothing || sent.tcp != cell.by_tcp ? nullptr : &cell;
}

void LookupState::on_reply(int number, const DnsReply& reply, Clock::time_point now) {
  Cell* cell = open_cell(number);
  if (cell == nullptr) return;
  const Sent sent = sent_[static_cast<std::size_t>(number)];
  const DnsQuestion question{plan_.candidates[candidate_], kTypes[sent.cell % std::size(kTypes)]};
  DnsAnswer answer = answer_of(reply, question);
  if (reply.truncated && !sent.tcp) {
    cell->by_tcp = true;
    cell->cut = std::move(answer.addresses);
    send(sent.cell, true);
    return;
  }
  cell->alias = answer.alias;
  cell->negative_ttl = answer.negative_ttl;
  cell->no_name = answer.rcode == kNameError;
  if (!answer.addresses.empty()) {
    cell->said = Cell::Said::addresses;
    cell->addresses = std::move(answer.addresses);
  } else if (answer.rcode == kNoError || answer.rcode == kNameError) {
    cell->said = Cell::Said::none;
  } else {
    cell->said = Cell::Said::failed;
    cell->trouble = fmt::format("{} from {}", rcode_name(answer.rcode), server_of(sent.cell));
  }
  settle(now);
}

void LookupState::on_trouble(int number, const std::string& why, Clock::time_point now) {
  Cell* cell = open_cell(number);
  if (cell == nullptr) return;
  const std::size_t at = sent_[static_cast<std::size_t>(number)].cell;
  cell->said = cell->cut.empty() ? Cell::Said::refused : Cell::Said::addresses;
  cell->addresses = std::move(cell->cut);
  cell->trouble = fmt::format("no answer from name server {}: {}", server_of(at), why);
  settle(now);
}

void LookupState::on_time(Clock::time_point now) {
  if (end_) return;
  const bool over = now >= limit_ || (hurry_ && now >= *hurry_);
  if (over) return conclude(now);
  if (now < try_ends_) return;
  if (try_ >= plan_.tries) return conclude(now);
  begin_try(now);
}

Clock::time_point LookupState::wake_at() const {
  return std::min({limit_, try_ends_, hurry_.value_or(limit_)});
}

bool LookupState::all_said() const {
  return std::none_of(cells_.begin(), cells_.end(),
                      [](const Cell& cell) { return cell.said == Cell::Said::nothing; });
}

/// Addresses are there, and of each type somebody has said that there are some or none.
bool LookupState::decided() const {
  if (found().empty()) return false;
  for (std::size_t type = 0; type < std::size(kTypes); ++type) {
    bool said = false;
    for (std::size_t cell = type; cell < cells_.size(); cell += std::size(kTypes))
      said = said || cells_[cell].said == Cell::Said::addresses ||
             cells_[cell].said == Cell::Said::none;
    if (!said) return false;
  }
  return true;
}

void LookupState::settle(Clock::time_point now) {
  if (all_said() || decided()) return conclude(now);
  bool telling = false;  // somebody has said what will hardly become better
  for (std::size_t cell = 0; cell < cells_.size(); cell += std::size(kTypes)) {
    const Cell& v4 = cells_[cell];
    const Cell& v6 = cells_[cell + 1];
    const bool none = v4.said == Cell::Said::none && v6.said == Cell::Said::none;
    telling = telling || none || v4.no_name || v6.no_name;
  }
  if ((telling || !found().empty()) && !hurry_) hurry_ = now + kHurry;
}

void LookupState::conclude(Clock::time_point now) {
  for (Cell& cell : cells_)
    if (cell.said == Cell::Said::nothing && !cell.cut.empty()) {
      cell.said = Cell::Said::addresses;  // TCP has not answered: some of them are better than none
      cell.addresses = std::move(cell.cut);
    }
  Addresses addresses = found();
  if (!addresses.empty()) {
    end_ = LookupEnd{std::move(addresses), DnsProblem::none, {}, {}};
    return;
  }
  for (std::size_t cell = 0; cell < cells_.size(); ++cell)
    if (cells_[cell].said == Cell::Said::nothing)
      cells_[cell].trouble =
          fmt::format("no answer from name server {} within {:.2g} s", server_of(cell),
                      std::chrono::duration<double>(now - candidate_began_).count());
  problems_.push_back(problem());
  const bool silence = problems_.back().kind == DnsProblem::no_answer;
  if (silence || now >= limit_ || candidate_ + 1 == plan_.candidates.size()) return fail();
  ++candidate_;
  begin_candidate(now);
}

/// The first candidate is the likely one: its problem counts. What went wrong with another, such as
/// a server that cannot ask the world, is said besides.
void LookupState::fail() {
  const Problem& first = problems_.front();
  LookupEnd end{{}, first.kind, first.text, {}};
  if (first.negative_ttl) end.negative_ttl = std::chrono::seconds(*first.negative_ttl);
  for (std::size_t i = 1; i < problems_.size(); ++i) {
    if (problems_[i].kind == DnsProblem::no_record) continue;
    end.text += fmt::format("; for {}: {}", plan_.candidates[i], problems_[i].text);
    break;
  }
  end_ = std::move(end);
}

Addresses LookupState::found() const {
  Addresses all;
  for (std::size_t type = 0; type < std::size(kTypes); ++type)
    for (std::size_t cell = type; cell < cells_.size(); cell += std::size(kTypes)) {
      if (cells_[cell].said != Cell::Said::addresses) continue;
      all.insert(all.end(), cells_[cell].addresses.begin(), cells_[cell].addresses.end());
      break;  // one server's are enough
    }
  return all;
}

LookupState::Problem LookupState::problem() const {
  std::string troubles;
  bool failed = false;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const Cell& cell = cells_[i];
    if (cell.said == Cell::Said::none) {
      std::string why = cell.no_name ? fmt::format("NXDOMAIN from {}", server_of(i))
                                     : fmt::format("no address, says {}", server_of(i));
      if (!cell.alias.empty()) why += fmt::format(" of its alias {}", cell.alias);
      return {DnsProblem::no_record, fmt::format("no DNS record ({})", why), cell.negative_ttl};
    }
    failed = failed || cell.said == Cell::Said::failed;
    const bool known = troubles.find(cell.trouble) != std::string::npos;
    if (!known) troubles += (troubles.empty() ? "" : ", ") + cell.trouble;
  }
  return {failed ? DnsProblem::server_failed : DnsProblem::no_answer, troubles, {}};
}

const std::string& LookupState::server_of(std::size_t cell) const {
  return plan_.servers[cell / std::size(kTypes)];
}

}  // namespace ds::launcher
