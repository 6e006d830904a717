// Any bytes as a train.toml and as an override: a config that prints and reads back the same, or an
// error with a place that is fit for a terminal.
#include <cstdint>
#include <string>

#include "engine/base/error.h"
#include "engine/config/load.h"
#include "engine/config/print.h"
#include "engine/config/toml_reader.h"

using namespace ds;

namespace {

constexpr const char* kGood =
    "[model]\npreset = \"gpt-tiny\"\n[data]\ntrain = \"a\"\nseq_len = 8\n[batch]\nmicro = 1\n"
    "[train]\nsteps = 3\n";

void check_config(const TrainConfig& config) {
  DS_ASSERT(config.model.head_size > 0 || config.model.hidden % config.model.heads == 0);
  DS_ASSERT(config.batch.micro * config.batch.accum * config.determinism.virtual_ranks ==
            config.batch.global);
  DS_ASSERT(config.train.steps >= 1 && config.schedule.warmup <= config.schedule.total);
  const std::vector<Entry> again = read_toml(to_toml(config), "again", "/");
  DS_ASSERT(make_train_config(again, "again", 2) == config, "what is printed reads back the same");
}

/// `source`: another place that may be named beside the file.
void check_error(const Error& error, std::string_view source) {
  const std::string message = error.what();
  DS_ASSERT(error.kind() == ErrorKind::config || error.kind() == ErrorKind::usage);
  DS_ASSERT(message.starts_with(source) || message.starts_with("fuzz.toml"));
  DS_ASSERT(message.size() < 16384, "long lines and values are cut");
  for (const char c : error.for_people()) {
    const auto byte = static_cast<unsigned char>(c);
    DS_ASSERT((byte >= 0x20 && byte != 0x7F) || c == '\n' || c == '\t', "no control bytes");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    check_config(make_train_config(read_toml(text, "fuzz.toml", "/"), "fuzz.toml", 2));
  } catch (const Error& error) {
    check_error(error, "fuzz.toml");
  }
  try {
    std::vector<Entry> entries = read_toml(kGood, "fuzz.toml", "/");
    entries.push_back(read_override(text.substr(0, text.find('\n')), 1, "/"));
    check_config(make_train_config(entries, "fuzz.toml", 2));
  } catch (const Error& error) {
    check_error(error, "override 1");
  }
  return 0;
}
