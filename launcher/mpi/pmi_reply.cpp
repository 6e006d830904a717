// Replies of PmiRank: lines of PMI-1, and PMI-2's "NAME=VALUE;" after their length.
#include <fmt/format.h>

#include "launcher/mpi/pmi_rank.h"

namespace ds::launcher {
namespace {

/// Returns how PMI-2 tells a value.
std::string found(const std::string& value) {
  std::string text = "found=TRUE;value=";
  for (const char letter : value) text.append(letter == ';' ? 2 : 1, letter);
  return text;
}

}  // namespace

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
  return reply({}, found(*value));
}

std::string PmiRank::name_reply(const NameAnswer& answer) {
  waits_ = Waits::no;
  using Status = NameAnswer::Status;
  if (answer.status == Status::exists) return reply("service_is_already_published");
  if (answer.status == Status::full) return reply("too_many_published_names");
  const bool looked_up = name_.starts_with("lookup") || name_.starts_with("name-lookup");
  const bool is_unknown = looked_up ? answer.found.empty() : answer.status == Status::unknown;
  if (is_unknown) return reply("service_is_not_published");
  if (!looked_up) return reply({});
  const std::string& port = answer.found.front().value;
  return reply({}, version_ == 1 ? "port=" + port : found(port));
}

std::string PmiRank::release() {
  waits_ = Waits::no;
  return version_ == 1 ? "cmd=barrier_out\n" : reply({});
}

}  // namespace ds::launcher
