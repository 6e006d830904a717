// The fields of each message in their order on the channel, and the two ways to walk them. Pure.
#pragma once

#include <cstring>
#include <type_traits>

#include "launcher/wire/frame.h"

namespace ds::launcher {

// What stands inside messages; one list each, used for writing and reading.
template <class A>
void fields(A& a, RankSpec& m) {
  a(m.rank), a(m.local_rank), a(m.program), a(m.env), a(m.sent), a(m.has_stdin), a(m.log_file);
  a(m.device);
}
template <class A>
void fields(A& a, NodeAddress& m) {
  a(m.address), a(m.interface), a(m.prefix);
}
template <class A>
void fields(A& a, ProgramSpec& m) {
  a(m.argv), a(m.env), a(m.cwd), a(m.at_home), a(m.login_shell);
}
template <class A>
void fields(A& a, ResourceLimit& m) {
  a(m.name), a(m.soft);
}
template <class A>
void fields(A& a, OutputSpec& m) {
  a(m.spool_bytes), a(m.drop), a(m.stamped), a(m.pty), a(m.rows), a(m.columns);
}
template <class A>
void fields(A& a, Probed::Result& m) {
  a(m.index), a(m.problem);
}
template <class T>
concept HasFields = requires(T& part, int& visitor) {
  fields(visitor, part);
};

/// Appends fields, little endian; texts and lists go behind a 32-bit length.
class FieldWriter {
 public:
  explicit FieldWriter(Bytes& out) : out_(out) {}

  template <class T>
  requires std::is_integral_v<T>
  void operator()(T value) {
    auto bits =
        static_cast<std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, char, T>>>(
            value);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      out_.push_back(static_cast<std::byte>(bits & 0xFFU));
      bits = static_cast<decltype(bits)>(bits >> 4 >> 4);  // In two steps: 8 is too far for a byte.
    }
  }
  void operator()(Exited::Stage stage) { (*this)(static_cast<std::uint8_t>(stage)); }
  void operator()(Isolate isolate) { (*this)(static_cast<std::uint8_t>(isolate)); }
  void operator()(Bind bind) { (*this)(static_cast<std::uint8_t>(bind)); }
  void operator()(const std::string& text) {
    (*this)(static_cast<std::uint32_t>(text.size()));
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    out_.insert(out_.end(), from, from + text.size());
  }
  /// The rest of the frame.
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

/// Reads fields back. After the first that does not fit, all further ones stay as they are.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> in) : in_(in) {}

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
  void operator()(Exited::Stage& stage) { read_enum(stage, Exited::Stage::bind); }
  void operator()(Bind& bind) { read_enum(bind, Bind::cores); }
  void operator()(Isolate& isolate) { read_enum(isolate, Isolate::required); }
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
    // Every item takes at least its length: a lying count cannot make us allocate.
    if (size > in_.size() / sizeof(std::uint32_t)) good_ = false;
    for (std::uint32_t i = 0; good_ && i < size; ++i) (*this)(list.emplace_back());
  }

  /// All fields were there, and nothing else.
  [[nodiscard]] bool complete() const { return good_ && in_.empty(); }

 private:
  template <class Enum>
  void read_enum(Enum& value, Enum last) {
    std::uint8_t number = 0;
    (*this)(number);
    good_ = good_ && number <= static_cast<std::uint8_t>(last);
    if (good_) value = static_cast<Enum>(number);
  }

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

// One list per message, used for writing and reading.
template <class A>
void fields(A& a, Spec& m) {
  a(m.node_rank), a(m.nodes), a(m.programs), a(m.env), a(m.inherit_env), a(m.umask);
  a(m.grace_ms), a(m.node_timeout_ms), a(m.ranks), a(m.hold_port), a(m.job_cookie);
  a(m.keep_agent), a(m.isolate), a(m.limits), a(m.output);
  a(m.port), a(m.door_question), a(m.door_answer);
  a(m.bind), a(m.tell_binding);
}
template <class A>
void fields(A& a, Go& m) {
  a(m.env);
}
template <class A>
void fields(A& a, Signal& m) {
  a(m.signo), a(m.rank);
}
template <class A>
void fields(A&, Kill&) {}
template <class A>
void fields(A& a, Stop& m) {
  a(m.grace_ms);
}
template <class A>
void fields(A&, Suspend&) {}
template <class A>
void fields(A&, Resume&) {}
template <class A>
void fields(A& a, Heartbeat& m) {
  a(m.sent), a(m.heard), a(m.held);
}
template <class A>
void fields(A& a, Credit& m) {
  a(m.bytes), a(m.discard);
}
template <class A>
void fields(A& a, Stdin& m) {
  a(m.rank), a(m.last), a(m.bytes);
}
template <class A>
void fields(A& a, Window& m) {
  a(m.rows), a(m.columns);
}
template <class A>
void fields(A& a, Watch& m) {
  a(m.rank), a(m.sent);
}
template <class A>
void fields(A& a, Sweep& m) {
  a(m.job_cookie);
}
template <class A>
void fields(A& a, Probe& m) {
  a(m.search), a(m.addresses), a(m.port), a(m.question), a(m.answer), a(m.limit_ms);
}
template <class A>
void fields(A& a, Hello& m) {
  a(m.version), a(m.build), a(m.pid), a(m.hostname), a(m.cores), a(m.quota_milli), a(m.addresses);
  a(m.network), a(m.devices), a(m.devices_limited);
  a(m.clock);
}
template <class A>
void fields(A& a, Ready& m) {
  a(m.port);
}
template <class A>
void fields(A& a, Started& m) {
  a(m.rank), a(m.pid);
}
template <class A>
void fields(A& a, Output& m) {
  a(m.rank), a(m.stream), a(m.flags), a(m.time), a(m.bytes);
}
template <class A>
void fields(A& a, Exited& m) {
  a(m.rank), a(m.wait_status), a(m.stage), a(m.spawn_errno), a(m.detail);
  a(m.time);
}
template <class A>
void fields(A& a, Problem& m) {
  a(m.text);
}
template <class A>
void fields(A&, Bye&) {}
template <class A>
void fields(A&, Cleared&) {}
template <class A>
void fields(A& a, Swept& m) {
  a(m.killed);
}
template <class A>
void fields(A& a, ErrorFile& m) {
  a(m.rank), a(m.text);
}
template <class A>
void fields(A& a, Probed& m) {
  a(m.search), a(m.results);
}

}  // namespace ds::launcher
