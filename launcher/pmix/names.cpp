// Published names: requests of the library as frames for the root, and its answers.
#include "launcher/pmix/names.h"

#include <string>
#include <string_view>
#include <vector>

#include "launcher/pmix/packed.h"
#include "launcher/pmix/pmix_host.h"

namespace ds::launcher {
namespace {

/// Keeps the names of PMIx apart from those of PMI, whose values are text.
constexpr std::string_view kSpace = "pmix ";

/// What a publication means besides names.
constexpr const char* kDirectives[] = {PMIX_RANGE, PMIX_PERSISTENCE, PMIX_TIMEOUT, PMIX_USERID,
                                       PMIX_GRPID};

bool is_directive(const pmix_info_t& info) {
  for (const char* key : kDirectives)
    if (PMIX_CHECK_KEY(&info, key)) return true;
  return false;
}

NameAsk request(const pmix_proc_t& proc, NameAsk::Kind kind, char** keys) {
  NameAsk message{.rank = static_cast<std::int32_t>(proc.rank), .kind = kind};
  for (; keys != nullptr && *keys != nullptr; ++keys)
    message.names.emplace_back(std::string(kSpace) + *keys, std::string());
  return message;
}

pmix_status_t status_of(NameAnswer::Status status) {
  switch (status) {
    case NameAnswer::Status::done:
      return PMIX_SUCCESS;
    case NameAnswer::Status::exists:
      return PMIX_ERR_DUPLICATE_KEY;
    case NameAnswer::Status::unknown:
      return PMIX_ERR_NOT_FOUND;
    case NameAnswer::Status::full:
      break;
  }
  return PMIX_ERR_OUT_OF_RESOURCE;
}

}  // namespace

std::chrono::seconds limit_of(const pmix_info_t* info, std::size_t count) {
  std::chrono::seconds limit{0};
  for (std::size_t i = 0; i < count; ++i) {
    if (!PMIX_CHECK_KEY(&info[i], PMIX_TIMEOUT)) continue;
    const pmix_value_t& value = info[i].value;
    if (value.type == PMIX_INT) limit = std::chrono::seconds(value.data.integer);
    if (value.type == PMIX_UINT32) limit = std::chrono::seconds(value.data.uint32);
  }
  return limit;
}

pmix_status_t on_publish(const pmix_proc_t* proc, const pmix_info_t* info, std::size_t count,
                         pmix_op_cbfunc_t done, void* call) {
  NameAsk message = request(*proc, NameAsk::Kind::publish, nullptr);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const pmix_info_t& each = info[i];
    if (PMIX_CHECK_KEY(&each, PMIX_PERSISTENCE))
      message.once = each.value.data.persist == PMIX_PERSIST_FIRST_READ;
    if (is_directive(each)) continue;
    Packed packed;
    packed.pack(&each.value, 1, PMIX_VALUE);
    if (!packed.good) return PMIX_ERR_NOT_SUPPORTED;
    message.names.emplace_back(std::string(kSpace) + each.key, packed.text());
    bytes += message.names.back().second.size() + sizeof each.key;
  }
  if (message.names.empty()) return PMIX_ERR_BAD_PARAM;
  if (bytes > kMaxData) return PMIX_ERR_OUT_OF_RESOURCE;
  PmixHost::the().ask(std::move(message), {}, done, nullptr, call);
  return PMIX_SUCCESS;
}

pmix_status_t on_lookup(const pmix_proc_t* proc, char** keys, const pmix_info_t* info,
                        std::size_t count, pmix_lookup_cbfunc_t found, void* call) {
  NameAsk message = request(*proc, NameAsk::Kind::look_up, keys);
  for (std::size_t i = 0; i < count; ++i) {
    if (!PMIX_CHECK_KEY(&info[i], PMIX_WAIT)) continue;
    const pmix_value_t& value = info[i].value;
    const bool waits = value.type != PMIX_BOOL || value.data.flag;
    const bool counts = value.type == PMIX_INT && value.data.integer > 0;  // else: all
    if (waits)
      message.wanted = counts ? static_cast<std::uint32_t>(value.data.integer)
                              : static_cast<std::uint32_t>(message.names.size());
  }
  PmixHost::the().ask(std::move(message), limit_of(info, count), nullptr, found, call);
  return PMIX_SUCCESS;
}

pmix_status_t on_unpublish(const pmix_proc_t* proc, char** keys, const pmix_info_t* /*info*/,
                           std::size_t /*count*/, pmix_op_cbfunc_t done, void* call) {
  PmixHost::the().ask(request(*proc, NameAsk::Kind::withdraw, keys), {}, done, nullptr, call);
  return PMIX_SUCCESS;
}

void PmixHost::ask(NameAsk&& message, std::chrono::seconds limit, pmix_op_cbfunc_t done,
                   pmix_lookup_cbfunc_t found, void* call) {
  message.id = add({.done = done,
                    .found = found,
                    .call = call,
                    .rank = message.rank,
                    .names = message.names.size()},
                   limit);
  write(message);
}

/// The library copies what it gets before it returns.
void PmixHost::take(const NameAnswer& message) {
  const std::optional<Asked> asked = take_asked(message.id);
  if (!asked) return;
  pmix_status_t status = status_of(message.status);
  if (asked->done != nullptr) return asked->done(status, asked->call);
  if (asked->found == nullptr) return;
  std::vector<pmix_pdata_t> list;
  for (const NameAnswer::Found& each : message.found) {
    pmix_pdata_t& data = list.emplace_back();
    PMIX_PDATA_CONSTRUCT(&data);
    PMIX_LOAD_PROCID(&data.proc, mpi_.space.c_str(), static_cast<pmix_rank_t>(each.rank));
    PMIX_LOAD_KEY(data.key, each.name.substr(kSpace.size()).c_str());
    Packed packed(each.value);
    packed.unpack(&data.value, 1, PMIX_VALUE);
    if (!packed.good) status = PMIX_ERR_UNPACK_FAILURE;
  }
  if (status == PMIX_SUCCESS && list.size() < asked->names)
    status = list.empty() ? PMIX_ERR_NOT_FOUND : PMIX_ERR_PARTIAL_SUCCESS;
  asked->found(status, list.data(), list.size(), asked->call);
  for (pmix_pdata_t& data : list) PMIX_PDATA_DESTRUCT(&data);
}

}  // namespace ds::launcher
