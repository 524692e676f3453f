"""Run as a program in a child process by plugins.probe(): loads one plugin, perhaps makes its client, and prints what
it found as one line of JSON. Imports nothing but the standard library, so it starts in milliseconds."""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any

_P, _S = ctypes.c_void_p, ctypes.c_size_t

# Numbers of the entries of PJRT_Api after its version; this part of the table has not moved since API 0.29.
_ERROR_DESTROY, _ERROR_MESSAGE, _INITIALIZE, _CLIENT_CREATE, _PLATFORM_NAME, _ADDRESSABLE = 0, 1, 3, 10, 12, 16


class _Head(ctypes.Structure):
    _fields_ = [
        ("struct_size", _S),
        ("extensions", _P),
        ("version_size", _S),
        ("version_extensions", _P),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
    ]


def _struct(*fields: str) -> type[ctypes.Structure]:
    return type(
        "Args", (ctypes.Structure,), {"_fields_": [(name, _P) for name in ("struct_size", "extensions", *fields)]}
    )


_Initialize = _struct()
_ErrorMessage = _struct("error", "message", "message_size")
_Create = _struct("options", "num_options", "get", "get_arg", "put", "put_arg", "client", "try_get", "try_get_arg")
_Three = _struct("client", "first", "second")


class _Plugin:
    def __init__(self, library: ctypes.CDLL) -> None:
        library.GetPjrtApi.restype = _P
        self.api = library.GetPjrtApi()
        self.head = _Head.from_address(self.api)

    def call(self, entry: int, args: ctypes.Structure) -> None:
        args.struct_size = ctypes.sizeof(args)
        address = self.api + ctypes.sizeof(_Head) + entry * ctypes.sizeof(_P)
        function = _P.from_address(address).value
        if not function:
            raise RuntimeError("its PJRT API lacks a call that is needed")
        error = ctypes.CFUNCTYPE(_P, _P)(function)(ctypes.addressof(args))
        if error:
            told = _ErrorMessage(error=error)
            self.call(_ERROR_MESSAGE, told)
            text = ctypes.string_at(told.message, told.message_size or 0).decode(errors="replace")
            raise RuntimeError(" ".join(text.split()))


def look(path: str, make_client: bool) -> dict[str, Any]:
    """API version, and platform and number of devices when a client is made; "error" says what failed."""
    facts: dict[str, Any] = {}
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        return {"error": f"is not a library that can be loaded: {error}"}
    if not hasattr(library, "GetPjrtApi"):
        return {"error": "is a library, but no PJRT plugin: it has no GetPjrtApi"}
    plugin = _Plugin(library)
    facts["api_version"] = [plugin.head.major, plugin.head.minor]
    if not make_client:
        return facts
    try:
        plugin.call(_INITIALIZE, _Initialize())
        created = _Create()
        plugin.call(_CLIENT_CREATE, created)
        name = _Three(client=created.client)
        plugin.call(_PLATFORM_NAME, name)
        facts["platform"] = ctypes.string_at(name.first, name.second).decode()
        devices = _Three(client=created.client)
        plugin.call(_ADDRESSABLE, devices)
        facts["devices"] = devices.second or 0
    except RuntimeError as error:
        facts["error"] = f"cannot make a client: {error}"
    return facts


if __name__ == "__main__":
    print("\n" + json.dumps(look(sys.argv[1], sys.argv[2] == "client")), flush=True)
    # A plugin's threads and destructors have no say in the answer.
    os._exit(0)
