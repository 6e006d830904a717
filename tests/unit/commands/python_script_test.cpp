// Tests which command lines are seen to run Python code that imports mpi4py.
#include "launcher/commands/start/python_script.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "support/temp_folder.h"

using namespace ds::launcher;

TEST_CASE("what Python is told to run") {
  CHECK(!python_code({"./solver.py"}));
  CHECK(!python_code({"pythonic", "a.py"}));
  CHECK(!python_code({}));
  CHECK(python_code({"python3"}) == PythonCode{});
  CHECK(python_code({"python3", "-"}) == PythonCode{});
  CHECK(python_code({"python3", "-c"}) == PythonCode{});
  CHECK(python_code({"/usr/bin/python3.12", "a.py", "-m", "b"}) == PythonCode{.file = "a.py"});
  CHECK(python_code({"python", "-u", "-W", "error", "-Xdev", "a.py"}) == PythonCode{.file = "a.py"});
  CHECK(python_code({"python3", "-um", "mpi4py.bench", "x"}) == PythonCode{.module = "mpi4py.bench"});
  CHECK(python_code({"python3", "-B", "-c", "import a"}) == PythonCode{.text = "import a"});
  CHECK(python_code({"python3", "-cimport a"}) == PythonCode{.text = "import a"});
}

TEST_CASE("statements that import mpi4py") {
  for (const char* text :
       {"import mpi4py", "from mpi4py import MPI", "x = 1\n\tfrom  mpi4py.futures import MPIPoolExecutor",
        "import sys, mpi4py.MPI as M", "import sys; from mpi4py import MPI; print(1)",
        "try:\r\n  import mpi4py\r\n"})
    CHECK(imports_mpi4py(text));
  for (const char* text : {"", "# import mpi4py", "import numpy", "from mpi4pyx import MPI",
                           "print('import mpi4py')", "importmpi4py", "import sys as mpi4py"})
    CHECK(!imports_mpi4py(text));
}

TEST_CASE("scripts are read from the folder of the program") {
  const ds::test::TempFolder folder;
  const std::string mpi = folder.file("a.py", "#!/usr/bin/env python3\nfrom mpi4py import MPI\n");
  const std::string here = std::filesystem::path(mpi).parent_path();
  folder.file("b.py", "import sys\n");
  folder.file("c.sh", "#!/bin/sh\nimport mpi4py\n");
  CHECK(runs_mpi4py({"python3", "a.py"}, here));
  CHECK(runs_mpi4py({"python3", mpi}, "/"));
  CHECK(runs_mpi4py({"./a.py"}, here));
  CHECK(runs_mpi4py({"python3", "-m", "mpi4py", "b.py"}, here));
  std::filesystem::create_directories(folder / "own/deep");
  folder.file("own/deep/c.py", "import mpi4py\n");
  folder.file("own/__main__.py", "from mpi4py import MPI\n");
  CHECK(runs_mpi4py({"python3", "-m", "a"}, here));
  CHECK(runs_mpi4py({"python3", "-m", "own.deep.c"}, here));
  CHECK(runs_mpi4py({"python3", "-m", "own"}, here));
  CHECK(runs_mpi4py({"python3", "own"}, here));
  CHECK(!runs_mpi4py({"python3", "-m", "b"}, here));
  CHECK(!runs_mpi4py({"python3", "-m", "own.deep"}, here));
  CHECK(!runs_mpi4py({"python3", "b.py"}, here));
  CHECK(!runs_mpi4py({"python3", "no.py"}, here));
  CHECK(!runs_mpi4py({"python3", "."}, here));
  CHECK(!runs_mpi4py({"./c.sh"}, here));
}
