// Conversion between facts and JSON; one list of fields serves both directions.
#include "launcher/doctor/facts_json.h"

#include <algorithm>
#include <utility>

namespace ds::launcher::doctor {
namespace {

/// Writes fields into an object.
class Writer {
 public:
  template <class T>
  void operator()(const char* name, const T& value) {
    json[name] = value;
  }
  template <class T>
  void list(const char* name, const std::vector<T>& items) {
    Json array = Json::array();
    for (const T& item : items) {
      Writer writer;
      fields(writer, const_cast<T&>(item));
      array.push_back(std::move(writer.json));
    }
    json[name] = std::move(array);
  }
  template <class T>
  void part(const char* name, const T& value) {
    Writer writer;
    fields(writer, const_cast<T&>(value));
    json[name] = std::move(writer.json);
  }
  Json json = Json::object();
};

/// Reads the fields that exist and have the right type.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}
  template <class T>
  void operator()(const char* name, T& value) {
    if (const Json* found = find(name)) take(*found, value);
  }
  template <class T>
  void list(const char* name, std::vector<T>& items) {
    const Json* found = find(name);
    if (found == nullptr || !found->is_array()) return;
    for (const Json& item : *found) {
      Reader reader(item);
      fields(reader, items.emplace_back());
    }
  }
  template <class T>
  void part(const char* name, T& value) {
    if (const Json* found = find(name)) {
      Reader reader(*found);
      fields(reader, value);
    }
  }

 private:
  [[nodiscard]] const Json* find(const char* name) const {
    if (!json_.is_object()) return nullptr;
    const auto found = json_.find(name);
    return found == json_.end() ? nullptr : &*found;
  }
  static void take(const Json& json, bool& value) {
    if (json.is_boolean()) value = json.get<bool>();
  }
  static void take(const Json& json, std::string& value) {
    if (json.is_string()) value = json.get<std::string>();
  }
  static void take(const Json& json, std::vector<std::string>& values) {
    if (!json.is_array()) return;
    for (const Json& item : json) take(item, values.emplace_back());
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  static void take(const Json& json, T& value) {
    if (json.is_number()) value = json.get<T>();
  }

  const Json& json_;
};

template <class A>
void fields(A& a, Gpu& g) {
  a("index", g.index), a("name", g.name), a("uuid", g.uuid), a("memory_mib", g.memory_mib);
}
template <class A>
void fields(A& a, GpuProcess& p) {
  a("gpu", p.gpu), a("pid", p.pid), a("memory_mib", p.memory_mib), a("name", p.name);
  a("user", p.user);
}
template <class A>
void fields(A& a, Limit& l) {
  a("soft", l.soft), a("hard", l.hard);
}
template <class A>
void fields(A& a, Folder& f) {
  a("path", f.path), a("problem", f.problem), a("is_folder", f.is_folder);
  a("writable", f.writable), a("bytes", f.bytes), a("free_bytes", f.free_bytes);
}
template <class A>
void fields(A& a, Interface& i) {
  a("name", i.name), a("address", i.address);
}
template <class A>
void fields(A& a, RunnerCheck& c) {
  a("code", c.code), a("words", c.words);
}
template <class A>
void base_fields(A& a, Facts& f) {
  a("version", f.version), a("build", f.build), a("host_name", f.host_name);
  a("kernel", f.kernel), a("os", f.os), a("machine", f.machine), a("cpu", f.cpu);
  a("boot_id", f.boot_id), a("clock_ms", f.clock_ms), a("cores", f.cores);
  a("quota_milli", f.quota_milli), a("load", f.load), a("memory_bytes", f.memory_bytes);
  a("memory_free", f.memory_free), a("memory_limit", f.memory_limit);
  a("shm_bytes", f.shm_bytes), a("shm_free", f.shm_free);
  a.part("open_files", f.open_files), a.part("locked_memory", f.locked_memory);
  a("infiniband", f.infiniband), a.list("interfaces", f.interfaces);
  a("gpu_files", f.gpu_files), a("driver", f.driver);
}
template <class A>
void gpu_fields(A& a, Facts& f) {
  a.list("gpus", f.gpus), a.list("gpu_processes", f.gpu_processes);
  a("gpu_problem", f.gpu_problem);
}

Facts& unconst(const Facts& facts) { return const_cast<Facts&>(facts); }  // the Writer only reads

std::string line(const Json& json) { return text_of(json) + "\n"; }

void take_fact(std::string_view text, Facts& facts) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return;
  Reader reader(json);
  base_fields(reader, facts);
  gpu_fields(reader, facts);
  reader("doing", facts.doing);
  reader("complete", facts.complete);
  if (json.contains("folder")) reader.part("folder", facts.folders.emplace_back());
  if (json.contains("check")) reader.part("check", facts.check.emplace());
}

}  // namespace

Json to_json(const Facts& facts) {
  Writer writer;
  base_fields(writer, unconst(facts));
  gpu_fields(writer, unconst(facts));
  writer.list("folders", facts.folders);
  if (facts.check) writer.part("check", *facts.check);
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
  Writer writer;
  writer.part("folder", folder);
  return line(writer.json);
}

std::string check_line(const RunnerCheck& check) {
  Writer writer;
  writer.part("check", check);
  return line(writer.json);
}

std::string last_line() { return line({{"complete", true}}); }

Facts parse_facts(std::string_view lines) {
  Facts facts;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    take_fact(lines.substr(0, end), facts);
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  return facts;
}

}  // namespace ds::launcher::doctor
