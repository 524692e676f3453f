import tempfile
import unittest
from pathlib import Path

import check_layers

LAYERS = """# a comment
base:
pjrt: base
graph: pjrt | ops
ops: base
torch_bridge: graph
"""


class CheckLayers(unittest.TestCase):
    def problems(self, path: str, include: str) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "tools").mkdir()
            (root / "tools/layers.txt").write_text(LAYERS)
            (root / "testing/fake_plugin").mkdir(parents=True)
            (root / "testing/fake_plugin/control.h").touch()
            (root / "src" / path).parent.mkdir(parents=True)
            (root / "src" / path).write_text(f"// a file\n#include {include}\n")
            return check_layers.check(root)

    def test_what_lies_below_is_allowed_transitively(self):
        self.assertEqual(self.problems("graph/x.cc", '"base/error.h"'), [])
        self.assertEqual(self.problems("graph/x.cc", "<vector>"), [])
        self.assertEqual(self.problems("graph/x.cc", "<sys/mman.h>"), [])

    def test_what_lies_above_is_refused(self):
        self.assertEqual(self.problems("base/x.cc", '"pjrt/api.h"'), ["src/base/x.cc:2: base/ may not include pjrt/"])

    def test_torch_is_for_the_bridge(self):
        self.assertEqual(len(self.problems("graph/x.h", "<ATen/ATen.h>")), 1)
        self.assertEqual(len(self.problems("graph/x.h", "<Python.h>")), 1)
        self.assertEqual(self.problems("torch_bridge/x.h", "<ATen/core/Tensor.h>"), [])

    def test_the_c_api_is_for_pjrt_and_above(self):
        self.assertEqual(len(self.problems("ops/x.cc", '"pjrt_c_api.h"')), 1)
        self.assertEqual(self.problems("graph/x.cc", '"pjrt_c_api.h"'), [])

    def test_tests_may_use_more(self):
        self.assertEqual(len(self.problems("graph/x.cc", '"ops/op.h"')), 1)
        self.assertEqual(self.problems("graph/x_test.cc", '"ops/op.h"'), [])
        self.assertEqual(len(self.problems("graph/x.cc", '"fake_plugin/control.h"')), 1)
        self.assertEqual(self.problems("graph/x_test.cc", '"fake_plugin/control.h"'), [])

    def test_an_unknown_folder_and_a_relative_path_are_refused(self):
        self.assertEqual(len(self.problems("other/x.cc", "<vector>")), 1)
        self.assertEqual(len(self.problems("graph/x.cc", '"key.h"')), 1)


if __name__ == "__main__":
    unittest.main()
