// Fuzz target: the adapter_config.json of a PEFT folder.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/error.h"
#include "engine/config/keys.h"
#include "engine/config/peft_config.h"
#include "fuzz/check_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const ds::PeftConfig config = ds::read_peft_config({reinterpret_cast<const char*>(data), size});
    for (const ds::HfConfig::Field& field : config.fields) {
      const ds::Key* const key = ds::find_key(field.key);
      DS_ASSERT(key != nullptr, "every field is a key of [lora]");
      ds::TrainConfig train;
      key->set(train, ds::check_value(*key, {std::string(field.key), field.value, {}, ""}));
      ds::test::check_for_terminal(field.theirs);
    }
    for (const std::string& line : config.refused) {
      ds::test::check_for_terminal(line);
      DS_ASSERT(line.size() < 1024, "long values are cut");
    }
  } catch (const ds::Error& error) {
    DS_ASSERT(error.kind() == ds::ErrorKind::config, "bad files are errors of the input");
    ds::test::check_for_terminal(error.for_people());
  }
  return 0;
}
