// InfoList: keys and values for calls of the PMIx library, with their memory.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace ds::launcher {

/// Threads: one.   Errors: none.
class InfoList {
 public:
  InfoList() = default;
  InfoList(const InfoList&) = delete;
  InfoList& operator=(const InfoList&) = delete;
  InfoList(InfoList&& other) noexcept : list_(std::exchange(other.list_, {})) {}
  InfoList& operator=(InfoList&&) = delete;
  ~InfoList() {
    for (pmix_info_t& info : list_) PMIX_INFO_DESTRUCT(&info);
  }

  void add(const char* key, const std::string& value) { load(key, value.c_str(), PMIX_STRING); }
  void add(const char* key, bool value) { load(key, &value, PMIX_BOOL); }
  void add(const char* key, std::uint32_t value) { load(key, &value, PMIX_UINT32); }
  void add(const char* key, std::uint16_t value) { load(key, &value, PMIX_UINT16); }
  void add_size(const char* key, std::size_t value) { load(key, &value, PMIX_SIZE); }
  void add_rank(const char* key, pmix_rank_t value) { load(key, &value, PMIX_PROC_RANK); }
  void add_bytes(const char* key, std::string& value) {
    pmix_byte_object_t bytes{value.data(), value.size()};
    load(key, &bytes, PMIX_BYTE_OBJECT);
  }
  /// Adds a regular expression of PMIx_generate_regex() or PMIx_generate_ppn().
  void add_regex(const char* key, char* regex) { load(key, regex, PMIX_REGEX); }
  void add_procs(const char* key, const std::vector<pmix_proc_t>& procs) {
    pmix_info_t& info = append(key);
    info.value.type = PMIX_DATA_ARRAY;
    PMIX_DATA_ARRAY_CREATE(info.value.data.darray, procs.size(), PMIX_PROC);
    std::memcpy(info.value.data.darray->array, procs.data(), procs.size() * sizeof(pmix_proc_t));
  }
  /// Adds a list as one value; `values` is empty afterwards.
  void add_array(const char* key, InfoList&& values) {
    pmix_info_t& info = append(key);
    info.value.type = PMIX_DATA_ARRAY;
    PMIX_DATA_ARRAY_CREATE(info.value.data.darray, values.list_.size(), PMIX_INFO);
    std::memcpy(info.value.data.darray->array, values.list_.data(),
                values.list_.size() * sizeof(pmix_info_t));
    values.list_.clear();
  }

  [[nodiscard]] pmix_info_t* data() { return list_.data(); }
  [[nodiscard]] std::size_t size() const { return list_.size(); }

 private:
  pmix_info_t& append(const char* key) {
    pmix_info_t& info = list_.emplace_back();
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_LOAD_KEY(info.key, key);
    return info;
  }
  void load(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t& info = list_.emplace_back();
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, key, value, type);
  }
  std::vector<pmix_info_t> list_;
};

}  // namespace ds::launcher
