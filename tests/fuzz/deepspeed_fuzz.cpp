// Fuzzes DeepSpeed's JSON: a conversion in which every key has one fate and whose TOML reads back,
// or errors with places that are fit for a terminal.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "engine/base/error.h"
#include "engine/deepspeed/convert.h"
#include "fuzz/check_text.h"

using namespace ds;

namespace {

void check_error(const Error& error) {
  DS_ASSERT(error.kind() == ErrorKind::config, "bad files are errors of the input");
  DS_ASSERT(std::string_view(error.what()).starts_with("fuzz.json"), "errors have a place");
  DS_ASSERT(error.for_people().size() < 4096, "long values are cut");
  test::check_for_terminal(error.for_people());
}

void check(const DsConversion& conversion) {
  for (const Error& finding : conversion.findings) check_error(finding);
  if (!conversion.findings.empty()) check_error(conversion.findings.back());
  std::set<std::string> keys;
  for (const DsSetting& setting : conversion.settings) {
    DS_ASSERT(keys.insert(setting.key).second, "a key is set once");
    test::check_for_terminal(setting.from);
  }
  std::set<std::string> passed;
  for (const DsPassed& each : conversion.passed) {
    DS_ASSERT(passed.insert(each.from).second, "a key is passed over once");
    test::check_for_terminal(each.from + each.value + each.why);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const JsonFile file{{reinterpret_cast<const char*>(data), size}, "fuzz.json"};
  for (const DsContext& context : {DsContext{}, DsContext{.hidden = 64, .dtype = "fp16"}}) {
    try {
      check(convert_deepspeed(file, context));
    } catch (const Error& error) {
      check_error(error);
    }
  }
  return 0;
}
