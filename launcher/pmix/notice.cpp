#include "launcher/pmix/notice.h"

#include "launcher/pmix/packed.h"

namespace ds::launcher {
namespace {

/// An event that the library still uses after PMIx_Notify_event() has returned.
struct Event {
  pmix_proc_t source;
  pmix_info_t* info = nullptr;
  std::size_t count = 0;
};

void release(pmix_status_t /*status*/, void* call) {
  auto* const event = static_cast<Event*>(call);
  if (event->info != nullptr) PMIX_INFO_FREE(event->info, event->count);
  delete event;
}

/// Events of MPI libraries have fewer.
constexpr std::size_t kMaxInfos = 1024;

}  // namespace

std::string pack_notice(pmix_status_t code, const pmix_proc_t& source, pmix_data_range_t range,
                        const pmix_info_t* info, std::size_t count) {
  Packed packed;
  packed.pack(&code, 1, PMIX_STATUS);
  packed.pack(&source, 1, PMIX_PROC);
  packed.pack(&range, 1, PMIX_DATA_RANGE);
  packed.pack(&count, 1, PMIX_SIZE);
  if (count > 0) packed.pack(info, count, PMIX_INFO);
  return packed.text();
}

void notify_clients(const std::string& bytes) {
  Packed packed(bytes);
  if (!packed.good) return;
  auto* const event = new Event;
  pmix_status_t code = PMIX_SUCCESS;
  pmix_data_range_t range = PMIX_RANGE_LOCAL;
  packed.unpack(&code, 1, PMIX_STATUS);
  packed.unpack(&event->source, 1, PMIX_PROC);
  packed.unpack(&range, 1, PMIX_DATA_RANGE);
  packed.unpack(&event->count, 1, PMIX_SIZE);
  if (!packed.good || event->count > kMaxInfos) event->count = 0;
  if (event->count > 0) {
    PMIX_INFO_CREATE(event->info, event->count);
    packed.unpack(event->info, event->count, PMIX_INFO);
  }
  if (!packed.good || PMIx_Notify_event(code, &event->source, PMIX_RANGE_LOCAL, event->info,
                                        event->count, release, event) != PMIX_SUCCESS)
    release(PMIX_SUCCESS, event);
}

}  // namespace ds::launcher
