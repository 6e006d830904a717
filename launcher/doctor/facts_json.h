// Facts as JSON: for the lines of a node and for --json.
#pragma once

#include <nlohmann/json.hpp>

#include "launcher/doctor/facts.h"

namespace ds::launcher::doctor {

using Json = nlohmann::ordered_json;

/// Returns all facts except `doing` and `complete`.
Json to_json(const Facts& facts);

/// Returns the JSON text. Invalid UTF-8 becomes U+FFFD.
std::string text_of(const Json& json, int indent = -1);

}  // namespace ds::launcher::doctor
