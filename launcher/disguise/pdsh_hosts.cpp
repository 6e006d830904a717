// Source of the order of steps:  pdsh 2.34: opt_args() of src/pdsh/opt.c, src/modules/genders.c.
#include "launcher/disguise/pdsh_hosts.h"

#include <fmt/format.h>
#include <regex.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/split.h"
#include "engine/base/text_error.h"
#include "launcher/cli/option_table.h"
#include "launcher/disguise/pdsh_names.h"
#include "launcher/groups/host_list.h"
#include "launcher/groups/node_groups.h"
#include "launcher/hosts/host_word.h"

namespace ds::launcher {
namespace {

constexpr int kMostIncludes = 16;
constexpr const char* kMachines = "/etc/pdsh/machines";

using Names = std::vector<std::string>;

std::vector<std::string_view> items_of(std::string_view list, std::string_view separators) {
  std::vector<std::string_view> items;
  for (const Word& word : split_outside_brackets(list, separators))
    if (!word.text.empty()) items.push_back(word.text);
  return items;
}

class Targets {
 public:
  Targets(const PdshChoice& choice, const Surroundings& around)
      : choice_(choice), around_(around), groups_(around.groups()) {
    if (choice.genders_file.empty()) {
      const std::string given = around.variable("PDSH_GENDERS_FILE").value_or("");
      if (!given.empty()) groups_->set_genders(genders_path(given));
    } else {
      groups_->set_genders(genders_path(choice.genders_file));
      if (groups_->genders() == nullptr)
        throw Error(
            ErrorKind::config,
            fmt::format("cannot read the genders file {}", genders_path(choice.genders_file)),
            "-F FILE is in PDSH_GENDERS_DIR, else /etc, unless it begins with / or .");
    }
  }

  std::vector<PdshTarget> find() {
    for (const std::string& list : choice_.targets) {
      named_ = true;
      add_list(list == "-" ? "^-" : list);
    }
    for (const std::string& list : choice_.excluded)
      for (const std::string_view item : items_of(list, ",")) add_item("-" + std::string(item));
    const bool by_genders = !named_ && fill_from_groups();
    if (const auto list = around_.variable("WCOLL"); !named_ && list && !list->empty()) {
      named_ = true;
      read_file(*list, 0, names_);
    }
    if (!named_)
      usage_error(fmt::format("{}: no remote hosts specified", choice_.program),
                  "give -w HOSTS, -g GROUP or -a, or the variable WCOLL");
    drop(excluded_);
    apply_patterns();
    filter(by_genders);
    if (by_genders != choice_.other_names) translate(names_);
    return with_users();
  }

 private:
  [[nodiscard]] std::string genders_path(const std::string& file) const {
    if (file.starts_with('/') || file.starts_with('.')) return file;
    return around_.variable("PDSH_GENDERS_DIR").value_or("/etc") + "/" + file;
  }

  void add_list(std::string_view list) {
    for (const std::string_view item : items_of(list, ",")) add_item(std::string(item));
  }

  void add_item(std::string item) {
    const bool out = item.starts_with('-');
    std::string_view text = std::string_view(item).substr(out ? 1 : 0);
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    Names& into = out ? excluded_ : names_;
    if (text.starts_with('^')) return read_file(std::string(text.substr(1)), 0, into);
    if (text.starts_with('/')) {
      text.remove_prefix(1);
      if (text.ends_with('/')) text.remove_suffix(1);
      patterns_.emplace_back(std::string(text), out);
      return;
    }
    if (text.starts_with('@'))
      return append(into,
                    names_of([&](HostListParser& list) { list.add(text, out ? "-x" : "-w"); }));
    if (out) return append(into, pdsh_expanded(text, "-x", choice_.program));
    add_hosts(text);
  }

  /// Adds `[rcmd_type:][user@]hosts`. The first user and type of a host count.
  void add_hosts(std::string_view text) {
    PdshTarget target;
    const std::size_t colon = text.find(':');
    const std::size_t at = text.find('@');
    const bool is_address = colon != std::string_view::npos && text.substr(colon).starts_with("::");
    if (colon != std::string_view::npos && !is_address) {
      if (at != std::string_view::npos && colon > at)
        usage_error(fmt::format("{}: {} is not of the form [rcmd_type:][user@]hosts",
                                choice_.program, quoted(printable_text(text))),
                    "for example: ssh:ann@node[1-4]");
      target.rcmd = text.substr(0, colon);
      text.remove_prefix(colon + 1);
    }
    if (const std::size_t end = text.find('@'); end != std::string_view::npos) {
      target.user = text.substr(0, end);
      text.remove_prefix(end + 1);
    }
    for (const std::string& name : pdsh_expanded(text, "-w", choice_.program)) {
      names_.push_back(name);
      if (!target.rcmd.empty() || !target.user.empty()) settings_.try_emplace(name, target);
    }
  }

  void read_file(const std::string& path, int depth, Names& into) {
    if (depth > kMostIncludes)
      throw Error(ErrorKind::config, fmt::format("{}: files include each other without end", path));
    const std::string text = around_.file(path);
    for (std::string_view rest = text; !rest.empty();) {
      std::string_view line = take_line(rest);
      if (line.starts_with("#include")) {
        const std::vector<std::string_view> words = items_of(line.substr(8), " \t");
        if (words.size() == 1) {
          const bool whole = words[0].starts_with('/') || words[0].starts_with("./") ||
                             words[0].starts_with("../");
          const std::size_t slash = path.rfind('/');
          const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
          read_file(whole ? std::string(words[0]) : fmt::format("{}/{}", folder, words[0]),
                    depth + 1, into);
        }
        continue;
      }
      line = line.substr(0, line.find('#'));
      for (const std::string_view item : items_of(line, ", \t"))
        append(into, pdsh_expanded(item, path, choice_.program));
    }
  }

  /// Takes the targets of -a, -A or -g if no others are given.
  bool fill_from_groups() {
    const bool all = choice_.all || choice_.all_but_skipped;
    if (all && !choice_.groups.empty())
      usage_error(fmt::format("{}: -a or -A cannot be combined with -g", choice_.program),
                  "give only one of them");
    if (!all && choice_.groups.empty()) return false;
    named_ = true;
    if (all && groups_->genders() == nullptr) {
      read_file(kMachines, 0, names_);  // as of pdsh's module "machines"
      return false;
    }
    names_ = all ? groups_->genders()->query("") : nodes_of(choice_.groups);
    sort_as_pdsh(names_);
    return true;
  }

  Names nodes_of(const std::vector<std::string>& lists) {
    return names_of([&](HostListParser& parser) {
      for (const std::string& list : lists)
        for (const std::string_view name : items_of(list, ","))
          parser.add_group((choice_.genders_file.empty() ? "" : "genders:") + std::string(name),
                           "-g");
    });
  }

  template <class Fill>
  Names names_of(Fill fill) {
    HostListParser parser(
        {.file = around_.file, .group = [this](const std::string& name, const std::string& within) {
           return groups_->find(name, within);
         }});
    fill(parser);
    Names names;
    for (const Host& host : parser.hosts()) names.push_back(host.name);
    return names;
  }

  void filter(bool by_genders) {
    if (!by_genders && !choice_.groups.empty()) {  // -g chooses from the hosts of -w
      const Names kept = with_other_names(nodes_of(choice_.groups));
      const std::set<std::string> known(kept.begin(), kept.end());
      std::erase_if(names_, [&](const std::string& name) { return !known.contains(name); });
      sort_as_pdsh(names_);
    }
    if (!choice_.without.empty()) drop(with_other_names(nodes_of(choice_.without)));
    if (choice_.all_but_skipped && groups_->genders() != nullptr)
      drop(with_other_names(groups_->genders()->query("pdsh_all_skip")));
  }

  [[nodiscard]] Names with_other_names(Names names) const {
    Names others = names;
    translate(others);
    append(names, others);
    return names;
  }

  /// Replaces the names of nodes by their attribute altname, and such names by those of the nodes.
  void translate(Names& names) const {
    const Genders* genders = groups_->genders();
    if (genders == nullptr) return;
    for (std::string& name : names) {
      if (const Genders::Node* node = genders->find(name)) {
        const auto other = node->attributes.find("altname");
        if (other != node->attributes.end()) name = other->second;
        continue;
      }
      if (const Genders::Node* known = genders->find_by("altname", name)) name = known->name;
    }
  }

  void apply_patterns() {
    for (const auto& [pattern, out] : patterns_) {
      regex_t compiled;
      if (const int error = ::regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB)) {
        char why[256];
        ::regerror(error, &compiled, why, sizeof why);
        usage_error(fmt::format("{}: pattern {}: {}", choice_.program,
                                quoted(printable_text(pattern)), why));
      }
      std::erase_if(names_, [&compiled, out = out](const std::string& name) {
        return (::regexec(&compiled, name.c_str(), 0, nullptr, 0) == 0) == out;
      });
      ::regfree(&compiled);
    }
  }

  void drop(const Names& names) {
    const std::set<std::string> out(names.begin(), names.end());
    std::erase_if(names_, [&](const std::string& name) { return out.contains(name); });
  }

  static void append(Names& to, const Names& more) {
    to.insert(to.end(), more.begin(), more.end());
  }

  /// Adds the users and types of -w, then of the attribute pdsh_rcmd_type: `[user@][type]`.
  [[nodiscard]] std::vector<PdshTarget> with_users() const {
    if (names_.empty())
      usage_error(fmt::format("{}: no remote hosts specified", choice_.program),
                  "-x, -X or a pattern excludes all of them");
    std::vector<PdshTarget> targets;
    for (const std::string& name : names_) {
      PdshTarget target{.name = name};
      const auto set = settings_.find(name);
      if (set != settings_.end()) {
        target.rcmd = set->second.rcmd;
        target.user = set->second.user;
      } else if (const std::string type = rcmd_type(name); !type.empty()) {
        const std::size_t at = type.find('@');
        if (at != std::string::npos) target.user = type.substr(0, at);
        target.rcmd = at == std::string::npos ? type : type.substr(at + 1);
      }
      targets.push_back(std::move(target));
    }
    return targets;
  }

  [[nodiscard]] std::string rcmd_type(const std::string& name) const {
    const Genders* genders = groups_->genders();
    if (genders == nullptr) return {};
    const Genders::Node* node = genders->find(name);
    if (node == nullptr) node = genders->find_by("altname", name);
    if (node == nullptr) return {};
    const auto known = node->attributes.find("pdsh_rcmd_type");
    return known == node->attributes.end() ? "" : known->second;
  }

  const PdshChoice& choice_;
  const Surroundings& around_;
  std::shared_ptr<NodeGroups> groups_;
  bool named_ = false;  // some option or variable names targets
  Names names_;
  Names excluded_;
  std::vector<std::pair<std::string, bool>> patterns_;  // and whether matching names are left out
  std::map<std::string, PdshTarget> settings_;
};

}  // namespace

std::vector<PdshTarget> pdsh_targets(const PdshChoice& choice, const Surroundings& around) {
  return Targets(choice, around).find();
}

}  // namespace ds::launcher
