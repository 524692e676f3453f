import tempfile
import unittest
from pathlib import Path

import check_style


class CheckStyle(unittest.TestCase):
    def problems(self, name: str, text: str, **others: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            files = {"tools/budget.txt": "src/base 1000\n", name: text, **others}
            for path, content in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(content)
            return check_style.check(root)

    def refused(self, name: str, text: str, word: str):
        problems = self.problems(name, text)
        self.assertEqual(len(problems), 1, problems)
        self.assertIn(word, problems[0])

    def test_a_plain_file_passes(self):
        self.assertEqual(self.problems("src/base/x.h", "#pragma once\nint f();\n"), [])

    def test_long_files_are_refused(self):
        self.refused("src/base/x.cc", "int a;\n" * 601, "601 lines")
        self.refused("src/base/x.h", "#pragma once\n" * 201, "201 lines")
        self.assertEqual(self.problems("src/base/x_test.cc", "int a;\n" * 700), [])
        self.refused("tests/test_x.py", "a = 1\n" * 801, "801 lines")

    def test_exceptions_belong_to_the_bridge(self):
        self.refused("src/base/x.cc", "void f() { throw 1; }\n", "throw")
        self.refused("src/base/x.cc", "void f() { try { g(); } catch (...) {} }\n", "try")
        self.assertEqual(self.problems("src/torch_bridge/x.cc", "void f() { throw 1; }\n"), [])

    def test_comments_and_strings_are_not_code(self):
        text = '// try to throw\nconst char* a = "throw";\nint b = 1\'000;\nauto c = R"(try\ngetenv)";\n'
        self.assertEqual(self.problems("src/base/x.cc", text), [])
        self.refused("src/base/x.cc", text + "void f() { throw 1; }\n", "x.cc:6: throw")

    def test_getenv_thread_local_and_using_namespace(self):
        self.refused("src/graph/x.cc", 'auto a = std::getenv("A");\n', "getenv")
        self.assertEqual(self.problems("src/base/env.cc", 'auto a = std::getenv("A");\n'), [])
        self.refused("src/graph/x.cc", "thread_local int a;\n", "thread_local")
        self.refused("src/torch_bridge/x.cc", "using namespace tp;\n", "using namespace")

    def test_macros_and_includes(self):
        self.refused("src/base/x.cc", "#define FOO 1\n", "FOO")
        self.assertEqual(self.problems("src/base/x.cc", "#define TP_CHECK(x) x\n"), [])
        self.refused("src/torch_bridge/x.cc", "#include <torch/extension.h>\n", "torch/extension.h")

    def test_headers(self):
        self.refused("src/base/x.h", "int f();\n", "#pragma once")
        header = {"src/base/x.h": "#pragma once\n"}
        self.assertEqual(self.problems("src/base/x.cc", '#include "base/x.h"\n#include <vector>\n', **header), [])
        problems = self.problems("src/base/x.cc", '#include <vector>\n#include "base/x.h"\n', **header)
        self.assertIn("comes first", problems[0])

    def test_names_that_say_nothing(self):
        self.refused("src/base/string_util.cc", "int a;\n", "util")
        self.refused("python/torch_pjrt/helpers.py", "a = 1\n", "helpers")

    def test_the_budget(self):
        problems = self.problems("src/base/x.cc", "int a;\n" * 500, **{"src/base/y.cc": "int b;\n" * 501})
        self.assertEqual(problems, ["src/base: 1001 lines, its budget is 1000 (tools/budget.txt)"])


if __name__ == "__main__":
    unittest.main()
