// print(): programs as text, one line per group, tensor, value and op.
#include <array>

#include "engine/program/ops/row.h"
#include "engine/program/passes.h"

namespace ds {
namespace {

std::string_view name_of(ValueKind kind) {
  constexpr std::array<std::string_view, 5> kNames{"parameter", "gradient", "activation", "state",
                                                   "input"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(Tier tier) {
  constexpr std::array<std::string_view, kTiers> kNames{"device", "pinned", "host", "nvme"};
  return kNames[static_cast<std::size_t>(tier)];
}

std::string_view name_of(StreamId stream) { return kStreamNames[static_cast<std::size_t>(stream)]; }

std::string text_of(const Shape& shape) {
  std::string text = "(";
  for (int axis = 0; axis < shape.axes(); ++axis)
    text += fmt::format("{}{}", axis == 0 ? "" : ", ", shape[axis]);
  return text + ")";
}

std::string text_of(const ParamInit& init) {
  switch (init.kind) {
    case ParamInit::Kind::zeros:
      return "zeros";
    case ParamInit::Kind::ones:
      return "ones";
    case ParamInit::Kind::normal:
      if (init.first_columns == 0) return fmt::format("normal({})", init.standard_deviation);
      return fmt::format("normal({}; {} columns: {})", init.standard_deviation, init.first_columns,
                         init.standard_deviation * init.factor);
    case ParamInit::Kind::uniform:
      return fmt::format("uniform({})", init.bound);
  }
  return {};
}

std::string text_of(const Program& program, const std::vector<ValueId>& ids) {
  std::string text;
  for (const ValueId id : ids)
    text += fmt::format(" {}", id == kNoValue ? "-" : program.value(id).name);
  return text;
}

/// Names of results; a + marks those that the op adds to.
std::string results_of(const Program& program, const Op& op) {
  std::string text;
  for (std::size_t i = 0; i < op.out.size(); ++i) {
    const ValueId id = op.out[i];
    text += fmt::format(" {}{}", id == kNoValue ? "-" : program.value(id).name,
                        op.adds_to(i) ? "+" : "");
  }
  return text;
}

std::string line_of(const Program& program, const Value& value) {
  std::string line = fmt::format("value {} {} {} {}", value.name, name_of(value.kind),
                                 ds::name_of(value.dtype), text_of(value.shape));
  if (value.base != kNoValue)
    line += fmt::format(" in {} at {}", program.value(value.base).name, value.offset);
  if (value.persistent) line += " persistent";
  if (value.kept) line += " kept";
  if (value.tier != Tier::device) line += fmt::format(" on {}", name_of(value.tier));
  return line + "\n";
}

}  // namespace

std::string print(const Program& program) {
  std::string text;
  for (const ParamGroup& group : program.groups) {
    text += fmt::format("group {} {} elements{}\n", group.name, group.elements,
                        group.trains ? "" : " frozen");
    for (const ParamTensor& tensor : group.tensors) {
      text += fmt::format("  tensor {} {} at {} {}{}\n", tensor.name, text_of(tensor.shape),
                          tensor.offset, text_of(tensor.init), tensor.decays ? "" : " no_decay");
    }
  }
  for (const Value& value : program.values) text += line_of(program, value);
  for (const Op& op : program.ops) {
    const OpRow& row = row_of(op);
    const std::string micro = op.micro < 0 ? std::string() : fmt::format("@{}", op.micro);
    const bool is_plain = op.stream == StreamId::compute;
    text +=
        fmt::format("op {}{} {}{} ->{}{}{}{}\n", op.path, micro, row.name, text_of(program, op.in),
                    results_of(program, op), row.print == nullptr ? "" : row.print(op),
                    is_plain ? "" : " on ", is_plain ? "" : name_of(op.stream));
  }
  return text;
}

}  // namespace ds
