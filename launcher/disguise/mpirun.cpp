// Translation of mpirun's command line: the groups between ':' become one command line of dslaunch.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/cli/env_file.h"
#include "launcher/cli/option_table.h"
#include "launcher/disguise/disguise.h"
#include "launcher/disguise/mpirun_words.h"

namespace ds::launcher {

namespace {

constexpr std::string_view kName = "mpirun";

class Translator {
 public:
  Translator(std::span<const std::string> words, const Surroundings& around, bool hydra)
      : words_(words), around_(around), hydra_(hydra), shapes_(shapes_of(mpi_table())) {}

  Disguised translate() {
    for (std::size_t at = 0; at <= words_.size();) {
      const auto from = words_.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end =
          static_cast<std::size_t>(std::find(from, words_.end(), ":") - words_.begin());
      add_group(at, end);
      at = end + 1;
    }
    if (!modules_.empty())
      out_.notes.push_back(fmt::format("--mca {} has no effect: modules of Open MPI are not used",
                                       fmt::join(modules_, ", ")));
    return std::move(out_);
  }

 private:
  void add_group(std::size_t begin, std::size_t end) {
    const std::span<const std::string> words = words_.subspan(begin, end - begin);
    const ForeignWords read = read_foreign(kName, shapes_, Spelling::mpi, words);
    MpiWords group;
    apply_foreign(mpi_table(), read, group);
    hide_values(read, begin);
    for (const std::string& note : notes_of(shapes_, read)) out_.notes.push_back(note);
    out_.notes.insert(out_.notes.end(), group.notes.begin(), group.notes.end());
    modules_.insert(modules_.end(), group.modules.begin(), group.modules.end());
    const bool is_first = begin == 0;
    if (!is_first && !group.job_option.empty())
      usage_error(fmt::format("{}: {} applies to the whole job", kName, group.job_option),
                  "give it before the first program");
    const bool several = std::find(words_.begin(), words_.end(), ":") != words_.end();
    if (is_first) {
      add_job(group);
    } else {
      out_.words.emplace_back(":");
    }
    if (group.ranks) out_.add("-n", *group.ranks);
    if (is_first && !group.ranks && !group.per_host && !several) out_.add("-n", "all");
    for (const std::string& list : group.hosts) out_.add("--host", list);
    add_variables(group);
    if (group.wdir) out_.add("--wdir", *group.wdir);
    add_program(words.subspan(read.rest), several);
  }

  void add_program(std::span<const std::string> program, bool several) {
    if (program.empty() || program.front().empty())
      usage_error(fmt::format("{}: no program is given", kName),
                  "for example: mpirun -np 4 ./a.out");
    if (is_train_form(program) && several)
      usage_error(fmt::format("{}: {} cannot run beside other programs", kName, program.front()),
                  "a training with dslaunch's own engine is a job of its own");
    if (!is_train_form(program)) out_.words.emplace_back("--");
    out_.words.insert(out_.words.end(), program.begin(), program.end());
  }

  /// Adds the options that apply to all programs.
  void add_job(const MpiWords& job) {
    const bool hydra = hydra_ || job.hydra;
    if (job.hostfile) out_.add("--hostfile", *job.hostfile);
    if (job.per_host) out_.add("--ppn", *job.per_host);
    if (job.map_by) out_.add("--map-by", *job.map_by);
    if (job.bind) out_.add("--bind", *job.bind);
    if (job.report_bindings) out_.words.emplace_back("--report-bindings");
    if (job.oversubscribe || hydra) out_.words.emplace_back("--oversubscribe");
    if (job.env_policy || hydra) out_.add("--env", job.env_policy.value_or("all"));
    out_.words.emplace_back("--mpi-env=openmpi,mpich");
    out_.add("--prefix", job.prefix.value_or(""));
    if (job.timestamps) out_.words.emplace_back("--timestamps");
    if (job.log_dir) out_.add("--log-dir", *job.log_dir);
    if (job.hostfile != "-") out_.add("--stdin", job.input.value_or("0"));
    if (job.timeout) out_.add("--timeout", *job.timeout);
    if (job.max_restarts) out_.add("--max-restarts", *job.max_restarts);
    if (job.iface) out_.add("--iface", *job.iface);
    if (job.rsh_agent) out_.add("--transport", "exec:" + *job.rsh_agent);
    if (job.dry_run) out_.words.emplace_back("--dry-run");
  }

  /// Adds the variables; the last value of a name wins.
  void add_variables(const MpiWords& group) {
    const std::vector<MpiVariable>& all = group.variables;
    for (auto one = all.begin(); one != all.end(); ++one) {
      const auto same = [one](const MpiVariable& other) { return other.name == one->name; };
      if (std::any_of(one + 1, all.end(), same)) continue;
      const bool is_pattern = one->name.ends_with('*');
      if (!is_pattern && is_reserved_variable(one->name)) {
        out_.notes.push_back(
            fmt::format("-x {} has no effect: dslaunch sets it for each rank", one->name));
      } else if (one->value) {
        out_.add("-x", one->name + "=" + *one->value);
      } else if (!is_pattern && !around_.variable(one->name)) {
        out_.notes.push_back(fmt::format("-x {} has no effect: it is not set here", one->name));
      } else {
        out_.add("-x", one->name);
      }
    }
  }

  /// Records the places of variable values among all words.
  void hide_values(const ForeignWords& read, std::size_t begin) {
    for (const ForeignGiven& given : read.given) {
      const ForeignOption& option = shapes_[given.option];
      if (option.argument == "NAME[=VALUE]") {
        const std::size_t equals = given.values[0].find('=');
        if (equals != std::string::npos)
          out_.secrets.push_back({begin + given.word, given.offset + equals + 1});
      }
      if (option.names.starts_with("-genv,")) out_.secrets.push_back({begin + given.word + 1, 0});
    }
  }

  std::span<const std::string> words_;
  const Surroundings& around_;
  bool hydra_;
  std::vector<ForeignOption> shapes_;
  std::vector<std::string> modules_;
  Disguised out_;
};

}  // namespace

Disguised translate_mpirun(std::span<const std::string> words, const Surroundings& around) {
  return Translator(words, around, false).translate();
}

Disguised translate_hydra(std::span<const std::string> words, const Surroundings& around) {
  return Translator(words, around, true).translate();
}

std::vector<ForeignOption> mpirun_options() { return shapes_of(mpi_table()); }

}  // namespace ds::launcher
