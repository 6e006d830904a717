// open_parquet(): opens the library once.
#include "engine/packing/parquet_file.h"

#include "engine/library/open_library.h"

namespace ds {
namespace {

ParquetPlugin open_parquet_plugin() {
  const OpenedLibrary library = open_library(
      {.name = "the reader of Parquet (libdsengine_parquet.so)",
       .files = {"libdsengine_parquet.so"},
       .variable = "DSLAUNCH_PARQUET_PLUGIN",
       .entry = "dsengine_parquet",
       .hint = "run scripts/install_packages.sh parquet, which fetches Apache Arrow, and build and "
               "install again; or write the data as lines of JSON (data.format = \"jsonl\")"});
  const ParquetPlugin plugin = *reinterpret_cast<const ParquetPlugin* (*)()>(library.entry)();
  require_same_build(library.path, plugin.build);
  return plugin;
}

}  // namespace

std::unique_ptr<ParquetFile> open_parquet(const std::string& path, const ParquetColumns& columns) {
  static const ParquetPlugin plugin = open_parquet_plugin();  // after a throw, the next call tries
  return plugin.open(path, columns);
}

}  // namespace ds
