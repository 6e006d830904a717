// sample_file(): the bytes of a safetensors file with fields of samples.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace ds::test {

/// A field: rows of `columns` numbers each.
struct SampleField {
  std::string name, type;  // type: I64, I32, U32, U16, U8, or another word for a wrong file
  std::int64_t columns = 0;
  std::vector<std::int64_t> numbers;
};

inline std::int64_t bytes_of_type(std::string_view type) {
  return type.ends_with("64") ? 8 : type.ends_with("16") ? 2 : type == "U8" ? 1 : 4;
}

inline std::string sample_file(const std::vector<SampleField>& fields) {
  std::string header = "{", data;
  for (const SampleField& field : fields) {
    const std::int64_t each = bytes_of_type(field.type);
    const std::size_t from = data.size();
    for (const std::int64_t number : field.numbers)
      data.append(reinterpret_cast<const char*>(&number), static_cast<std::size_t>(each));
    header +=
        fmt::format(R"({}"{}":{{"dtype":"{}","shape":[{},{}],"data_offsets":[{},{}]}})",
                    header == "{" ? "" : ",", field.name, field.type,
                    std::ssize(field.numbers) / field.columns, field.columns, from, data.size());
  }
  header += '}';
  std::string length(8, '\0');
  const auto bytes = static_cast<std::uint64_t>(header.size());
  std::memcpy(length.data(), &bytes, sizeof(bytes));
  return length + header + data;
}

}  // namespace ds::test
