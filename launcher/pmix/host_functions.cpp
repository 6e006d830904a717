// The functions that the PMIx library calls: each passes its request to PmixHost.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "engine/base/deadline.h"
#include "launcher/pmix/info_list.h"
#include "launcher/pmix/names.h"
#include "launcher/pmix/notice.h"
#include "launcher/pmix/pmix_host.h"

namespace ds::launcher {
namespace {

/// Longer texts are cut.
constexpr std::size_t kMaxLog = std::size_t{64} << 10;

template <class Callback>
struct Call {
  Callback answer;
  void* data;
  bool wants_number = false;
  std::vector<pmix_proc_t> members{};  // of a group
};

template <class Callback>
Call<Callback> take_call(void* call) {
  const std::unique_ptr<Call<Callback>> owned(static_cast<Call<Callback>*>(call));
  return *owned;
}

pmix_status_t on_connected(const pmix_proc_t* proc, void* /*object*/, pmix_info_t* /*info*/,
                           std::size_t /*count*/, pmix_op_cbfunc_t /*done*/, void* /*call*/) {
  PmixHost::the().set_step(*proc, PmixRank::Step::connected);
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t on_finalized(const pmix_proc_t* proc, void* /*object*/, pmix_op_cbfunc_t /*done*/,
                           void* /*call*/) {
  PmixHost::the().set_step(*proc, PmixRank::Step::finalized);
  return PMIX_OPERATION_SUCCEEDED;
}

/// The rank waits until it is stopped, so its call is not answered.
pmix_status_t on_abort(const pmix_proc_t* proc, void* /*object*/, int status,
                       const char* /*message*/, pmix_proc_t* /*procs*/, std::size_t /*count*/,
                       pmix_op_cbfunc_t /*done*/, void* /*call*/) {
  PmixHost::the().write(MpiFailed{.rank = static_cast<std::int32_t>(proc->rank),
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
  PmixHost::the().join("fence", procs, count, std::move(own), finish,
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
  PmixHost::the().join(kind, procs, count, {}, finish, new Call<pmix_op_cbfunc_t>{done, data});
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

/// Finishes the construction of a group: its members, a context id if asked for, and what members
/// have given. Servers of the library before 4.2.5 do not pass the members on.
void finish_group(void* call, pmix_status_t status, std::uint64_t number, std::string&& all) {
  const auto to = take_call<pmix_info_cbfunc_t>(call);
  auto result = std::make_unique<InfoList>();
  if (to.wants_number) result->add_size(PMIX_GROUP_CONTEXT_ID, number);
  if (!all.empty()) result->add_bytes(PMIX_GROUP_ENDPT_DATA, all);
  if (!to.members.empty()) result->add_procs(PMIX_GROUP_MEMBERSHIP, to.members);
  pmix_info_t* const info = result->size() == 0 ? nullptr : result->data();
  const std::size_t count = result->size();
  const auto release = [](void* list) { delete static_cast<InfoList*>(list); };
  to.answer(status, info, count, to.data, release, result.release());
}

pmix_status_t on_group(pmix_group_operation_t operation, char* id, const pmix_proc_t* procs,
                       std::size_t count, const pmix_info_t* directives,
                       std::size_t directive_count, pmix_info_cbfunc_t done, void* data) {
  // All members wait in the library already. From 4.2.3 on it asks twice to destruct a group that
  // was made for one node, and frees the request twice unless it is answered at once.
  if (operation == PMIX_GROUP_DESTRUCT && PmixHost::the().are_here(procs, count))
    return PMIX_OPERATION_SUCCEEDED;
  auto* const call = new Call<pmix_info_cbfunc_t>{done, data};
  std::string own;
  for (std::size_t i = 0; i < directive_count; ++i) {
    const pmix_info_t& given = directives[i];
    if (PMIX_CHECK_KEY(&given, PMIX_GROUP_ASSIGN_CONTEXT_ID))
      call->wants_number = PMIX_INFO_TRUE(&given);
    if (PMIX_CHECK_KEY(&given, PMIX_GROUP_ENDPT_DATA))
      own.assign(given.value.data.bo.bytes, given.value.data.bo.size);
  }
  if (operation == PMIX_GROUP_CONSTRUCT) call->members.assign(procs, procs + count);
  const char* const what = operation == PMIX_GROUP_CONSTRUCT ? "construct" : "destruct";
  PmixHost::the().join(fmt::format("{} {}", what, id), procs, count, std::move(own), finish_group,
                       call);
  return PMIX_SUCCESS;
}

pmix_status_t on_modex(const pmix_proc_t* proc, const pmix_info_t* info, std::size_t count,
                       pmix_modex_cbfunc_t done, void* data) {
  PmixHost::the().ask(*proc, limit_of(info, count), done, data);
  return PMIX_SUCCESS;
}

pmix_status_t on_spawn(const pmix_proc_t* proc, const pmix_info_t* /*info*/, std::size_t /*infos*/,
                       const pmix_app_t* /*apps*/, std::size_t /*count*/,
                       pmix_spawn_cbfunc_t /*done*/, void* /*data*/) {
  PmixHost::the().refuse(proc, "MPI_Comm_spawn");
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
  PmixHost::the().write(PmixNotice{std::move(packed)});
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
    if (!text.empty())
      PmixHost::the().write(PmixLine{static_cast<std::int32_t>(client->rank), text});
  }
  if (done != nullptr) PmixHost::the().answer_soon(done, call);
}

}  // namespace

pmix_server_module_t* PmixHost::module() {
  // The library of the node may be newer than the header here, and read more functions: null ones.
  struct Padded {
    pmix_server_module_t known{};
    std::array<void*, 32> later{};
  };
  static Padded functions = [] {
    Padded padded;
    pmix_server_module_t& module = padded.known;
    module.client_connected2 = on_connected;
    module.client_finalized = on_finalized;
    module.abort = on_abort;
    module.fence_nb = on_fence;
    module.direct_modex = on_modex;
    module.publish = on_publish;
    module.lookup = on_lookup;
    module.unpublish = on_unpublish;
    module.spawn = on_spawn;
    module.connect = on_connect;
    module.disconnect = on_disconnect;
    module.register_events = on_register_events;
    module.deregister_events = on_deregister_events;
    module.notify_event = on_event;
    module.log = on_log;
    module.job_control = on_job_control;
    module.group = on_group;
    return padded;
  }();
  return &functions.known;
}

}  // namespace ds::launcher
