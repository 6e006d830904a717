// The field list of each message, in the order on the channel, with a writer and a reader for them.
// Pure.
//
// The version of the protocol is a hash of these lists (description.h). Change the name of a field
// when its meaning changes: an older dslaunch then cannot take it for what it was.
#pragma once

#include <string_view>
#include <type_traits>

#include "launcher/wire/frame.h"

namespace ds::launcher {

// Parts of messages. Each list serves the writer, the reader and the description.
template <class A>
void fields(A& a, RankSpec& m) {
  a("rank", m.rank), a("local_rank", m.local_rank), a("program", m.program), a("env", m.env),
      a("sent", m.sent), a("has_stdin", m.has_stdin), a("log_file", m.log_file);
  a("device", m.device);
}
template <class A>
void fields(A& a, NodeAddress& m) {
  a("address", m.address), a("interface", m.interface), a("prefix", m.prefix);
}
template <class A>
void fields(A& a, ProgramSpec& m) {
  a("argv", m.argv), a("env", m.env), a("cwd", m.cwd), a("at_home", m.at_home),
      a("login_shell", m.login_shell);
}
template <class A>
void fields(A& a, ResourceLimit& m) {
  a("name", m.name), a("soft", m.soft);
}
template <class A>
void fields(A& a, OutputSpec& m) {
  a("spool_bytes", m.spool_bytes), a("drop", m.drop), a("stamped", m.stamped), a("pty", m.pty),
      a("rows", m.rows), a("columns", m.columns);
}
template <class A>
void fields(A& a, Probed::Result& m) {
  a("index", m.index), a("problem", m.problem);
}
// The largest value of each enumeration that travels.
constexpr Exited::Stage last_value(Exited::Stage /*any*/) { return Exited::Stage::bind; }
constexpr Bind last_value(Bind /*any*/) { return Bind::cores; }
constexpr Isolate last_value(Isolate /*any*/) { return Isolate::required; }

template <class T>
concept HasFields = requires(T& part, int& visitor) {
  fields(visitor, part);
};

/// Appends fields to a buffer, integers in little endian, texts and lists after a 32-bit length.
class FieldWriter {
 public:
  explicit FieldWriter(Bytes& out) : out_(out) {}

  /// Named fields are those of a field list; the name does not travel.
  template <class T>
  void operator()(std::string_view /*name*/, T& field) {
    (*this)(field);
  }

  template <class T>
  requires std::is_integral_v<T>
  void operator()(T value) {
    auto bits =
        static_cast<std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, char, T>>>(
            value);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      out_.push_back(static_cast<std::byte>(bits & 0xFFU));
      bits = static_cast<decltype(bits)>(bits >> 4 >> 4);  // Twice: shifting a byte by 8 overflows.
    }
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
  template <class T>
  requires HasFields<T>
  void operator()(T& part) { fields(*this, part); }
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
  template <class T>
  void operator()(std::string_view /*name*/, T& field) {
    (*this)(field);
  }

  template <class T>
  requires std::is_integral_v<T>
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
  template <class T>
  requires HasFields<T>
  void operator()(T& part) { fields(*this, part); }
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

// Messages.
template <class A>
void fields(A& a, Spec& m) {
  a("node_rank", m.node_rank), a("nodes", m.nodes), a("programs", m.programs), a("env", m.env),
      a("inherit_env", m.inherit_env), a("umask", m.umask);
  a("grace_ms", m.grace_ms), a("node_timeout_ms", m.node_timeout_ms), a("ranks", m.ranks),
      a("hold_port", m.hold_port), a("job_cookie", m.job_cookie);
  a("keep_agent", m.keep_agent), a("isolate", m.isolate), a("limits", m.limits),
      a("output", m.output);
  a("port", m.port), a("door_question", m.door_question), a("door_answer", m.door_answer);
  a("bind", m.bind), a("tell_binding", m.tell_binding), a("leave", m.leave);
}
template <class A>
void fields(A& a, Go& m) {
  a("env", m.env);
}
template <class A>
void fields(A& a, Signal& m) {
  a("signo", m.signo), a("rank", m.rank);
}
template <class A>
void fields(A&, Kill&) {}
template <class A>
void fields(A& a, Stop& m) {
  a("grace_ms", m.grace_ms);
}
template <class A>
void fields(A&, Suspend&) {}
template <class A>
void fields(A&, Resume&) {}
template <class A>
void fields(A& a, Heartbeat& m) {
  a("sent", m.sent), a("heard", m.heard), a("held", m.held);
}
template <class A>
void fields(A& a, Credit& m) {
  a("bytes", m.bytes), a("discard", m.discard);
}
template <class A>
void fields(A& a, Stdin& m) {
  a("rank", m.rank), a("last", m.last), a("bytes", m.bytes);
}
template <class A>
void fields(A& a, Window& m) {
  a("rows", m.rows), a("columns", m.columns);
}
template <class A>
void fields(A& a, Watch& m) {
  a("rank", m.rank), a("sent", m.sent);
}
template <class A>
void fields(A& a, Sweep& m) {
  a("job_cookie", m.job_cookie);
}
template <class A>
void fields(A& a, Probe& m) {
  a("search", m.search), a("addresses", m.addresses), a("port", m.port), a("question", m.question),
      a("answer", m.answer), a("limit_ms", m.limit_ms);
}
template <class A>
void fields(A& a, Hello& m) {
  a("version", m.version), a("build", m.build), a("pid", m.pid), a("hostname", m.hostname),
      a("cores", m.cores), a("quota_milli", m.quota_milli), a("addresses", m.addresses);
  a("network", m.network), a("devices", m.devices), a("devices_limited", m.devices_limited);
  a("clock", m.clock);
}
template <class A>
void fields(A& a, Ready& m) {
  a("port", m.port);
}
template <class A>
void fields(A& a, Started& m) {
  a("rank", m.rank), a("pid", m.pid);
}
template <class A>
void fields(A& a, Output& m) {
  a("rank", m.rank), a("stream", m.stream), a("flags", m.flags), a("time", m.time),
      a("bytes", m.bytes);
}
template <class A>
void fields(A& a, Exited& m) {
  a("rank", m.rank), a("wait_status", m.wait_status), a("stage", m.stage),
      a("spawn_errno", m.spawn_errno), a("detail", m.detail);
  a("time", m.time);
}
template <class A>
void fields(A& a, Problem& m) {
  a("text", m.text);
}
template <class A>
void fields(A& a, Bye& m) {
  a("killed", m.killed);
}
template <class A>
void fields(A&, Cleared&) {}
template <class A>
void fields(A& a, Swept& m) {
  a("killed", m.killed);
}
template <class A>
void fields(A& a, ErrorFile& m) {
  a("rank", m.rank), a("text", m.text);
}
template <class A>
void fields(A& a, Probed& m) {
  a("search", m.search), a("results", m.results);
}

}  // namespace ds::launcher
