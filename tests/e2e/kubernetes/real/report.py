"""Results of cases: lines while they run, and the table."""
import statistics
from dataclasses import dataclass, field


@dataclass
class Result:
    kind: str
    case: str
    corefile: str
    complaints: list = field(default_factory=list)
    details: str = ""
    first_step: float | None = None
    next_step: float | None = None
    seconds: float = 0.0


def seconds(value):
    return "" if value is None else f"{value:.1f}"


def print_result(result):
    state = "FAILED" if result.complaints else "ok"
    print(f"{state:6} {result.kind:14} {result.case:14} {result.corefile:8} first step {seconds(result.first_step):>5} s"
          f"  after the fault {seconds(result.next_step):>5} s  whole {result.seconds:.0f} s", flush=True)
    for line in result.complaints:
        print("       " + line)
    if result.details:
        print("       " + result.details.replace("\n", "\n       "), flush=True)


def cell(result):
    """What a case gave: seconds to the first step and from the fault to the next step; or that it failed."""
    if result is None:
        return ""
    if result.complaints:
        return "**unexpected**"
    times = [seconds(value) for value in (result.first_step, result.next_step) if value is not None]
    return " / ".join(times) or "as expected"


def matrix(results):
    """One table of cases x kinds for the results of one Corefile."""
    kinds = list(dict.fromkeys(result.kind for result in results))
    cases = list(dict.fromkeys(result.case for result in results))
    by_place = {(result.case, result.kind): result for result in results}
    lines = ["| case | " + " | ".join(kinds) + " |", "|---|" + "---|" * len(kinds)]
    for case in cases:
        lines.append(f"| {case} | " + " | ".join(cell(by_place.get((case, kind))) for kind in kinds) + " |")
    return lines


def table(versions, results):
    lines = [versions]
    for corefile in dict.fromkeys(result.corefile for result in results):
        lines += ["", f"Corefile {corefile}:", "", *matrix([result for result in results if result.corefile == corefile])]
    failed = [result for result in results if result.complaints]
    lines += ["", "Unexpected:", ""] if failed else []
    for result in failed:
        lines += [f"- {result.kind} {result.case} ({result.corefile}): " + "; ".join(result.complaints).replace("\n", " ")]
    return "\n".join(lines) + "\n"


def summary(results):
    failed = sum(1 for result in results if result.complaints)
    text = f"{len(results)} cases, {failed} unexpected"
    starts = sorted(result.first_step for result in results if result.first_step is not None)
    if starts:
        text += (f"; apply to first step: median {statistics.median(starts):.1f} s, {sum(1 for value in starts if value <= 8)} of "
                 f"{len(starts)} within 8 s, longest {starts[-1]:.1f} s")
    return text
