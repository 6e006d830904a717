// Monitors: TensorBoard and CSV, each a switch and a folder in two parts.
#include "engine/deepspeed/converter.h"

namespace ds {
namespace {

using Kind = JsonValue::Kind;

constexpr std::string_view kDefaultJob = "DeepSpeedJobName";

}  // namespace

void DsConverter::convert_monitors() {
  monitor("tensorboard", "log.tensorboard");
  monitor("csv_monitor", "log.csv");
}

// DeepSpeed writes to OUTPUT_PATH/JOB_NAME. Where the JSON gives neither, the folder does not
// matter to its author, and the run's folder is the better place.
void DsConverter::monitor(std::string_view section, std::string_view key) {
  const std::string enabled = fmt::format("{}.enabled", section);
  const std::string paths[] = {fmt::format("{}.output_path", section),
                               fmt::format("{}.job_name", section)};
  const JsonMember* given = find(enabled);
  if (given != nullptr && !given->value.is(Kind::flag))
    return refuse(enabled, fmt::format("{} must be true or false", enabled), "");
  if (!is_true(enabled)) {
    for (const std::string& path : {enabled, paths[0], paths[1]}) pass(path, "off");
    return;
  }
  for (const std::string& path : paths) {
    if (find(path) != nullptr && !find(path)->value.is(Kind::text))
      return refuse(path, fmt::format("{} must be a string", path), "");
  }
  const std::string_view output = text_of(find(paths[0])), job = text_of(find(paths[1]));
  if (output.empty() && job.empty()) return set(key, true, enabled);
  const std::string_view slash = output.empty() || output.ends_with('/') ? "" : "/";
  set(key, fmt::format("{}{}{}", output, slash, job.empty() ? kDefaultJob : job), enabled);
}

}  // namespace ds
