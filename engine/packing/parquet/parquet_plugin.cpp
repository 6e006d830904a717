// Entry point of libdsengine_parquet.so.
#include "engine/library/build_tag.h"
#include "engine/packing/parquet/arrow_file.h"

namespace {

std::unique_ptr<ds::ParquetFile> open_file(const std::string& path,
                                           const ds::ParquetColumns& columns) {
  return std::make_unique<ds::ArrowFile>(path, columns);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const ds::ParquetPlugin* dsengine_parquet() {
  static const ds::ParquetPlugin plugin{.build = ds::build_tag(), .open = open_file};
  return &plugin;
}
