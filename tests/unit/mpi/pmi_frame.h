// A request or reply of PMI-2 from its text.
#pragma once

#include <fmt/format.h>

#include <string>

inline std::string framed(const std::string& body) {
  return fmt::format("{:6}{}", body.size(), body);
}
