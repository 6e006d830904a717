#include "launcher/mpi/key_values.h"

#include <cstdint>
#include <span>

#include "launcher/mpi/fence_gather.h"
#include "launcher/wire/fields.h"

namespace ds::launcher {

std::vector<std::string> cut_pairs(const KeyValues& pairs) {
  std::vector<std::string> frames(1);
  Bytes bytes;
  for (const auto& pair : pairs) {
    bytes.clear();
    FieldWriter writer(bytes);
    writer(pair);
    if (!frames.back().empty() && frames.back().size() + bytes.size() > kFenceFrameBytes)
      frames.emplace_back();
    frames.back().append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  return frames;
}

KeyValues read_pairs(const std::string& data) {
  KeyValues pairs;
  FieldReader reader(std::as_bytes(std::span(data)));
  while (!reader.complete()) {
    std::pair<std::string, std::string> pair;
    reader(pair);
    if (!reader.good()) break;
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace ds::launcher
