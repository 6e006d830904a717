// Fuzzes the messages of a copy and its receiving end: any bytes give messages that encode to the
// same bytes, or one error; no message writes outside of the folder or leaves an entry with two
// results.
#include <cstdint>
#include <map>

#include "engine/base/error.h"
#include "launcher/copy/copy_frames.h"
#include "launcher/copy/copy_target.h"
#include "support/fake_disk.h"

using namespace ds::launcher::copy;
using ds::launcher::Bytes;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  CopyDecoder decoder;
  decoder.feed(bytes);
  ds::test::FakeDisk disk;
  std::map<std::uint32_t, int> results;
  std::size_t entries = 0;
  CopyTarget target(disk, {.seed = 1}, [&](const CopyMessage& message) {
    const auto* result = std::get_if<CopyResult>(&message);
    if (result != nullptr) DS_ASSERT(++results[result->id] == 1, "one result for each entry");
  });
  Bytes again;
  while (const auto message = decoder.next()) {
    encode(again, *message);
    entries += std::holds_alternative<CopyEntry>(*message) ? 1 : 0;
    std::visit(
        [&](const auto& known) {
          if constexpr (requires { target.on(known); }) target.on(known);
        },
        *message);
  }
  DS_ASSERT(again.size() <= size && std::equal(again.begin(), again.end(), bytes.begin()));
  DS_ASSERT(results.size() <= entries);
  if (target.finished()) DS_ASSERT(target.problem() || results.size() == entries);
  for (const auto* places : {&disk.files, &disk.parts, &disk.links})
    for (const auto& [path, text] : *places) DS_ASSERT(is_safe(path));
  if (decoder.error()) DS_ASSERT(!decoder.error()->empty() && decoder.error()->size() < 200);
  return 0;
}
