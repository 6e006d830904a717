#include "launcher/pmix/pmix_host.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>

#include "launcher/mpi/fence_gather.h"
#include "launcher/pmix/job_info.h"
#include "launcher/pmix/notice.h"

namespace ds::launcher {
namespace {

PmixHost* the_host = nullptr;

/// Longer data of one rank does not fit into a frame.
constexpr std::size_t kMaxData = std::size_t{3} << 20;
constexpr std::size_t kMaxLog = std::size_t{64} << 10;

/// Memory for the library, which frees it by free_copy().
char* copy_of(const std::string& text) {
  char* const copy = static_cast<char*>(std::malloc(std::max<std::size_t>(text.size(), 1)));
  if (copy != nullptr) std::memcpy(copy, text.data(), text.size());
  return copy;
}
void free_copy(void* text) { std::free(text); }

}  // namespace

PmixHost& PmixHost::make(int fd, const Spec& spec) {
  static PmixHost host;
  host.fd_ = fd;
  host.answers_fd_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  host.mpi_ = spec.mpi;
  for (const RankSpec& rank : spec.ranks) host.own_ranks_.push_back(rank.rank);
  the_host = &host;
  return host;
}

void PmixHost::write(const Message& message) {
  const Bytes frame = encode({}, message);
  const std::lock_guard lock(write_mutex_);
  for (std::size_t done = 0; done < frame.size();) {
    const ssize_t count = ::write(fd_, frame.data() + done, frame.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    done += static_cast<std::size_t>(count);
  }
}

void PmixHost::answer_soon(pmix_op_cbfunc_t done, void* call) {
  const std::lock_guard lock(mutex_);
  answers_.push_back({done, call});
  ::eventfd_write(answers_fd_.get(), 1);
}

void PmixHost::answer_later() {
  std::vector<Answer> answers;
  {
    const std::lock_guard lock(mutex_);
    eventfd_t count = 0;
    ::eventfd_read(answers_fd_.get(), &count);
    answers.swap(answers_);
  }
  for (const Answer& answer : answers) answer.done(PMIX_SUCCESS, answer.call);
}

/// Returns the ranks, ascending; empty: all of the job.
std::vector<std::int32_t> PmixHost::ranks_of(const pmix_proc_t* procs, std::size_t count) const {
  std::set<std::int32_t> ranks;
  for (std::size_t i = 0; i < count; ++i) {
    if (procs[i].rank == PMIX_RANK_WILDCARD) return {};
    ranks.insert(static_cast<std::int32_t>(procs[i].rank));
  }
  if (std::ssize(ranks) == mpi_.size) return {};
  return {ranks.begin(), ranks.end()};
}

bool PmixHost::all_are_here(const std::vector<std::int32_t>& ranks) const {
  if (ranks.empty()) return std::ssize(own_ranks_) == mpi_.size;
  return std::ranges::all_of(
      ranks, [&](std::int32_t rank) { return std::ranges::count(own_ranks_, rank) > 0; });
}

void PmixHost::join(const std::string& kind, const pmix_proc_t* procs, std::size_t count,
                    std::string data, Finish finish, void* call) {
  FenceIn message{.ranks = ranks_of(procs, count)};
  message.name = fmt::format("{} {}", kind, rank_list(message.ranks));
  const bool here = all_are_here(message.ranks);
  {
    const std::lock_guard lock(mutex_);
    waiting_[message.name] = {finish, call, here ? std::move(data) : std::string()};
  }
  if (here) return write(message);
  for (std::size_t at = 0; data.size() - at > kFenceFrameBytes; at += kFenceFrameBytes) {
    FenceIn piece = message;
    piece.last = false;
    piece.data = data.substr(at, kFenceFrameBytes);
    write(piece);
  }
  const std::size_t rest = data.size() % kFenceFrameBytes;
  message.data = data.substr(data.size() - (rest == 0 && !data.empty() ? kFenceFrameBytes : rest));
  write(message);
}

void PmixHost::take(FenceOut&& message) {
  Waiting done;
  {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(message.name);
    if (found == waiting_.end()) return;
    found->second.data += message.data;
    if (!message.last) return;
    done = std::move(found->second);
    waiting_.erase(found);
  }
  done.finish(done.call, PMIX_SUCCESS, message.number, std::move(done.data));
}

void PmixHost::ask(const pmix_proc_t& proc, pmix_modex_cbfunc_t answer, void* call) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = ++last_id_;
    asked_[id] = {answer, call};
  }
  write(ModexAsk{.rank = static_cast<std::int32_t>(proc.rank), .id = id});
}

void PmixHost::take(const ModexAsk& message) {
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, mpi_.space.c_str(), static_cast<pmix_rank_t>(message.rank));
  auto question = std::make_unique<ModexAsk>(message);
  const auto answer = [](pmix_status_t status, char* data, std::size_t size, void* call) {
    const std::unique_ptr<ModexAsk> asked(static_cast<ModexAsk*>(call));
    const bool fits = data != nullptr && size <= kMaxData;
    the_host->write(ModexAnswer{.node = asked->node,
                                .id = asked->id,
                                .status = fits || size == 0 ? status : PMIX_ERR_OUT_OF_RESOURCE,
                                .data = fits ? std::string(data, size) : std::string()});
  };
  const pmix_status_t status = PMIx_server_dmodex_request(&proc, answer, question.get());
  if (status == PMIX_SUCCESS) return void(question.release());
  write(ModexAnswer{.node = message.node, .id = message.id, .status = status, .data = {}});
}

void PmixHost::take(ModexAnswer&& message) {
  Asked asked{};
  {
    const std::lock_guard lock(mutex_);
    const auto found = asked_.find(message.id);
    if (found == asked_.end()) return;
    asked = found->second;
    asked_.erase(found);
  }
  char* const data = copy_of(message.data);
  asked.answer(message.status, data, message.data.size(), asked.call, free_copy, data);
}

void PmixHost::take(const PmixNotice& message) { notify_clients(message.data); }

void PmixHost::refuse(const pmix_proc_t* proc, const char* what) {
  write(PmixLine{.rank = static_cast<std::int32_t>(proc->rank),
                 .text = fmt::format("{} is not supported by dslaunch", what)});
}

void PmixHost::set_step(const pmix_proc_t& proc, PmixRank::Step step) {
  write(PmixRank{.rank = static_cast<std::int32_t>(proc.rank), .step = step});
}

namespace {

template <class Callback>
struct Call {
  Callback answer;
  void* data;
  bool wants_number = false;
};

template <class Callback>
Call<Callback> take_call(void* call) {
  const std::unique_ptr<Call<Callback>> owned(static_cast<Call<Callback>*>(call));
  return *owned;
}

pmix_status_t on_connected(const pmix_proc_t* proc, void* /*object*/, pmix_info_t* /*info*/,
                           std::size_t /*count*/, pmix_op_cbfunc_t /*done*/, void* /*call*/) {
  the_host->set_step(*proc, PmixRank::Step::connected);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* proc, void* /*object*/, pmix_op_cbfunc_t /*done*/,
                           void* /*call*/) {
  the_host->set_step(*proc, PmixRank::Step::finalized);
  return PMIX_OPERATION_SUCCEEDED;
}

/// The rank waits until it is stopped, so its call is not answered.
pmix_status_t on_abort(const pmix_proc_t* proc, void* /*object*/, int status,
                       const char* /*message*/, pmix_proc_t* /*procs*/, std::size_t /*count*/,
                       pmix_op_cbfunc_t /*done*/, void* /*call*/) {
  the_host->write(MpiFailed{.rank = static_cast<std::int32_t>(proc->rank),
                            .code = status,
                            .text = fmt::format("called MPI_Abort({})", status),
                            .time = clock_value(Clock::now())});
  return PMIX_SUCCESS;
}

pmix_status_t on_fence(const pmix_proc_t* procs, std::size_t count, const pmix_info_t* /*info*/,
                       std::size_t /*infos*/, char* data, std::size_t size,
                       pmix_modex_cbfunc_t done, void* data_of_call) {
  std::string own(data, data == nullptr ? 0 : size);
  std::free(data);  // The library hands it over.
  const auto finish = [](void* call, pmix_status_t status, std::uint64_t /*number*/,
                         std::string&& all) {
    const auto to = take_call<pmix_modex_cbfunc_t>(call);
    char* const copy = copy_of(all);
    to.answer(status, copy, all.size(), to.data, free_copy, copy);
  };
  the_host->join("fence", procs, count, std::move(own), finish,
                 new Call<pmix_modex_cbfunc_t>{done, data_of_call});
  return PMIX_SUCCESS;
}

pmix_status_t join_without_data(const char* kind, const pmix_proc_t* procs, std::size_t count,
                                pmix_op_cbfunc_t done, void* data) {
  const auto finish = [](void* call, pmix_status_t status, std::uint64_t /*number*/,
                         std::string&& /*all*/) {
    const auto to = take_call<pmix_op_cbfunc_t>(call);
    to.answer(status, to.data);
  };
  the_host->join(kind, procs, count, {}, finish, new Call<pmix_op_cbfunc_t>{done, data});
  return PMIX_SUCCESS;
}

pmix_status_t on_connect(const pmix_proc_t* procs, std::size_t count, const pmix_info_t* /*info*/,
                         std::size_t /*infos*/, pmix_op_cbfunc_t done, void* data) {
  return join_without_data("connect", procs, count, done, data);
}

pmix_status_t on_disconnect(const pmix_proc_t* procs, std::size_t count,
                            const pmix_info_t* /*info*/, std::size_t /*infos*/,
                            pmix_op_cbfunc_t done, void* data) {
  return join_without_data("disconnect", procs, count, done, data);
}

/// Finishes the construction of a group: a context id, if asked for, and what members have given.
void finish_group(void* call, pmix_status_t status, std::uint64_t number, std::string&& all) {
  const auto to = take_call<pmix_info_cbfunc_t>(call);
  auto result = std::make_unique<InfoList>();
  if (to.wants_number) result->add_size(PMIX_GROUP_CONTEXT_ID, number);
  if (!all.empty()) result->add_bytes(PMIX_GROUP_ENDPT_DATA, all);
  pmix_info_t* const info = result->size() == 0 ? nullptr : result->data();
  const std::size_t count = result->size();
  const auto release = [](void* list) { delete static_cast<InfoList*>(list); };
  to.answer(status, info, count, to.data, release, result.release());
}

pmix_status_t on_group(pmix_group_operation_t operation, char* id, const pmix_proc_t* procs,
                       std::size_t count, const pmix_info_t* directives,
                       std::size_t directive_count, pmix_info_cbfunc_t done, void* data) {
  auto* const call = new Call<pmix_info_cbfunc_t>{done, data};
  std::string own;
  for (std::size_t i = 0; i < directive_count; ++i) {
    const pmix_info_t& given = directives[i];
    if (PMIX_CHECK_KEY(&given, PMIX_GROUP_ASSIGN_CONTEXT_ID))
      call->wants_number = PMIX_INFO_TRUE(&given);
    if (PMIX_CHECK_KEY(&given, PMIX_GROUP_ENDPT_DATA))
      own.assign(given.value.data.bo.bytes, given.value.data.bo.size);
  }
  const char* const what = operation == PMIX_GROUP_CONSTRUCT ? "construct" : "destruct";
  the_host->join(fmt::format("{} {}", what, id), procs, count, std::move(own), finish_group, call);
  return PMIX_SUCCESS;
}

pmix_status_t on_modex(const pmix_proc_t* proc, const pmix_info_t* /*info*/, std::size_t /*count*/,
                       pmix_modex_cbfunc_t done, void* data) {
  the_host->ask(*proc, done, data);
  return PMIX_SUCCESS;
}

pmix_status_t on_spawn(const pmix_proc_t* proc, const pmix_info_t* /*info*/, std::size_t /*infos*/,
                       const pmix_app_t* /*apps*/, std::size_t /*count*/,
                       pmix_spawn_cbfunc_t /*done*/, void* /*data*/) {
  the_host->refuse(proc, "MPI_Comm_spawn");
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t on_publish(const pmix_proc_t* proc, const pmix_info_t* /*info*/,
                         std::size_t /*count*/, pmix_op_cbfunc_t /*done*/, void* /*data*/) {
  the_host->refuse(proc, "MPI_Publish_name");
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t on_lookup(const pmix_proc_t* proc, char** /*keys*/, const pmix_info_t* /*info*/,
                        std::size_t /*count*/, pmix_lookup_cbfunc_t /*done*/, void* /*data*/) {
  the_host->refuse(proc, "MPI_Lookup_name");
  return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t on_register_events(pmix_status_t* /*codes*/, std::size_t /*count*/,
                                 const pmix_info_t* /*info*/, std::size_t /*infos*/,
                                 pmix_op_cbfunc_t /*done*/, void* /*data*/) {
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_deregister_events(pmix_status_t* /*codes*/, std::size_t /*count*/,
                                   pmix_op_cbfunc_t /*done*/, void* /*data*/) {
  return PMIX_OPERATION_SUCCEEDED;
}

/// The library tells the clients of this node; other nodes learn it through the root.
pmix_status_t on_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                       pmix_info_t* info, std::size_t count, pmix_op_cbfunc_t /*done*/,
                       void* /*data*/) {
  if (range == PMIX_RANGE_LOCAL || range == PMIX_RANGE_PROC_LOCAL) return PMIX_OPERATION_SUCCEEDED;
  std::string packed = pack_notice(code, *source, range, info, count);
  if (packed.empty() || packed.size() > kMaxData) return PMIX_ERR_OUT_OF_RESOURCE;
  the_host->write(PmixNotice{std::move(packed)});
  return PMIX_OPERATION_SUCCEEDED;
}

/// The library itself keeps what clients register for clean-up, if its host has this function.
pmix_status_t on_job_control(const pmix_proc_t* /*requestor*/, const pmix_proc_t* /*targets*/,
                             std::size_t /*count*/, const pmix_info_t* /*directives*/,
                             std::size_t /*directive_count*/, pmix_info_cbfunc_t /*done*/,
                             void* /*data*/) {
  return PMIX_ERR_NOT_SUPPORTED;
}

/// Returns the longest run of text in bytes.
std::string text_in(std::string_view bytes) {
  std::string_view longest;
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t end = at;
    while (end < bytes.size() && (std::isprint(static_cast<unsigned char>(bytes[end])) != 0 ||
                                  bytes[end] == '\n' || bytes[end] == '\t'))
      ++end;
    if (end - at > longest.size()) longest = bytes.substr(at, end - at);
    at = end + 1;
  }
  return std::string(longest);
}

/// Prints what a client asks to log: help texts of Open MPI 5, which are strings, and of Open MPI
/// 4, which packs them in a form of its own among other fields.
void on_log(const pmix_proc_t* client, const pmix_info_t* data, std::size_t count,
            const pmix_info_t* /*directives*/, std::size_t /*directive_count*/,
            pmix_op_cbfunc_t done, void* call) {
  for (std::size_t i = 0; i < count; ++i) {
    const pmix_value_t& value = data[i].value;
    std::string text;
    if (value.type == PMIX_STRING && value.data.string != nullptr) text = value.data.string;
    if (value.type == PMIX_BYTE_OBJECT && value.data.bo.bytes != nullptr)
      text = text_in({value.data.bo.bytes, value.data.bo.size});
    text.resize(std::min(text.size(), kMaxLog));
    if (!text.empty()) the_host->write(PmixLine{static_cast<std::int32_t>(client->rank), text});
  }
  if (done != nullptr) the_host->answer_soon(done, call);
}

}  // namespace

pmix_server_module_t* PmixHost::module() {
  static pmix_server_module_t functions = [] {
    pmix_server_module_t module{};
    module.client_connected2 = on_connected;
    module.client_finalized = on_finalized;
    module.abort = on_abort;
    module.fence_nb = on_fence;
    module.direct_modex = on_modex;
    module.publish = on_publish;
    module.lookup = on_lookup;
    module.spawn = on_spawn;
    module.connect = on_connect;
    module.disconnect = on_disconnect;
    module.register_events = on_register_events;
    module.deregister_events = on_deregister_events;
    module.notify_event = on_event;
    module.log = on_log;
    module.job_control = on_job_control;
    module.group = on_group;
    return module;
  }();
  return &functions;
}

}  // namespace ds::launcher
