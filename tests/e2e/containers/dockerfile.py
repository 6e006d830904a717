# Parser for Dockerfiles: instructions with their lines, stages and copied files. Reads only the part of the language that
# this project uses, and refuses the rest.
import json
import re
import shlex

KNOWN = {"FROM", "ARG", "ENV", "RUN", "COPY", "WORKDIR", "EXPOSE", "CMD", "USER", "LABEL", "ENTRYPOINT"}


class Problem(Exception):
    pass


class Instruction:
    def __init__(self, line, name, text):
        self.line, self.name, self.flags = line, name, {}
        while match := re.match(r"--([a-z]+)=(\S+)\s+", text):
            self.flags[match[1]] = match[2]
            text = text[match.end():]
        self.text = text

    def words(self):
        return json.loads(self.text) if self.text.startswith("[") else shlex.split(self.text)


class Stage:
    def __init__(self, image, name):
        self.image, self.name, self.steps = image, name, []


def logical_lines(text):
    """Number of the first line, and the text without continuations and comments."""
    start, parts = 0, []
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("#"):
            continue
        if not parts:
            start = number
        continues = line.endswith("\\")
        parts.append(line[:-1] if continues else line)
        if not continues:
            joined = " ".join(p.strip() for p in parts).strip()
            parts = []
            if joined:
                yield start, joined
    if parts:
        raise Problem(f"line {start}: continues beyond the end")


def parse(text):
    """The stages. Values of ARG are put in where FROM names them."""
    stages, arguments = [], {}
    for line, joined in logical_lines(text):
        name, _, rest = joined.partition(" ")
        if name not in KNOWN:
            raise Problem(f"line {line}: unknown instruction {name}")
        if not rest.strip():
            raise Problem(f"line {line}: {name} without words")
        step = Instruction(line, name, rest.strip())
        if name == "FROM":
            words = re.sub(r"\$\{(\w+)\}", lambda m: arguments.get(m[1], ""), step.text).split()
            if len(words) not in (1, 3) or (len(words) == 3 and words[1].upper() != "AS"):
                raise Problem(f"line {line}: FROM IMAGE [AS NAME]")
            stage_name = words[2] if len(words) == 3 else ""
            if stage_name and any(s.name == stage_name for s in stages):
                raise Problem(f"line {line}: two stages are called {stage_name}")
            if ":" not in words[0] and not any(s.name == words[0] for s in stages):
                raise Problem(f"line {line}: {words[0]} has no tag: it would be another image tomorrow")
            stages.append(Stage(words[0], stage_name))
        elif not stages:
            if name != "ARG":
                raise Problem(f"line {line}: {name} before FROM")
            key, _, value = step.text.partition("=")
            arguments[key] = value
        else:
            stages[-1].steps.append(step)
            check_step(step, stages)
    if not stages:
        raise Problem("no FROM")
    return stages


def check_step(step, stages):
    if step.name == "COPY":
        if set(step.flags) - {"from", "chmod", "chown"}:
            raise Problem(f"line {step.line}: COPY with {sorted(step.flags)}")
        source = step.flags.get("from")
        if source and source not in [s.name for s in stages[:-1]]:
            raise Problem(f"line {step.line}: no earlier stage is called {source}")
        if len(step.words()) < 2:
            raise Problem(f"line {step.line}: COPY needs a source and a target")
    if step.name in ("CMD", "ENTRYPOINT") and not step.text.startswith("["):
        raise Problem(f"line {step.line}: {step.name} through a shell, which would be process 1")


def installed_packages(step):
    """Of `apt-get install` in a RUN."""
    lexer = shlex.shlex(step.text, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found, command = [], []
    for word in [*lexer, ";"]:
        if word in ("&&", ";", "||"):
            if command[:2] == ["apt-get", "install"]:
                found += [w for w in command[2:] if not w.startswith("-")]
            command = []
        elif command or "=" not in word:
            command.append(word)
    return found
