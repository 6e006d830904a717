// Formats the report of `dslaunch inspect` on one checkpoint, as text and as JSON. Pure.
#pragma once

#include <optional>
#include <string>

#include "engine/checkpoint/manifest.h"
#include "engine/checkpoint/tools/verify.h"

namespace ds {

struct InspectReport {
  std::string folder{};
  const Manifest* manifest = nullptr;
  std::optional<Verification> verification{};  // none: checksums were not checked
  double seconds = 0;                          // duration of the verification
  bool all = false;                            // show every block and every broken range
};

std::string inspect_text(const InspectReport& report);
std::string inspect_json(const InspectReport& report);

/// Returns "2026-11-22 06:40:11 UTC".
std::string utc_text(std::int64_t ms);

}  // namespace ds
