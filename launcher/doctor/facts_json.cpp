// Conversion between facts and JSON; one list of fields serves both directions.
#include "launcher/doctor/facts_json.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "engine/base/split.h"

namespace ds::launcher::doctor {
namespace {

/// Writes fields into an object.
struct Writer {
  template <class T>
  void operator()(const char* name, const T& value) {
    json[name] = written(value);
  }
  template <class T>
  static Json written(const T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      Writer writer;
      fields(writer, const_cast<T&>(value));  // it only reads
      return std::move(writer.json);
    }
  }
  template <class T>
  static Json written(const std::vector<T>& items) {
    Json array = Json::array();
    for (const T& item : items) array.push_back(written(item));
    return array;
  }
  Json json = Json::object();
};

/// Reads the fields that exist and have the right type.
struct Reader {
  template <class T>
  void operator()(const char* name, T& value) {
    if (json.is_object() && json.contains(name)) take(json[name], value);
  }
  template <class T>
  static void take(const Json& json, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (json.is_boolean()) value = json.get<bool>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (json.is_string()) value = json.get<std::string>();
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (json.is_number()) value = json.get<T>();
    } else {
      Reader reader{json};
      fields(reader, value);
    }
  }
  template <class T>
  static void take(const Json& json, std::vector<T>& items) {
    if (!json.is_array()) return;
    for (const Json& item : json) take(item, items.emplace_back());
  }
  const Json& json;
};

void fields(auto& a, Gpu& g) {
  a("index", g.index), a("name", g.name), a("uuid", g.uuid), a("memory_mib", g.memory_mib);
}
void fields(auto& a, GpuProcess& p) {
  a("gpu", p.gpu), a("pid", p.pid), a("memory_mib", p.memory_mib), a("name", p.name);
  a("user", p.user);
}
void fields(auto& a, Limit& l) { a("soft", l.soft), a("hard", l.hard); }
void fields(auto& a, Folder& f) {
  a("path", f.path), a("problem", f.problem), a("is_folder", f.is_folder);
  a("writable", f.writable), a("bytes", f.bytes), a("free_bytes", f.free_bytes);
}
void fields(auto& a, Interface& i) { a("name", i.name), a("address", i.address); }
void fields(auto& a, RunnerCheck& c) { a("code", c.code), a("words", c.words); }
void base_fields(auto& a, Facts& f) {
  a("version", f.version), a("build", f.build), a("host_name", f.host_name);
  a("kernel", f.kernel), a("os", f.os), a("machine", f.machine), a("cpu", f.cpu);
  a("boot_id", f.boot_id), a("clock_ms", f.clock_ms), a("cores", f.cores);
  a("quota_milli", f.quota_milli), a("load", f.load), a("memory_bytes", f.memory_bytes);
  a("memory_free", f.memory_free), a("memory_limit", f.memory_limit);
  a("shm_bytes", f.shm_bytes), a("shm_free", f.shm_free);
  a("open_files", f.open_files), a("locked_memory", f.locked_memory);
  a("infiniband", f.infiniband), a("interfaces", f.interfaces);
  a("gpu_files", f.gpu_files), a("driver", f.driver);
}
void gpu_fields(auto& a, Facts& f) {
  a("gpus", f.gpus), a("gpu_processes", f.gpu_processes);
  a("gpu_problem", f.gpu_problem);
}

Facts& unconst(const Facts& facts) { return const_cast<Facts&>(facts); }  // the Writer only reads

std::string line(const Json& json) { return text_of(json) + "\n"; }

void take_fact(std::string_view text, Facts& facts) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return;
  Reader reader{json};
  base_fields(reader, facts);
  gpu_fields(reader, facts);
  reader("doing", facts.doing);
  reader("complete", facts.complete);
  if (json.contains("folder")) reader("folder", facts.folders.emplace_back());
  if (json.contains("check")) reader("check", facts.check.emplace());
}

}  // namespace

Json to_json(const Facts& facts) {
  Writer writer;
  base_fields(writer, unconst(facts));
  gpu_fields(writer, unconst(facts));
  writer("folders", facts.folders);
  if (facts.check) writer("check", *facts.check);
  return std::move(writer.json);
}

std::string text_of(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

int gpu_count(const Facts& facts) {
  return std::max(facts.gpu_files, static_cast<int>(facts.gpus.size()));
}

std::string first_line(const Facts& facts) {
  Writer writer;
  base_fields(writer, unconst(facts));
  return line(writer.json);
}

std::string doing_line(const std::string& what) { return line({{"doing", what}}); }

std::string gpu_line(const Facts& facts) {
  Writer writer;
  gpu_fields(writer, unconst(facts));
  return line(writer.json);
}

std::string folder_line(const Folder& folder) {
  return line({{"folder", Writer::written(folder)}});
}
std::string check_line(const RunnerCheck& check) {
  return line({{"check", Writer::written(check)}});
}
std::string last_line() { return line({{"complete", true}}); }

Facts parse_facts(std::string_view lines) {
  Facts facts;
  while (!lines.empty()) take_fact(take_line(lines), facts);
  return facts;
}

}  // namespace ds::launcher::doctor
