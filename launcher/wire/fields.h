// The field list of each message, in the order on the channel, and the visitors of these lists:
// writer, reader, and text of the protocol. Pure.
//
// The version of the protocol is a hash of these lists. Change the name of a field when its meaning
// changes: an older dslaunch then cannot take it for what it was.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "launcher/wire/frame.h"

namespace ds::launcher {

// Parts of messages. Each list serves the writer, the reader and the description.
void fields(auto& a, RankSpec& m) {
  a("rank", m.rank), a("local_rank", m.local_rank), a("program", m.program), a("env", m.env),
      a("sent", m.sent), a("has_stdin", m.has_stdin), a("log_file", m.log_file);
  a("device", m.device);
}
void fields(auto& a, NodeAddress& m) {
  a("address", m.address), a("interface", m.interface), a("prefix", m.prefix);
}
void fields(auto& a, ProgramSpec& m) {
  a("argv", m.argv), a("env", m.env), a("cwd", m.cwd), a("at_home", m.at_home),
      a("login_shell", m.login_shell), a("rank_channel", m.rank_channel);
}
void fields(auto& a, ResourceLimit& m) { a("name", m.name), a("soft", m.soft); }
void fields(auto& a, OutputSpec& m) {
  a("spool_bytes", m.spool_bytes), a("drop", m.drop), a("stamped", m.stamped), a("pty", m.pty),
      a("rows", m.rows), a("columns", m.columns);
}
void fields(auto& a, MpiSpec& m) {
  a("wire", m.wire), a("size", m.size), a("process_mapping", m.process_mapping);
  a("space", m.space), a("nodes", m.nodes), a("apps", m.apps), a("cpusets", m.cpusets);
}
void fields(auto& a, MpiNode& m) { a("name", m.name), a("ranks", m.ranks); }
void fields(auto& a, MpiApp& m) { a("first_rank", m.first_rank), a("size", m.size); }
void fields(auto& a, PmixReady::Rank& m) { a("env", m.env); }
void fields(auto& a, LevelBinding& m) {
  a("map", m.map), a("to", m.to), a("width", m.width), a("per_part", m.per_part), a("fill", m.fill);
}
void fields(auto& a, RankNews::Phase& m) { a("name", m.name), a("time", m.time); }
void fields(auto& a, Probed::Result& m) { a("index", m.index), a("problem", m.problem); }

// Messages.
void fields(auto& a, Spec& m) {
  a("node_rank", m.node_rank), a("nodes", m.nodes), a("programs", m.programs), a("env", m.env),
      a("inherit_env", m.inherit_env), a("umask", m.umask);
  a("grace_ms", m.grace_ms), a("node_timeout_ms", m.node_timeout_ms), a("ranks", m.ranks),
      a("hold_port", m.hold_port), a("job_cookie", m.job_cookie);
  a("keep_agent", m.keep_agent), a("isolate", m.isolate), a("limits", m.limits),
      a("output", m.output);
  a("port", m.port), a("door_question", m.door_question), a("door_answer", m.door_answer);
  a("bind", m.bind), a("tell_binding", m.tell_binding), a("leave", m.leave);
  a("mpi", m.mpi), a("level", m.level);
}
void fields(auto& a, Go& m) { a("env", m.env), a("suspended", m.suspended); }
void fields(auto& a, Signal& m) { a("signo", m.signo), a("rank", m.rank); }
void fields(auto&, Kill&) {}
void fields(auto& a, Stop& m) { a("grace_ms", m.grace_ms); }
void fields(auto&, Suspend&) {}
void fields(auto&, Resume&) {}
void fields(auto& a, Heartbeat& m) { a("sent", m.sent), a("heard", m.heard), a("held", m.held); }
void fields(auto& a, Credit& m) { a("bytes", m.bytes), a("discard", m.discard); }
void fields(auto& a, Stdin& m) { a("rank", m.rank), a("last", m.last), a("bytes", m.bytes); }
void fields(auto& a, Window& m) { a("rows", m.rows), a("columns", m.columns); }
void fields(auto& a, Watch& m) { a("rank", m.rank), a("sent", m.sent); }
void fields(auto& a, Sweep& m) { a("job_cookie", m.job_cookie), a("lost", m.lost); }
void fields(auto& a, Probe& m) {
  a("search", m.search), a("addresses", m.addresses), a("port", m.port), a("question", m.question),
      a("answer", m.answer), a("limit_ms", m.limit_ms);
}
void fields(auto& a, Hello& m) {
  a("version", m.version), a("build", m.build), a("pid", m.pid), a("hostname", m.hostname),
      a("cores", m.cores), a("quota_milli", m.quota_milli), a("addresses", m.addresses);
  a("network", m.network), a("devices", m.devices), a("devices_limited", m.devices_limited);
  a("clock", m.clock), a("sockets", m.sockets), a("numa_nodes", m.numa_nodes),
      a("core_threads", m.core_threads);
}
void fields(auto& a, Ready& m) { a("port", m.port); }
void fields(auto& a, Started& m) { a("rank", m.rank), a("pid", m.pid); }
void fields(auto& a, Output& m) {
  a("rank", m.rank), a("stream", m.stream), a("flags", m.flags), a("time", m.time),
      a("bytes", m.bytes);
}
void fields(auto& a, Exited& m) {
  a("rank", m.rank), a("wait_status", m.wait_status), a("stage", m.stage),
      a("spawn_errno", m.spawn_errno), a("detail", m.detail);
  a("time", m.time);
}
void fields(auto& a, Problem& m) { a("text", m.text); }
void fields(auto& a, Bye& m) { a("killed", m.killed); }
void fields(auto&, Cleared&) {}
void fields(auto& a, Swept& m) { a("killed", m.killed); }
void fields(auto& a, ErrorFile& m) { a("rank", m.rank), a("text", m.text); }
void fields(auto& a, Probed& m) { a("search", m.search), a("results", m.results); }
void fields(auto& a, FenceOut& m) {
  a("name", m.name), a("last", m.last), a("number", m.number), a("data", m.data);
}
void fields(auto& a, FenceIn& m) {
  a("name", m.name), a("ranks", m.ranks), a("last", m.last), a("data", m.data);
}
void fields(auto& a, FenceWaits& m) { a("missing", m.missing); }
void fields(auto& a, MpiFailed& m) {
  a("rank", m.rank), a("code", m.code), a("text", m.text), a("time", m.time);
}
void fields(auto& a, MpiInit& m) { a("rank", m.rank), a("wire", m.wire); }
void fields(auto& a, OrderRank& m) { a("rank", m.rank), a("order", m.order); }
void fields(auto& a, Check& m) {
  a("spec", m.spec), a("runs", m.runs), a("limit_ms", m.limit_ms);
}
void fields(auto& a, Checked& m) {
  a("end", m.end), a("output", m.output), a("errors", m.errors);
}
void fields(auto& a, RankNews& m) {
  a("rank", m.rank), a("step", m.step), a("steps", m.steps), a("micros", m.micros);
  a("kept", m.kept), a("phases", m.phases), a("checkpoints", m.checkpoints), a("facts", m.facts);
}

void fields(auto& a, ModexAsk& m) { a("rank", m.rank), a("node", m.node), a("id", m.id); }
void fields(auto& a, ModexAnswer& m) {
  a("node", m.node), a("id", m.id), a("status", m.status), a("data", m.data);
}
void fields(auto& a, NameAsk& m) {
  a("rank", m.rank), a("id", m.id), a("kind", m.kind), a("wanted", m.wanted), a("once", m.once);
  a("names", m.names);
}
void fields(auto& a, NameAnswer::Found& m) {
  a("name", m.name), a("value", m.value), a("rank", m.rank);
}
void fields(auto& a, NameAnswer& m) {
  a("rank", m.rank), a("id", m.id), a("status", m.status), a("found", m.found);
}
void fields(auto& a, PmixNotice& m) { a("data", m.data); }
void fields(auto& a, PmixReady& m) { a("ranks", m.ranks); }
void fields(auto& a, PmixRank& m) { a("rank", m.rank), a("step", m.step); }
void fields(auto& a, PmixLine& m) { a("rank", m.rank), a("text", m.text); }

// The largest value of each enumeration that travels.
constexpr Exited::Stage last_value(Exited::Stage /*any*/) { return Exited::Stage::hold; }
constexpr Bind last_value(Bind /*any*/) { return Bind::level; }
constexpr Level last_value(Level /*any*/) { return Level::hwthread; }
constexpr Isolate last_value(Isolate /*any*/) { return Isolate::required; }
constexpr MpiWire last_value(MpiWire /*any*/) { return MpiWire::any; }
constexpr OrderRank::Order last_value(OrderRank::Order /*any*/) { return OrderRank::Order::pause; }
constexpr NameAsk::Kind last_value(NameAsk::Kind /*any*/) { return NameAsk::Kind::cancel; }
constexpr NameAnswer::Status last_value(NameAnswer::Status /*any*/) {
  return NameAnswer::Status::full;
}
constexpr PmixRank::Step last_value(PmixRank::Step /*any*/) { return PmixRank::Step::ended; }

template <class T>
concept HasFields = requires(T& part, int& visitor) {
  fields(visitor, part);
};

/// Appends fields to a buffer, integers in little endian, texts and lists after a 32-bit length.
class FieldWriter {
 public:
  explicit FieldWriter(Bytes& out) : out_(out) {}

  /// Named fields are those of a field list; the name does not travel.
  void operator()(std::string_view /*name*/, auto& field) { (*this)(field); }

  template <std::integral T>
  void operator()(T value) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i)
      out_.push_back(static_cast<std::byte>(bits >> 8 * i));
  }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(T value) { (*this)(static_cast<std::uint8_t>(value)); }
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint32_t>(text.size()));
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    out_.insert(out_.end(), from, from + text.size());
  }
  /// Writes bytes without a length: they are the rest of the frame.
  void operator()(std::span<const std::byte> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  void operator()(const std::pair<std::string, std::string>& pair) {
    (*this)(pair.first), (*this)(pair.second);
  }
  template <HasFields T>
  void operator()(T& part) {
    fields(*this, part);
  }
  template <class T>
  void operator()(std::vector<T>& list) {
    (*this)(static_cast<std::uint32_t>(list.size()));
    for (T& item : list) (*this)(item);
  }

 private:
  Bytes& out_;
};

/// Reads fields from bytes. After the first field that does not fit, later ones keep their values.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> in) : in_(in) {}

  /// Named fields are those of a field list; the name does not travel.
  void operator()(std::string_view /*name*/, auto& field) { (*this)(field); }

  template <std::integral T>
  void operator()(T& value) {
    const std::span<const std::byte> bytes = take(sizeof(T));
    if (bytes.empty()) return;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      bits |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
    if (std::is_same_v<T, bool> && bits > 1) good_ = false;
    value = static_cast<T>(bits);
  }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(T& value) {
    std::uint8_t number = 0;
    (*this)(number);
    good_ = good_ && number <= static_cast<std::uint8_t>(last_value(value));
    if (good_) value = static_cast<T>(number);
  }
  void operator()(std::string& text) {
    std::uint32_t size = 0;
    (*this)(size);
    const std::span<const std::byte> bytes = take(size);
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void operator()(std::span<const std::byte>& bytes) { bytes = take(in_.size()); }
  void operator()(std::pair<std::string, std::string>& pair) {
    (*this)(pair.first), (*this)(pair.second);
  }
  template <HasFields T>
  void operator()(T& part) {
    fields(*this, part);
  }
  template <class T>
  void operator()(std::vector<T>& list) {
    std::uint32_t size = 0;
    (*this)(size);
    // Every item takes at least 4 bytes, so a false count cannot cause a large allocation.
    if (size > in_.size() / sizeof(std::uint32_t)) good_ = false;
    for (std::uint32_t i = 0; good_ && i < size; ++i) (*this)(list.emplace_back());
  }

  /// Returns true if all fields were read and no byte is left.
  [[nodiscard]] bool complete() const { return good_ && in_.empty(); }
  /// Returns true if all fields so far were read.
  [[nodiscard]] bool good() const { return good_; }

 private:
  std::span<const std::byte> take(std::size_t size) {
    good_ = good_ && size <= in_.size();
    if (!good_) return {};
    const std::span<const std::byte> taken = in_.first(size);
    in_ = in_.subspan(size);
    return taken;
  }

  std::span<const std::byte> in_;
  bool good_ = true;
};

/// Visits a field list and writes types and names as docs/protocol.md has them:
/// "u16 port, list of text addresses".
class FieldLister {
 public:
  explicit FieldLister(std::string& out) : out_(out) {}

  template <class T>
  void operator()(std::string_view name, T& field) {
    if (!out_.empty() && out_.back() != '{') out_ += ", ";
    const std::size_t at = out_.size();
    write_type(field);
    // "bytes" and "env" are types that fields are named after.
    if (std::string_view(out_).substr(at) != name) (out_ += ' ') += name;
  }

 private:
  template <class T>
  void write_type(T& field) {
    if constexpr (std::is_same_v<T, bool>) {
      out_ += "bool";
    } else if constexpr (std::is_enum_v<T>) {
      out_ += "u8 up to " + std::to_string(static_cast<int>(last_value(field)));
    } else if constexpr (std::is_integral_v<T>) {
      (out_ += std::is_signed_v<T> ? 'i' : 'u') += std::to_string(8 * sizeof(T));
    } else if constexpr (std::is_same_v<T, std::string>) {
      out_ += "text";
    } else if constexpr (std::is_same_v<T, EnvList>) {
      out_ += "env";
    } else if constexpr (std::is_same_v<T, std::span<const std::byte>>) {
      out_ += "bytes";
    } else if constexpr (HasFields<T>) {
      std::string inside = "{";
      FieldLister lister(inside);
      fields(lister, field);
      out_ += inside + '}';
    } else {
      typename T::value_type item{};
      out_ += "list of ";
      write_type(item);
    }
  }

  std::string& out_;
};

/// Returns the fields of a message in one line; empty if it has none.
template <class Message>
std::string field_list() {
  std::string text;
  FieldLister lister(text);
  Message message{};
  fields(lister, message);
  return text;
}

/// Returns a line "TYPE NAME: FIELDS" for each message, in the order of docs/protocol.md.
std::string describe_frames();

/// Returns the version that belongs to a description: 32 bits of FNV-1a.
std::uint32_t version_of(std::string_view description);

}  // namespace ds::launcher
