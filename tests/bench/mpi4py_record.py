# Runs test/main.py of mpi4py in one rank and writes the result of each test to a file of that rank:
# mpi4py_record.py FOLDER MAIN.PY [ARGUMENTS OF MAIN.PY...]
# Each line has a word (start, ok, fail, error, skip) and the name of the test. The last line is "end" if the rank came to the end.
import os
import runpy
import sys
import unittest


class Record(unittest.TextTestResult):
    """Writes a line before and after each test. A line is on the disk before the test goes on."""

    file = None

    def line(self, word, test):
        if Record.file is None:
            from mpi4py import MPI
            rank = MPI.COMM_WORLD.Get_rank()
            Record.file = open(os.path.join(folder, f"rank{rank}"), "a", buffering=1)
        Record.file.write(f"{word} {test.id()}\n")

    def startTest(self, test):
        self.bad_subtest = False
        self.line("start", test)
        super().startTest(test)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.bad_subtest = True
            self.line("fail" if issubclass(error[0], test.failureException) else "error", test)
        super().addSubTest(test, subtest, error)

    def addSuccess(self, test):
        if not self.bad_subtest:
            self.line("ok", test)
        super().addSuccess(test)

    def addFailure(self, test, error):
        self.line("fail", test)
        super().addFailure(test, error)

    def addError(self, test, error):
        self.line("error", test)
        super().addError(test, error)

    def addSkip(self, test, reason):
        self.line("skip", test)
        super().addSkip(test, reason)

    def addExpectedFailure(self, test, error):
        self.line("ok", test)
        super().addExpectedFailure(test, error)

    def addUnexpectedSuccess(self, test):
        self.line("fail", test)
        super().addUnexpectedSuccess(test)


folder, main = sys.argv[1], sys.argv[2]
unittest.TextTestRunner.resultclass = Record
sys.argv = [main] + sys.argv[3:]
sys.path.insert(0, os.path.dirname(main))
try:
    runpy.run_path(main, run_name="__main__")
finally:
    if Record.file is not None:
        Record.file.write("end\n")
