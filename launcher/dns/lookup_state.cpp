// Decides after each pair of answers: the next server, the next name, or the end.
#include "launcher/dns/lookup_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/error.h"

namespace ds::launcher {

namespace {

using Kind = DnsAnswer::Kind;

bool says_no(const DnsAnswer& answer) {
  return answer.kind == Kind::no_address || answer.kind == Kind::no_name ||
         answer.kind == Kind::bad_name;
}

DnsResult found(const DnsAnswer& v4, const DnsAnswer& v6) {
  DnsResult result;
  for (const DnsAnswer* answer : {&v4, &v6})
    for (const asio::ip::address& address : answer->addresses)
      if (std::find(result.addresses.begin(), result.addresses.end(), address) ==
          result.addresses.end())
        result.addresses.push_back(address);
  return result;
}

DnsResult no_record(const DnsAnswer& answer, const std::string& server) {
  std::string why = "not a domain name";
  if (answer.kind == Kind::no_name) why = "NXDOMAIN from " + server;
  if (answer.kind == Kind::no_address) why = "no address from " + server;
  return {{}, DnsProblem::no_record, fmt::format("no DNS record ({})", why), answer.negative_ttl};
}

/// Adds what is wrong with a server to a text, once.
void add_trouble(const DnsAnswer& answer, const std::string& server, DnsResult& trouble) {
  const bool failed = answer.kind == Kind::failed;
  const std::string text =
      failed ? fmt::format("{} from {}", answer.detail, server)
             : fmt::format("no answer from name server {} {}", server, answer.detail);
  if (failed || trouble.problem == DnsProblem::none)
    trouble.problem = failed ? DnsProblem::server_failed : DnsProblem::no_answer;
  if (trouble.text.find(text) == std::string::npos)
    trouble.text += (trouble.text.empty() ? "" : ", ") + text;
}

}  // namespace

std::string within_text(Clock::duration waited) {
  return fmt::format("within {:.2g} s", std::chrono::duration<double>(waited).count());
}

LookupState::LookupState(std::vector<std::string> names, std::vector<std::string> servers)
    : names_(std::move(names)), servers_(std::move(servers)) {
  DS_ASSERT(!names_.empty() && !servers_.empty());
}

void LookupState::on_answers(const DnsAnswer& v4, const DnsAnswer& v6, bool over) {
  DS_ASSERT(!end_);
  DnsResult result = found(v4, v6);
  if (!result.addresses.empty()) {
    end_ = std::move(result);
    return;
  }
  if (says_no(v4) || says_no(v6)) {
    problems_.push_back(no_record(says_no(v4) ? v4 : v6, server()));
  } else {
    for (const DnsAnswer* answer : {&v4, &v6}) add_trouble(*answer, server(), trouble_);
    if (++tried_ < servers_.size() && !over) {
      server_ = (server_ + 1) % servers_.size();
      return;
    }
    problems_.push_back(trouble_);
  }
  const bool silence = problems_.back().problem == DnsProblem::no_answer;
  if (silence || over || name_ + 1 == names_.size()) return fail();
  ++name_;
  tried_ = 0;
  trouble_ = {};
}

/// The first name is the likely one: its problem counts. A problem of another kind with a later
/// name, such as a server that cannot ask the world, is added to the text.
void LookupState::fail() {
  end_ = problems_.front();
  for (std::size_t i = 1; i < problems_.size(); ++i) {
    if (problems_[i].problem == DnsProblem::no_record) continue;
    end_->text += fmt::format("; for {}: {}", names_[i], problems_[i].text);
    break;
  }
}

}  // namespace ds::launcher
