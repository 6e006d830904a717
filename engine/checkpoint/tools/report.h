// What `dslaunch inspect` says of one checkpoint, for people and for programs. Pure.
#pragma once

#include <optional>
#include <string>

#include "engine/checkpoint/manifest.h"
#include "engine/checkpoint/tools/verify.h"

namespace ds {

struct InspectReport {
  std::string folder{};
  const Manifest* manifest = nullptr;
  std::optional<Verification> verification{};  // none: checksums were not looked at
  double seconds = 0;                          // that it took
  bool all = false;                            // every block, every broken range
};

std::string inspect_text(const InspectReport& report);
std::string inspect_json(const InspectReport& report);

/// "2026-11-22 06:40:11 UTC".
std::string utc_text(std::int64_t ms);

}  // namespace ds
