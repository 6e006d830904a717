#include "launcher/mpi/pmi_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace ds::launcher {
namespace {

constexpr int kVersion = 1;
constexpr int kSubversion = 1;
constexpr std::size_t kMaxMessage = 300;  // of abort

/// A request that is understood and refused: its reply, and its name for people.
struct RefusedService {
  std::string_view command;
  std::string_view reply;
  std::string_view name;
};
constexpr std::array<RefusedService, 7> kRefusedServices = {
    {{"spawn", "spawn_result", "MPI_Comm_spawn"},
     {"publish_name", "publish_result", "MPI_Publish_name"},
     {"unpublish_name", "unpublish_result", "MPI_Unpublish_name"},
     {"lookup_name", "lookup_result", "MPI_Lookup_name"},
     {"create_kvs", "newkvs", "PMI_KVS_Create"},
     {"destroy_kvs", "kvs_destroyed", "PMI_KVS_Destroy"},
     {"getbyidx", "getbyidx_results", "PMI_KVS_Iter_first"}}};

PmiFailure abort_of(const PmiRequest& request) {
  const std::string* code = request.find("exitcode");
  const int number = pmi_number(code != nullptr ? *code : "").value_or(1);
  PmiFailure failure{number, fmt::format("called MPI_Abort({})", number)};
  const std::string* message = request.find("message");
  if (message == nullptr) message = request.find("error_msg");  // Flux's client
  if (message != nullptr && !message->empty())
    failure.text += ": " + message->substr(0, kMaxMessage);
  return failure;
}

}  // namespace

std::string pmi_result(std::string_view name, std::string_view problem, std::string_view rest) {
  const bool good = problem.empty();
  return fmt::format("cmd={} rc={} msg={}{}{}\n", name, good ? 0 : -1, good ? "success" : problem,
                     rest.empty() ? "" : " ", rest);
}

std::vector<PmiStep> PmiRank::take(std::string_view bytes) {
  std::vector<PmiStep> steps;
  if (failed_) return steps;
  reader_.feed(bytes);
  while (const std::optional<PmiRequest> request = reader_.next()) {
    steps.push_back(answer(*request));
    failed_ = std::holds_alternative<PmiFailure>(steps.back());
    if (failed_) return steps;
    if (const auto* refused = std::get_if<PmiRefusal>(&steps.back())) {
      const auto service =
          std::ranges::find(kRefusedServices, refused->what, &RefusedService::name);
      steps.emplace_back(PmiReply{pmi_result(service->reply, "not_supported_by_dslaunch")});
    }
  }
  failed_ = reader_.problem().has_value();
  if (failed_) steps.emplace_back(PmiFailure{1, *reader_.problem()});
  return steps;
}

std::string PmiRank::release() {
  waits_ = false;
  return "cmd=barrier_out\n";
}

PmiStep PmiRank::answer(const PmiRequest& request) {
  const std::string& command = request.command;
  if (command == "abort") return abort_of(request);
  if (waits_) return PmiFailure{1, "sent a PMI request while it waited in a fence"};
  if (command == "init") return answer_init(request);
  if (!ready_) return PmiFailure{1, "sent a PMI request before 'init'"};
  if (command == "get_maxes")
    return PmiReply{fmt::format("cmd=maxes kvsname_max={} keylen_max={} vallen_max={}\n",
                                kPmiMaxSpace, kPmiMaxKey, kPmiMaxValue)};
  if (command == "get_universe_size")
    return PmiReply{fmt::format("cmd=universe_size size={}\n", identity_.size)};
  if (command == "get_appnum")
    return PmiReply{fmt::format("cmd=appnum appnum={}\n", identity_.appnum)};
  if (command == "get_my_kvsname")
    return PmiReply{fmt::format("cmd=my_kvsname kvsname={}\n", identity_.space)};
  if (command == "put") return answer_put(request);
  if (command == "get") return answer_get(request);
  if (command == "barrier_in") {
    if (left_) return PmiFailure{1, "joined an MPI fence after it had finalized"};
    waits_ = true;
    return PmiJoin{};
  }
  if (command == "finalize") {
    left_ = true;
    return PmiLeave{};
  }
  const auto service = std::ranges::find(kRefusedServices, command, &RefusedService::command);
  if (service != kRefusedServices.end()) return PmiRefusal{std::string(service->name)};
  return PmiFailure{1, fmt::format("sent an unknown PMI request: '{}'", command.substr(0, 40))};
}

PmiStep PmiRank::answer_init(const PmiRequest& request) {
  const std::string* version = request.find("pmi_version");
  const bool known = version != nullptr && pmi_number(*version) == kVersion;
  if (!known)
    return PmiFailure{1, fmt::format("wants version {} of PMI, and dslaunch speaks version {}",
                                     version != nullptr ? version->substr(0, 10) : "?", kVersion)};
  ready_ = true;
  return PmiReply{fmt::format("cmd=response_to_init pmi_version={} pmi_subversion={} rc=0\n",
                              kVersion, kSubversion)};
}

/// Returns why the key or its space is refused, without blanks; empty if it is not.
std::string PmiRank::problem_of(const PmiRequest& request) const {
  const std::string* space = request.find("kvsname");
  const std::string* key = request.find("key");
  if (space != nullptr && *space != identity_.space) return "unknown_kvsname";
  if (key == nullptr || key->empty()) return "no_key";
  if (key->size() > kPmiMaxKey) return fmt::format("key_longer_than_{}_bytes", kPmiMaxKey);
  return {};
}

PmiStep PmiRank::answer_put(const PmiRequest& request) const {
  std::string problem = problem_of(request);
  const std::string* value = request.find("value");
  if (problem.empty() && value == nullptr) problem = "no_value";
  if (problem.empty() && value->size() > kPmiMaxValue)
    problem = fmt::format("value_longer_than_{}_bytes", kPmiMaxValue);
  if (!problem.empty()) return PmiReply{pmi_result("put_result", problem)};
  return PmiPut{*request.find("key"), *value};
}

PmiStep PmiRank::answer_get(const PmiRequest& request) const {
  const std::string problem = problem_of(request);
  if (!problem.empty()) return PmiReply{pmi_result("get_result", problem, "value=unknown")};
  return PmiGet{*request.find("key")};
}

}  // namespace ds::launcher
