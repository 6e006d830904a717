// Replies of PmiRank: lines of PMI-1, and PMI-2's "NAME=VALUE;" after their length.
#include <fmt/format.h>

#include "launcher/mpi/pmi_rank.h"

namespace ds::launcher {

std::string PmiRank::reply(std::string_view problem, std::string_view rest) const {
  const bool good = problem.empty();
  if (version_ == 1)
    return fmt::format("cmd={} rc={} msg={}{}{}\n", name_, good ? 0 : -1,
                       good ? "success" : problem, rest.empty() ? "" : " ", rest);
  std::string body = fmt::format("cmd={};", name_);
  if (!thread_.empty()) body += fmt::format("thrid={};", thread_);
  body += good ? std::string("rc=0;") : fmt::format("rc=-1;errmsg={};", problem);
  if (!rest.empty()) body += fmt::format("{};", rest);
  return fmt::format("{:6}{}", body.size(), body);
}

std::string PmiRank::put_reply(std::string_view problem) const { return reply(problem); }

std::string PmiRank::get_reply(const std::string* value) {
  if (waits_ == Waits::pair) waits_ = Waits::no;
  if (version_ == 1)
    return value != nullptr ? reply({}, "value=" + *value)
                            : reply("key_not_found", "value=unknown");
  if (value == nullptr) return reply({}, "found=FALSE");
  std::string rest = "found=TRUE;value=";
  for (const char letter : *value) rest.append(letter == ';' ? 2 : 1, letter);
  return reply({}, rest);
}

std::string PmiRank::release() {
  waits_ = Waits::no;
  return version_ == 1 ? "cmd=barrier_out\n" : reply({});
}

}  // namespace ds::launcher
