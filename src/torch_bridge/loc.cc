#include "torch_bridge/loc.h"

#include <Python.h>

#include <string>
#include <string_view>

#include "base/env.h"
#include "torch_bridge/runtime.h"

namespace tp::bridge {
namespace {

bool is_library(std::string_view path) {
  for (std::string_view part : {"/torch/", "/torch_pjrt/", "<frozen ", "/functools.py", "/contextlib.py"}) {
    if (path.find(part) != std::string_view::npos) return true;
  }
  return false;
}

std::string_view text_of(PyObject* text) {
  Py_ssize_t size = 0;
  const char* bytes = text ? PyUnicode_AsUTF8AndSize(text, &size) : nullptr;
  if (!bytes) PyErr_Clear();
  return bytes ? std::string_view(bytes, size) : std::string_view();
}

Loc loc_of(PyFrameObject* frame, PyCodeObject* code) {
  std::string_view path = text_of(code->co_filename);
  std::string text(path.substr(path.rfind('/') + 1));
  text += ':';
  text += std::to_string(PyFrame_GetLineNumber(frame));
  text += " in ";
  text += text_of(code->co_name);
  return loc_intern(text);
}

// Walks outwards with Python's lock held.
Loc innermost_user_line() {
  Loc loc = 0;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame && !loc) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    if (!is_library(text_of(code->co_filename))) loc = loc_of(frame, code);
    Py_DECREF(code);
    PyFrameObject* outer = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  Py_XDECREF(frame);
  return loc;
}

}  // namespace

Loc record_loc() { return env().loc || !env().dump_dir.empty() || detect_nan() ? user_line() : 0; }

Loc user_line() {
  if (!Py_IsInitialized() || !PyGILState_GetThisThreadState()) return 0;
  PyGILState_STATE state = PyGILState_Ensure();
  Loc loc = innermost_user_line();
  PyGILState_Release(state);
  return loc;
}

}  // namespace tp::bridge
