// Fuzz target: a metrics.jsonl in two parts, to the data of a report's page.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/report/report_data.h"

namespace {

using namespace ds::report;

void add_parts(std::string_view text, std::vector<RunPart>& parts) {
  PartLines lines("metrics.jsonl");
  for (const std::string_view line : ds::split(text, '\n')) lines.add(line);
  for (RunPart& part : lines.take()) parts.push_back(std::move(part));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ReportRun run{.name = std::string(text.substr(0, 40)), .files = {.path = "/run", .parts = {}}};
  add_parts(text.substr(0, size / 2), run.files.parts);
  add_parts(text.substr(size / 2), run.files.parts);
  ReportData report(1, 0);
  report.add(run);
  const std::string json = report.json();
  DS_ASSERT(json.find_first_of("<>&") == std::string::npos, "no text can end the script element");
  DS_ASSERT(json.find('\n') == std::string::npos);
  return 0;
}
