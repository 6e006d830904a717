#include "launcher/mpi/pmi_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace ds::launcher {
namespace {

constexpr std::size_t kMaxMessage = 300;  // of abort
constexpr std::size_t kMaxThread = 40;    // MPICH's is a pointer

/// A request that is understood and refused: its name for people, and its reply in PMI-1.
struct RefusedService {
  std::string_view command;
  std::string_view name;
  std::string_view reply{};
};
constexpr std::array<RefusedService, 6> kRefusedServices = {
    {{"spawn", "MPI_Comm_spawn", "spawn_result"},
     {"create_kvs", "PMI_KVS_Create", "newkvs"},
     {"destroy_kvs", "PMI_KVS_Destroy", "kvs_destroyed"},
     {"getbyidx", "PMI_KVS_Iter_first", "getbyidx_results"},
     {"job-connect", "PMI2_Job_Connect"},
     {"job-disconnect", "PMI2_Job_Disconnect"}}};

/// Returns CODE of "application called MPI_Abort(MPI_COMM_WORLD, CODE) - process 1", which
/// requests of PMI-2 have instead of a code.
std::optional<int> code_in(std::string_view message) {
  const std::size_t call = message.find("MPI_Abort(");
  const std::size_t comma = message.find(", ", std::min(call, message.size()));
  if (comma == std::string_view::npos) return std::nullopt;
  message.remove_prefix(comma + 2);
  return pmi_number(message.substr(0, message.find(')')));
}

PmiFailure abort_of(const PmiRequest& request) {
  const std::string* message = nullptr;
  for (const char* name : {"message", "msg", "error_msg"})  // MPICH; PMI-2; Flux's client
    if (message == nullptr) message = request.find(name);
  const std::string* exit = request.find("exitcode");
  std::optional<int> code = pmi_number(exit != nullptr ? *exit : "");
  if (request.of_pmi2 && message != nullptr)
    if (const std::optional<int> told = code_in(*message)) code = told;
  PmiFailure failure{code.value_or(1), fmt::format("called MPI_Abort({})", code.value_or(1)), true};
  if (message != nullptr && !message->empty())
    failure.text += ": " + message->substr(0, kMaxMessage);
  return failure;
}

}  // namespace

std::optional<PmiStep> PmiRank::next() {
  if (failed_) return std::nullopt;
  const std::optional<PmiRequest> request = reader_.next();
  if (!request && !reader_.problem()) return std::nullopt;
  PmiStep step = request ? answer(*request) : PmiFailure{1, *reader_.problem()};
  failed_ = std::holds_alternative<PmiFailure>(step);
  return step;
}

PmiStep PmiRank::answer(const PmiRequest& request) {
  const std::string& command = request.command;
  if (command == "abort") return abort_of(request);
  if (waits_ != Waits::no)
    return PmiFailure{1,
                      fmt::format("sent a PMI request while it waited {}",
                                  waits_ == Waits::fence  ? "in a fence"
                                  : waits_ == Waits::pair ? "for a node attribute"
                                                          : "for a published name")};
  if (command == "init" && !request.of_pmi2) return answer_init(request);
  if (!is_ready()) return PmiFailure{1, "sent a PMI request before 'init'"};
  if (request.of_pmi2 != (version_ == 2))
    return PmiFailure{1, fmt::format("sent a request of PMI-{} after 'init' of PMI-{}",
                                     request.of_pmi2 ? 2 : 1, version_)};
  std::optional<PmiStep> step = version_ == 2 ? answer_pmi2(request) : answer_pmi1(request);
  if (!step) step = refuse(request);
  if (step) return std::move(*step);
  return PmiFailure{1, fmt::format("sent an unknown PMI request: '{}'", command.substr(0, 40))};
}

PmiStep PmiRank::answer_init(const PmiRequest& request) {
  if (left_)
    return PmiFailure{1,
                      "started a second MPI program after MPI_Finalize of the first; "
                      "a rank can run only one"};
  const std::string* wanted = request.find("pmi_version");
  const int version = pmi_number(wanted != nullptr ? *wanted : "").value_or(0);
  if (version != 1 && version != 2)
    return PmiFailure{1,
                      fmt::format("wants version {} of PMI, and dslaunch speaks versions 1 and 2",
                                  wanted != nullptr ? wanted->substr(0, 10) : "?")};
  version_ = version;
  return PmiReply{fmt::format("cmd=response_to_init pmi_version={} pmi_subversion={} rc=0\n",
                              version, version == 1 ? 1 : 0)};
}

std::optional<PmiStep> PmiRank::answer_pmi1(const PmiRequest& request) {
  const std::string& command = request.command;
  const auto told = [](std::string text) { return PmiReply{"cmd=" + text + "\n"}; };
  if (command == "get_maxes")
    return told(fmt::format("maxes kvsname_max={} keylen_max={} vallen_max={}", kPmiMaxSpace,
                            kPmiMaxKey, kPmiMaxValue));
  if (command == "get_universe_size")
    return told(fmt::format("universe_size size={}", identity_.size));
  if (command == "get_appnum") return told(fmt::format("appnum appnum={}", identity_.appnum));
  if (command == "get_my_kvsname") return told("my_kvsname kvsname=" + identity_.space);
  name_ = command == "finalize" ? "finalize_ack" : command + "_result";
  if (command == "put") return put(PmiScope::job, request);
  if (command == "get") return get(PmiScope::job, request);
  if (command == "publish_name") return ask(NameAsk::Kind::publish, request);
  if (command == "lookup_name") return ask(NameAsk::Kind::look_up, request);
  if (command == "unpublish_name") return ask(NameAsk::Kind::withdraw, request);
  if (command == "barrier_in") return join();
  if (command == "finalize") return leave();
  return std::nullopt;
}

std::optional<PmiStep> PmiRank::answer_pmi2(const PmiRequest& request) {
  const std::string& command = request.command;
  name_ = command + "-response";
  const std::string* thread = request.find("thrid");
  thread_ = thread != nullptr ? thread->substr(0, kMaxThread) : "";
  if (command == "fullinit")
    return PmiReply{reply({}, fmt::format("pmi-version=2;pmi-subversion=0;rank={};size={};"
                                          "appnum={};debugged=FALSE;pmiverbose=FALSE",
                                          identity_.rank, identity_.size, identity_.appnum))};
  if (command == "job-getid") return PmiReply{reply({}, "jobid=" + identity_.space)};
  if (command == "info-getjobattr" || command == "kvs-get") return get(PmiScope::job, request);
  if (command == "info-getnodeattr") return get(PmiScope::node, request);
  if (command == "kvs-put") return put(PmiScope::job, request);
  if (command == "info-putnodeattr") return put(PmiScope::node, request);
  if (command == "name-publish") return ask(NameAsk::Kind::publish, request);
  if (command == "name-lookup") return ask(NameAsk::Kind::look_up, request);
  if (command == "name-unpublish") return ask(NameAsk::Kind::withdraw, request);
  if (command == "kvs-fence") return join();
  if (command == "finalize") return leave();
  return std::nullopt;
}

std::optional<PmiStep> PmiRank::refuse(const PmiRequest& request) {
  const auto service =
      std::ranges::find(kRefusedServices, request.command, &RefusedService::command);
  if (service == kRefusedServices.end()) return std::nullopt;
  if (version_ == 1) name_ = service->reply;
  return PmiRefusal{std::string(service->name), reply("not_supported_by_dslaunch")};
}

PmiStep PmiRank::join() {
  if (left_) return PmiFailure{1, "joined an MPI fence after it had finalized"};
  waits_ = Waits::fence;
  return PmiJoin{};
}

PmiStep PmiRank::leave() {
  left_ = true;
  return PmiLeave{reply({})};
}

/// Returns why the key or its space is refused, without blanks; empty if it is not.
std::string PmiRank::problem_of(const PmiRequest& request) const {
  const std::string* space = request.find(version_ == 1 ? "kvsname" : "jobid");
  const std::string* key = request.find("key");
  if (space != nullptr && *space != identity_.space) return "unknown_kvsname";
  if (key == nullptr || key->empty()) return "no_key";
  if (key->size() > kPmiMaxKey) return fmt::format("key_longer_than_{}_bytes", kPmiMaxKey);
  return {};
}

PmiStep PmiRank::put(PmiScope scope, const PmiRequest& request) const {
  std::string problem = problem_of(request);
  const std::string* value = request.find("value");
  if (problem.empty() && value == nullptr) problem = "no_value";
  if (problem.empty() && value->size() > kPmiMaxValue)
    problem = fmt::format("value_longer_than_{}_bytes", kPmiMaxValue);
  if (!problem.empty()) return PmiReply{put_reply(problem)};
  return PmiPut{scope, *request.find("key"), *value};
}

PmiStep PmiRank::ask(NameAsk::Kind kind, const PmiRequest& request) {
  if (version_ == 1)  // publish_result, lookup_result, unpublish_result
    name_ = request.command.substr(0, request.command.find('_')) + "_result";
  const std::string* name = request.find(version_ == 1 ? "service" : "name");
  const std::string* port = request.find("port");
  const bool publishes = kind == NameAsk::Kind::publish;
  const auto fits = [](const std::string* text) {
    return text != nullptr && !text->empty() && text->size() <= kPmiMaxValue;
  };
  if (!fits(name)) return PmiReply{reply("bad_service_name")};
  // A rank that speaks PMI-1 could not read a port with blanks.
  if (publishes && (!fits(port) || port->find_first_of(" \n") != std::string::npos))
    return PmiReply{reply("bad_port")};
  waits_ = Waits::name;
  return PmiName{kind, *name, publishes ? *port : std::string()};
}

PmiStep PmiRank::get(PmiScope scope, const PmiRequest& request) {
  const std::string problem = problem_of(request);
  if (!problem.empty()) return PmiReply{reply(problem, version_ == 1 ? "value=unknown" : "")};
  const std::string* wait = request.find("wait");
  return PmiGet{scope, *request.find("key"), wait != nullptr && *wait == "TRUE"};
}

}  // namespace ds::launcher
