// The libssh side of the ssh transport: one non-blocking session per link, driven by the
// io_context. Only this file includes libssh. The rules it keeps (each learnt the hard way) stand
// where they are obeyed.
#include <fcntl.h>
#include <fmt/format.h>
#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <sys/stat.h>
#include <unistd.h>

#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <map>

#include "engine/base/error.h"
#include "launcher/transport/ssh_link.h"

namespace ds::launcher {

namespace {

constexpr const char* kKexAlgorithms =
    "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-"
    "sha2-nistp521,"
    "diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,diffie-hellman-group14-sha256";
// AES-GCM first: with AES instructions it is libssh's fastest, and needs no separate MAC.
constexpr const char* kCiphers =
    "aes128-gcm@openssh.com,aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes128-ctr,aes192-"
    "ctr,aes256-ctr";
constexpr int kPollsPerWake = 64;  // libssh reads 4 KiB a poll; others get their turn after 256 KiB

struct KeyFree {
  void operator()(ssh_key key) const { ssh_key_free(key); }
};
using Key = std::unique_ptr<ssh_key_struct, KeyFree>;

std::string public_base64(ssh_key key) {
  char* text = nullptr;
  if (ssh_pki_export_pubkey_base64(key, &text) != SSH_OK) return {};
  std::string out(text);
  ssh_string_free_char(text);
  return out;
}

class Keyring final : public SshKeyring {
 public:
  struct Entry {
    Status status;
    Key key;
  };

  const Status& load(const std::string& path) override { return entry(path).status; }

  const Entry& entry(const std::string& path) {
    const auto [it, fresh] = entries_.try_emplace(path);
    if (fresh) it->second = read(path);
    return it->second;
  }

 private:
  static int no_passphrase(const char*, char*, std::size_t, int, int, void* asked) {
    *static_cast<bool*>(asked) = true;
    return -1;
  }

  static Entry read(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return {{State::missing, {}, {}}, {}};
    if (info.st_uid == ::getuid() && (info.st_mode & 077) != 0)
      return {{State::unusable,
               {},
               fmt::format("its permissions {:04o} let others read it", info.st_mode & 07777)},
              {}};
    bool asked = false;
    ssh_key key = nullptr;
    if (ssh_pki_import_privkey_file(path.c_str(), nullptr, no_passphrase, &asked, &key) == SSH_OK)
      return {{State::ready, public_base64(key), {}}, Key(key)};
    if (!asked) return {{State::unusable, {}, "it is not a private key that libssh can read"}, {}};
    ssh_key shown = nullptr;
    if (ssh_pki_import_pubkey_file((path + ".pub").c_str(), &shown) != SSH_OK)
      return {{State::encrypted, {}, {}}, {}};
    const Key owner(shown);
    return {{State::encrypted, public_base64(shown), {}}, {}};
  }

  std::map<std::string, Entry> entries_;
};

/// The session behind a link. Kept alive by its pending waits; `dismiss` ends it.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(asio::io_context& io, Keyring& keyring, SshLinkSetup setup, SshLinkEvents events)
      : io_(io),
        keyring_(keyring),
        setup_(std::move(setup)),
        events_(std::move(events)),
        wait_(io),
        timer_(io) {}

  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { release(); }

  void start();
  void send(Bytes bytes);
  [[nodiscard]] std::size_t unsent() const { return unsent_; }
  void pause(bool pause);
  void close();
  /// No event comes after this; the socket is closed.
  void dismiss() {
    dismissed_ = true;  // events_ stays: one of them may be the caller
    release();
  }

 private:
  enum class Stage { handshake, auth, channel, exec, running, ended };

  void set_options();
  void wake();
  void arm();
  void advance();
  int handshake();
  int authenticate();
  int try_identity(const SshIdentity& identity);
  int open_channel();
  int exec();
  int run();
  void enter(Stage stage, std::chrono::milliseconds limit);
  void flush();
  void drain();
  void deliver();
  void post_wake();
  void finish();
  void fail(ChannelEnd::Kind kind, std::string reason, bool transient = false);
  void release();
  [[nodiscard]] bool dropped() const;
  [[nodiscard]] std::string error_text() const;
  [[nodiscard]] std::string refusal_text();
  [[nodiscard]] const char* stage_name() const;

  static int on_data(ssh_session, ssh_channel, void* data, std::uint32_t count, int is_stderr,
                     void* self);
  static void on_exit_status(ssh_session, ssh_channel, int status, void* self);
  static void on_exit_signal(ssh_session, ssh_channel, const char* name, int core, const char* text,
                             const char* language, void* self);
  static void on_close(ssh_session, ssh_channel, void* self);

  asio::io_context& io_;
  Keyring& keyring_;
  SshLinkSetup setup_;
  SshLinkEvents events_;
  asio::posix::stream_descriptor wait_;  // only waits; libssh owns the descriptor
  asio::steady_timer timer_;
  ssh_session session_ = nullptr;
  ssh_channel channel_ = nullptr;
  ssh_event poll_ = nullptr;
  ssh_channel_callbacks_struct callbacks_{};
  Stage stage_ = Stage::handshake;
  std::size_t identity_ = 0;
  bool agent_attached_ = false;
  bool read_armed_ = false;
  bool write_armed_ = false;
  bool wake_posted_ = false;
  bool paused_ = false;
  bool dismissed_ = false;
  bool eof_wanted_ = false;
  bool eof_sent_ = false;
  bool channel_closed_ = false;
  bool more_ = false;       // the last run stopped before the socket was empty
  bool got_bytes_ = false;  // the command has written to its standard output
  std::optional<int> exit_status_;
  std::string exit_signal_;
  std::string last_noise_;  // the end of standard error, for messages
  std::deque<Bytes> queue_;
  std::size_t queue_offset_ = 0;
  std::size_t unsent_ = 0;
  Bytes inbox_;
  std::string noise_;
  std::optional<SshLinkEnd> end_;
};

void Session::start() {
  session_ = ssh_new();
  DS_ASSERT(session_ != nullptr, "ssh_new fails only without memory");
  set_options();
  wait_.assign(setup_.socket.get());
  const int fd = setup_.socket.release();  // ssh_free closes it from here on
  ssh_options_set(session_, SSH_OPTIONS_FD, &fd);
  ssh_set_blocking(session_, 0);
  enter(Stage::handshake, setup_.limits.handshake);
  post_wake();
}

void Session::set_options() {
  const bool no_config = false;
  const int nodelay = 1;
  const unsigned int port = static_cast<unsigned int>(setup_.port);
  ssh_options_set(session_, SSH_OPTIONS_PROCESS_CONFIG,
                  &no_config);  // we have read the files ourselves
  // Neither name nor files are used by libssh: the socket is connected and the key is verified by
  // us, from an index. Left to libssh, known_hosts would be scanned twice a session, and the home
  // folder looked up.
  ssh_options_set(session_, SSH_OPTIONS_HOST, "host");
  ssh_options_set(session_, SSH_OPTIONS_SSH_DIR, "/dev/null");
  ssh_options_set(session_, SSH_OPTIONS_KNOWNHOSTS, "/dev/null");
  ssh_options_set(session_, SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null");
  ssh_options_set(session_, SSH_OPTIONS_PORT, &port);
  ssh_options_set(session_, SSH_OPTIONS_USER, setup_.user.c_str());
  ssh_options_set(session_, SSH_OPTIONS_KEY_EXCHANGE, kKexAlgorithms);
  ssh_options_set(session_, SSH_OPTIONS_CIPHERS_C_S, kCiphers);
  ssh_options_set(session_, SSH_OPTIONS_CIPHERS_S_C, kCiphers);
  ssh_options_set(session_, SSH_OPTIONS_COMPRESSION, "no");
  ssh_options_set(session_, SSH_OPTIONS_HOSTKEYS, setup_.host_key_algorithms.c_str());
  ssh_options_set(session_, SSH_OPTIONS_NODELAY, &nodelay);  // libssh's default is off
}

const char* Session::stage_name() const {
  switch (stage_) {
    case Stage::handshake:
      return "ssh handshake";
    case Stage::auth:
      return "authentication";
    case Stage::channel:
      return "opening a channel";
    case Stage::exec:
      return "starting the remote command";
    case Stage::running:
      return "running";
    case Stage::ended:
      return "end";
  }
  return "";
}

void Session::enter(Stage stage, std::chrono::milliseconds limit) {
  stage_ = stage;
  timer_.cancel();
  if (stage == Stage::running || stage == Stage::ended) return;
  timer_.expires_after(limit);
  timer_.async_wait([self = shared_from_this(), stage, limit](const asio::error_code& error) {
    if (error || self->stage_ != stage) return;
    self->fail(ChannelEnd::Kind::unreachable,
               fmt::format("{} did not finish within {} s", self->stage_name(),
                           std::chrono::duration<double>(limit).count()));
    self->deliver();
  });
}

void Session::post_wake() {
  if (std::exchange(wake_posted_, true)) return;
  asio::post(io_, [self = shared_from_this()] {
    self->wake_posted_ = false;
    self->wake();
  });
}

void Session::wake() {
  if (session_ == nullptr) return;
  const auto keep = shared_from_this();  // an event may destroy the link
  advance();
  deliver();
  if (session_ == nullptr || stage_ == Stage::ended) return;
  if (more_) post_wake();
  arm();
}

void Session::arm() {
  const auto wait = [this](asio::posix::descriptor_base::wait_type type, bool& armed) {
    if (std::exchange(armed, true)) return;
    wait_.async_wait(type, [self = shared_from_this(), &armed](const asio::error_code& error) {
      armed = false;
      if (!error) self->wake();
    });
  };
  wait(asio::posix::descriptor_base::wait_read, read_armed_);
  if ((ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) != 0)
    wait(asio::posix::descriptor_base::wait_write, write_armed_);
}

bool Session::dropped() const {
  // Some calls return SSH_AGAIN for ever after the server has hung up; only the status tells.
  return (ssh_get_status(session_) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0 ||
         ssh_is_connected(session_) == 0;
}

std::string Session::error_text() const {
  const std::string text = ssh_get_error(session_);
  return text.empty() ? "the connection was closed" : text;
}

void Session::advance() {
  more_ = false;
  while (stage_ != Stage::ended) {
    const Stage before = stage_;
    int rc = SSH_ERROR;
    switch (stage_) {
      case Stage::handshake:
        rc = handshake();
        break;
      case Stage::auth:
        rc = authenticate();
        break;
      case Stage::channel:
        rc = open_channel();
        break;
      case Stage::exec:
        rc = exec();
        break;
      case Stage::running:
        rc = run();
        break;
      case Stage::ended:
        break;
    }
    if (stage_ == before && rc != SSH_OK) return;
  }
}

int Session::handshake() {
  const int rc = ssh_connect(session_);
  if (rc == SSH_AGAIN && !dropped()) return SSH_AGAIN;
  if (rc != SSH_OK) {
    const std::string text = error_text();
    const bool disagreed = text.find("kex error") != std::string::npos;
    fail(ChannelEnd::Kind::unreachable, "ssh handshake failed: " + text, !disagreed);
    return SSH_ERROR;
  }
  ssh_key raw = nullptr;
  if (ssh_get_server_publickey(session_, &raw) != SSH_OK) {
    fail(ChannelEnd::Kind::unreachable, "the server showed no host key: " + error_text());
    return SSH_ERROR;
  }
  const Key key(raw);
  const char* type = ssh_key_type_to_char(ssh_key_type(raw));
  if (const auto refusal =
          events_.check_host_key({type == nullptr ? "" : type, public_base64(raw)})) {
    fail(ChannelEnd::Kind::unreachable, *refusal);
    return SSH_ERROR;
  }
  enter(Stage::auth, setup_.limits.auth);
  return SSH_OK;
}

int Session::try_identity(const SshIdentity& identity) {
  if (identity.kind == SshIdentity::Kind::file) {
    const Keyring::Entry& entry = keyring_.entry(identity.path);
    return entry.key ? ssh_userauth_publickey(session_, nullptr, entry.key.get()) : SSH_AUTH_DENIED;
  }
  if (!std::exchange(agent_attached_, true)) {
    // libssh waits for the agent without a deadline, so it talks to a relay of ours that always
    // answers.
    const int fd = identity.socket();
    if (fd < 0 || ssh_set_agent_socket(session_, fd) != SSH_OK) return SSH_AUTH_DENIED;
  }
  return ssh_userauth_agent(session_, nullptr);
}

int Session::authenticate() {
  while (identity_ < setup_.identities.size()) {
    const SshIdentity& identity = setup_.identities[identity_];
    const int rc = try_identity(identity);
    if (rc == SSH_AUTH_SUCCESS) {
      events_.on_identity(identity.label);
      enter(Stage::channel, setup_.limits.command);
      return SSH_OK;
    }
    if (dropped()) break;  // too many keys: the server hangs up
    if (rc == SSH_AUTH_AGAIN) return SSH_AGAIN;
    if (rc == SSH_AUTH_PARTIAL) {
      fail(ChannelEnd::Kind::unreachable,
           fmt::format("user {}: {} was accepted, but the server wants a further method, which is "
                       "not supported",
                       setup_.user, identity.label));
      return SSH_ERROR;
    }
    ++identity_;
    agent_attached_ = false;
  }
  fail(ChannelEnd::Kind::unreachable, refusal_text());
  return SSH_ERROR;
}

std::string Session::refusal_text() {
  std::string tried;
  for (std::size_t i = 0; i < setup_.identities.size() && i <= identity_; ++i)
    tried += (i == 0 ? "" : ", ") + setup_.identities[i].label;
  std::string text = tried.empty() ? fmt::format("no key to try for user {}", setup_.user)
                                   : fmt::format("authentication refused for user {}; tried: {}",
                                                 setup_.user, tried);
  if (dropped()) {
    text += "; the server hung up (" + error_text() +
            "): name the right key by IdentityFile and set IdentitiesOnly yes";
  } else if (!setup_.identities.empty()) {
    const int methods = ssh_userauth_list(session_, nullptr);
    std::string names;
    const auto add = [&](int bit, const char* name) {
      if ((methods & bit) != 0) names += (names.empty() ? "" : ", ") + std::string(name);
    };
    add(SSH_AUTH_METHOD_PUBLICKEY, "publickey");
    add(SSH_AUTH_METHOD_PASSWORD, "password");
    add(SSH_AUTH_METHOD_INTERACTIVE, "keyboard-interactive");
    add(SSH_AUTH_METHOD_HOSTBASED, "hostbased");
    add(SSH_AUTH_METHOD_GSSAPI_MIC, "gssapi");
    if (!names.empty()) text += "; the server takes: " + names;
  }
  return setup_.identities_note.empty() ? text : text + "; " + setup_.identities_note;
}

int Session::open_channel() {
  if (channel_ == nullptr) {
    channel_ = ssh_channel_new(session_);
    DS_ASSERT(channel_ != nullptr, "ssh_channel_new fails only without memory");
    callbacks_.userdata = this;
    callbacks_.channel_data_function = on_data;
    callbacks_.channel_exit_status_function = on_exit_status;
    callbacks_.channel_exit_signal_function = on_exit_signal;
    callbacks_.channel_close_function = on_close;
    ssh_callbacks_init(&callbacks_);
    ssh_set_channel_callbacks(channel_, &callbacks_);
  }
  const int rc = ssh_channel_open_session(channel_);
  if (rc == SSH_AGAIN && !dropped()) return SSH_AGAIN;
  if (rc != SSH_OK) {
    fail(ChannelEnd::Kind::unreachable, "the server refused a channel (" + error_text() +
                                            "): its MaxSessions, or a limit of the account?");
    return SSH_ERROR;
  }
  enter(Stage::exec, setup_.limits.command);
  return SSH_OK;
}

int Session::exec() {
  const int rc = ssh_channel_request_exec(channel_, setup_.command.c_str());
  if (rc == SSH_AGAIN && !dropped()) return SSH_AGAIN;
  if (rc != SSH_OK) {
    fail(ChannelEnd::Kind::no_agent, "the server would not run a command: " + error_text());
    return SSH_ERROR;
  }
  poll_ = ssh_event_new();
  DS_ASSERT(poll_ != nullptr && ssh_event_add_session(poll_, session_) == SSH_OK);
  enter(Stage::running, {});
  events_.on_open();
  return SSH_OK;
}

/// Handles what has arrived. Only ssh_event_dopoll reads on after end-of-file: calls that read the
/// channel would stop there and lose the exit status behind it.
int Session::run() {
  int polls = 0;
  int rc = SSH_OK;
  while (rc == SSH_OK && polls++ < kPollsPerWake && !channel_closed_ && !dropped()) {
    flush();
    rc = ssh_event_dopoll(poll_, 0);
  }
  flush();
  more_ = rc == SSH_OK && polls > kPollsPerWake;
  if (channel_closed_ || dropped()) finish();
  return SSH_AGAIN;
}

void Session::flush() {
  while (!queue_.empty() && !channel_closed_) {
    const Bytes& bytes = queue_.front();
    const int count = ssh_channel_write(channel_, bytes.data() + queue_offset_,
                                        static_cast<std::uint32_t>(bytes.size() - queue_offset_));
    if (count <= 0) return;  // no window, a key exchange under way, or a loss that run() notices
    queue_offset_ += static_cast<std::size_t>(count);
    unsent_ -= static_cast<std::size_t>(count);
    if (queue_offset_ < bytes.size()) continue;
    queue_.pop_front();
    queue_offset_ = 0;
  }
  if (eof_wanted_ && !eof_sent_ && queue_.empty() && !channel_closed_)
    eof_sent_ = ssh_channel_send_eof(channel_) != SSH_AGAIN;
}

/// Takes what libssh kept in the channel's buffers while reading was paused.
void Session::drain() {
  std::byte buffer[16384];
  for (const int is_stderr : {0, 1}) {
    int count = 0;
    while ((count = ssh_channel_read_nonblocking(channel_, buffer, sizeof buffer, is_stderr)) > 0)
      on_data(session_, channel_, buffer, static_cast<std::uint32_t>(count), is_stderr, this);
  }
}

void Session::finish() {
  if (paused_) return;  // bytes may wait in the channel; pause(false) comes back here
  drain();
  if (!channel_closed_ && !exit_status_) {
    fail(ChannelEnd::Kind::lost, "the ssh connection broke: " + error_text());
  } else if (!exit_signal_.empty()) {
    fail(ChannelEnd::Kind::lost,
         fmt::format("the remote command was killed by SIG{}", exit_signal_));
  } else if (exit_status_ == 127 || exit_status_ == 126 ||
             (exit_status_.value_or(0) != 0 && !got_bytes_)) {
    const std::size_t line = last_noise_.find_last_of('\n');
    const std::string said = line == std::string::npos ? last_noise_ : last_noise_.substr(line + 1);
    fail(ChannelEnd::Kind::no_agent,
         fmt::format("the remote command `{}` ended with status {}{}{}", setup_.command,
                     *exit_status_, said.empty() ? "" : ": ", said));
  } else {
    fail(ChannelEnd::Kind::closed, "");
  }
}

void Session::fail(ChannelEnd::Kind kind, std::string reason, bool transient) {
  if (stage_ == Stage::ended) return;
  enter(Stage::ended, {});
  end_ = SshLinkEnd{{kind, std::move(reason)}, transient};
}

/// Hands everything to the owner, outside of libssh's callbacks: an event may destroy the link, and
/// a session must not be freed from inside its own callback.
void Session::deliver() {
  const auto keep = shared_from_this();
  if (!inbox_.empty() && !dismissed_) {
    const Bytes bytes = std::move(inbox_);
    inbox_.clear();
    events_.on_bytes(bytes);
  }
  if (!noise_.empty() && !dismissed_) events_.on_noise(std::exchange(noise_, {}));
  if (!end_ || dismissed_) return;
  dismiss();
  events_.on_end(*end_);
}

void Session::release() {
  asio::error_code ignored;
  timer_.cancel(ignored);
  if (wait_.is_open()) wait_.release();  // before ssh_free: libssh closes the descriptor
  if (poll_ != nullptr) {
    ssh_event_remove_session(poll_, session_);
    ssh_event_free(std::exchange(poll_, nullptr));
  }
  if (channel_ != nullptr) {
    ssh_remove_channel_callbacks(channel_, &callbacks_);
    ssh_channel_free(std::exchange(channel_, nullptr));
  }
  if (session_ != nullptr) {
    ssh_disconnect(session_);
    ssh_free(std::exchange(session_, nullptr));
  }
  stage_ = Stage::ended;
}

void Session::send(Bytes bytes) {
  if (bytes.empty() || session_ == nullptr) return;
  unsent_ += bytes.size();
  queue_.push_back(std::move(bytes));
  post_wake();
}

void Session::pause(bool pause) {
  paused_ = pause;
  if (pause || session_ == nullptr || stage_ != Stage::running) return;
  drain();
  post_wake();
}

void Session::close() {
  eof_wanted_ = true;
  if (session_ != nullptr) post_wake();
}

int Session::on_data(ssh_session, ssh_channel, void* data, std::uint32_t count, int is_stderr,
                     void* user) {
  auto* self = static_cast<Session*>(user);
  if (is_stderr != 0) {
    self->noise_.append(static_cast<const char*>(data), count);
    self->last_noise_.append(static_cast<const char*>(data), count);
    while (!self->last_noise_.empty() && self->last_noise_.back() == '\n')
      self->last_noise_.pop_back();
    if (self->last_noise_.size() > 4096)
      self->last_noise_.erase(0, self->last_noise_.size() - 4096);
  } else {
    if (self->paused_)
      return 0;  // stays in the channel's buffer; the window closes and pushes back
    const auto* bytes = static_cast<const std::byte*>(data);
    self->inbox_.insert(self->inbox_.end(), bytes, bytes + count);
    self->got_bytes_ = true;
  }
  return static_cast<int>(count);
}

void Session::on_exit_status(ssh_session, ssh_channel, int status, void* user) {
  static_cast<Session*>(user)->exit_status_ = status;
}

void Session::on_exit_signal(ssh_session, ssh_channel, const char* name, int, const char*,
                             const char*, void* user) {
  static_cast<Session*>(user)->exit_signal_ = name == nullptr ? "?" : name;
}

void Session::on_close(ssh_session, ssh_channel, void* user) {
  static_cast<Session*>(user)->channel_closed_ = true;
}

class Link final : public SshLink {
 public:
  explicit Link(std::shared_ptr<Session> session) : session_(std::move(session)) {
    session_->start();
  }
  ~Link() override { session_->dismiss(); }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  void send(Bytes bytes) override { session_->send(std::move(bytes)); }
  [[nodiscard]] std::size_t unsent() const override { return session_->unsent(); }
  void pause_reading(bool pause) override { session_->pause(pause); }
  void close() override { session_->close(); }

 private:
  std::shared_ptr<Session> session_;
};

}  // namespace

std::unique_ptr<SshKeyring> make_ssh_keyring() { return std::make_unique<Keyring>(); }

std::unique_ptr<SshLink> make_ssh_link(asio::io_context& io, SshKeyring& keyring,
                                       SshLinkSetup setup, SshLinkEvents events) {
  return std::make_unique<Link>(std::make_shared<Session>(io, dynamic_cast<Keyring&>(keyring),
                                                          std::move(setup), std::move(events)));
}

}  // namespace ds::launcher
