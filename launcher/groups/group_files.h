// Parsers of ClusterShell's files: groups.conf, group files in YAML, lines `name: nodes`. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ds::launcher {

/// Returns the nodes of all lines `name: nodes` in `text`; nothing if no line has this name.
std::optional<std::string> named_nodes(std::string_view text, std::string_view name);
/// Returns the names of all lines `name: nodes`.
std::vector<std::string> names_of_lines(std::string_view text);

/// Sections of groups.conf with their keys, in ConfigParser's format: `key: value` or `key =
/// value`, lines that begin with a blank continue a value, `#` and `;` begin comments.
using ConfSections = std::map<std::string, std::map<std::string, std::string>>;

/// Adds the sections of a file; its values replace those that are there.
/// Errors:  Error{config} with file and line.
void read_groups_conf(std::string_view text, std::string_view file, ConfSections& into);

/// By source, the nodes of each group.
using GroupTable = std::map<std::string, std::map<std::string, std::string>>;

/// Parses a group file in YAML of the form
///     source:
///         group: 'nodes'      # also plain, or in double quotes
///         other:
///             - 'nodes'       # joined by commas
/// Errors:  Error{config} with file, line and a caret for any other YAML.
GroupTable read_group_yaml(std::string_view text, std::string_view file);

/// Returns `text` with $NAME and ${NAME} replaced for each name of `values`, and `$$` by `$`. Other
/// dollar signs stay: they are the shell's. As Template.safe_substitute of Python.
std::string fill_template(std::string_view text, const std::map<std::string, std::string>& values);

}  // namespace ds::launcher
