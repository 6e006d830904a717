#include "launcher/pmix/notice.h"

#include <cstdlib>
#include <cstring>

namespace ds::launcher {
namespace {

/// A buffer of the library, and whether all calls with it have worked.
struct Packed {
  pmix_data_buffer_t buffer = PMIX_DATA_BUFFER_STATIC_INIT;
  bool good = true;

  Packed() = default;
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;
  ~Packed() { PMIX_DATA_BUFFER_DESTRUCT(&buffer); }

  void pack(const void* values, std::size_t count, pmix_data_type_t type) {
    good = good && PMIx_Data_pack(nullptr, &buffer, const_cast<void*>(values),
                                  static_cast<std::int32_t>(count), type) == PMIX_SUCCESS;
  }
  void unpack(void* values, std::size_t count, pmix_data_type_t type) {
    auto wanted = static_cast<std::int32_t>(count);
    good = good && PMIx_Data_unpack(nullptr, &buffer, values, &wanted, type) == PMIX_SUCCESS &&
           wanted == static_cast<std::int32_t>(count);
  }
};

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
  if (!packed.good) return {};
  return {packed.buffer.base_ptr, packed.buffer.bytes_used};
}

void notify_clients(const std::string& bytes) {
  Packed packed;
  pmix_byte_object_t object{static_cast<char*>(std::malloc(bytes.size() + 1)), bytes.size()};
  if (object.bytes == nullptr) return;
  std::memcpy(object.bytes, bytes.data(), bytes.size());
  if (PMIx_Data_load(&packed.buffer, &object) != PMIX_SUCCESS) return std::free(object.bytes);
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
