// Translation of mpirun's command line: the groups between ':' become one command line of dslaunch.
#include <fmt/format.h>

#include <algorithm>

#include "launcher/cli/env_file.h"
#include "launcher/cli/option_table.h"
#include "launcher/disguise/disguise.h"
#include "launcher/disguise/mpirun_words.h"

namespace ds::launcher {

namespace {

class Translator {
 public:
  Translator(std::string_view program, std::span<const std::string> words,
             const Surroundings& around)
      : program_(program),
        words_(words),
        around_(around),
        hydra_(program == "mpiexec.hydra" || program.ends_with(".mpich")),
        shapes_(shapes_of(mpi_table())) {}

  Disguised translate() {
    std::vector<Group> groups;
    MpiWords job;
    job.program = program_;
    take_variables(job, hydra_, around_);
    for (std::size_t at = 0; at <= words_.size();) {
      const auto from = words_.begin() + static_cast<std::ptrdiff_t>(at);
      const auto end =
          static_cast<std::size_t>(std::find(from, words_.end(), ":") - words_.begin());
      groups.push_back(read_group(job, at, end));
      at = end + 1;
    }
    if (job.version) {
      out_.text = disguise_version(program_);
      return std::move(out_);
    }
    hydra_ = hydra_ || job.hydra;
    note_what_is_lost(job);
    const bool trains = is_train_form(groups.front().program);
    add_job(job, groups.front().options, trains);
    if (groups.size() > 1) out_.words.emplace_back("--separate");
    for (const Group& group : groups) add_group(job, group, groups.size() > 1);
    if (!job.modules.empty())
      out_.notes.push_back(fmt::format("--mca {} has no effect: it is for the launcher of Open MPI",
                                       fmt::join(job.modules, ", ")));
    return std::move(out_);
  }

 private:
  struct Group {
    MpiProgramWords options;
    std::span<const std::string> program;
    bool is_first = false;
  };

  /// Reads the options before one program. Those of the whole job are kept in `job`, wherever they
  /// stand; the last one counts.
  Group read_group(MpiWords& job, std::size_t begin, std::size_t end) {
    const std::span<const std::string> words = words_.subspan(begin, end - begin);
    const ForeignWords read = read_foreign(program_, shapes_, Spelling::mpi, words);
    static_cast<MpiProgramWords&>(job) = {};
    apply_foreign(mpi_table(), read, job);
    hide_values(read, begin);
    for (const std::string& note : notes_of(shapes_, read)) out_.notes.push_back(note);
    return {job, words.subspan(read.rest), begin == 0};
  }

  void note_what_is_lost(const MpiWords& job) {
    out_.notes.insert(out_.notes.end(), job.notes.begin(), job.notes.end());
    for (const char* name : {"I_MPI_PIN", "I_MPI_PIN_DOMAIN", "I_MPI_PIN_PROCESSOR_LIST"})
      if (around_.variable(name))
        out_.notes.push_back(fmt::format("{} has no effect: use -bind-to and -map-by", name));
  }

  void add_group(const MpiWords& job, const Group& group, bool several) {
    const MpiProgramWords& options = group.options;
    if (!group.is_first) out_.words.emplace_back(":");
    if (options.ranks) out_.add("-n", *options.ranks);
    if (!group.is_first && options.per_host) out_.add("--ppn", *options.per_host);
    const bool counted = options.per_host || (job.map_by && job.map_by->starts_with("ppr:"));
    if (group.is_first && !options.ranks && !counted && !several) out_.add("-n", "all");
    for (const std::string& list : options.hosts) out_.add("--host", list);
    std::vector<MpiVariable> variables = job.common;
    variables.insert(variables.end(), options.variables.begin(), options.variables.end());
    add_variables(variables);
    if (options.wdir) out_.add("--wdir", *options.wdir);
    add_program(group.program, several);
  }

  void add_program(std::span<const std::string> program, bool several) {
    if (program.empty() || program.front().empty())
      usage_error(fmt::format("{}: no program is given", program_),
                  fmt::format("for example: {} -np 4 ./a.out", program_));
    if (is_train_form(program) && several)
      usage_error(fmt::format("{}: {} cannot run beside other programs", program_, program.front()),
                  "a training with dslaunch's own engine is a job of its own");
    if (!is_train_form(program)) out_.words.emplace_back("--");
    out_.words.insert(out_.words.end(), program.begin(), program.end());
  }

  /// Adds the options that apply to all programs.
  void add_job(const MpiWords& job, const MpiProgramWords& first, bool trains) {
    if (job.hostfile) out_.add("--hostfile", *job.hostfile);
    if (first.per_host) out_.add("--ppn", *first.per_host);
    add_places(job, trains);
    if (job.report_bindings) out_.words.emplace_back("--report-bindings");
    if (job.display_map) out_.words.emplace_back("--display-map");
    if (job.no_local) out_.words.emplace_back("--no-local");
    if (job.oversubscribe || hydra_)
      out_.words.emplace_back(hydra_ ? "--oversubscribe=rounds" : "--oversubscribe");
    if (job.env_policy || hydra_) out_.add("--env", job.env_policy.value_or("all"));
    out_.words.emplace_back("--mpi-env=openmpi,mpich");
    if (!trains) out_.words.emplace_back("--mpi=any");
    if (!trains && !hydra_) out_.add("-x", "OMPI_MCA_*");  // as Open MPI's mpirun; Hydra forwards all
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

  /// Adds where the ranks run. Open MPI binds ranks by default; Hydra does not, and maps ranks only
  /// if they are bound.
  void add_places(const MpiWords& job, bool trains) {
    const bool none = job.bind ? *job.bind == "none" : hydra_ || trains;
    std::string map = job.map_by.value_or("");
    if (job.cores_per_rank && !none && map.find(":pe=") == std::string::npos)
      map = (map.empty() ? "slot" : map) + ":pe=" + *job.cores_per_rank;
    if (map.empty() && job.bind == "numa") map = "numa";  // without it, that of the rank's GPU
    if (!map.empty()) out_.add("--map-by", map);
    if (job.rank_by) out_.add("--rank-by", *job.rank_by);
    if (!none || job.bind || !map.empty())
      out_.add("--bind", none ? "none" : job.bind.value_or("openmpi"));
  }

  /// Adds the variables; the last value of a name wins.
  void add_variables(const std::vector<MpiVariable>& all) {
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
      if (option.argument != "NAME[=VALUE]" && option.argument != kPairInOneOrTwo) continue;
      const std::size_t equals = given.values[0].find('=');
      if (given.values.size() == 2)
        out_.secrets.push_back({begin + given.word + 1, 0});
      else if (equals != std::string::npos)
        out_.secrets.push_back({begin + given.word, given.offset + equals + 1});
    }
  }

  std::string_view program_;
  std::span<const std::string> words_;
  const Surroundings& around_;
  bool hydra_;
  std::vector<ForeignOption> shapes_;
  Disguised out_;
};

}  // namespace

Disguised translate_mpirun(std::string_view program, std::span<const std::string> words,
                           const Surroundings& around) {
  return Translator(program, words, around).translate();
}

std::vector<ForeignOption> mpirun_options() { return shapes_of(mpi_table()); }

}  // namespace ds::launcher
