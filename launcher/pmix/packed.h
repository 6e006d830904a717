// Packed: a buffer of the PMIx library, for what travels between nodes in the library's form.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace ds::launcher {

/// Threads: one.   Errors: `good` is false after a call that has not worked; later ones do nothing.
struct Packed {
  pmix_data_buffer_t buffer = PMIX_DATA_BUFFER_STATIC_INIT;
  bool good = true;

  Packed() = default;
  /// Takes bytes that text() has returned.
  explicit Packed(const std::string& bytes) {
    pmix_byte_object_t object{static_cast<char*>(std::malloc(bytes.size() + 1)), bytes.size()};
    good = object.bytes != nullptr;
    if (!good) return;
    std::memcpy(object.bytes, bytes.data(), bytes.size());
    good = PMIx_Data_load(&buffer, &object) == PMIX_SUCCESS;
    if (!good) std::free(object.bytes);
  }
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
  /// Returns what was packed; empty if it is not good.
  [[nodiscard]] std::string text() const {
    return good ? std::string(buffer.base_ptr, buffer.bytes_used) : std::string();
  }
};

}  // namespace ds::launcher
