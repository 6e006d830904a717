// Fuzz target: a metrics.jsonl in two parts, to the data of a report's page.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/report/report_data.h"

namespace {

using namespace ds::report;

RunPart part_of(std::string_view text) {
  PartLines lines("metrics.jsonl");
  for (const std::string_view line : ds::split(text, '\n')) lines.add(line);
  RunPart part;
  lines.finish(part);
  return part;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReportRun run{.name = std::string(text.substr(0, 40)), .files = {.path = "/run", .parts = {}}};
  run.files.parts = {part_of(text.substr(0, size / 2)), part_of(text.substr(size / 2))};
  ReportData report(1, 0);
  report.add(run);
  const std::string json = report.json();
  DS_ASSERT(json.find_first_of("<>&") == std::string::npos, "no text can end the script element");
  DS_ASSERT(json.find('\n') == std::string::npos);
  return 0;
}
